"""The articles' "plain RAG": the transcript in fixed chunks of 512 tokens, by cosine.

A chunk's vector is the mean of its lines', each weighted by its tokens: the usual encoders read 256 tokens at most, and would see half
of it. The turns after the last full chunk form one too, so nothing said is out of reach.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hindsight.system.baselines import at_least_one
from hindsight.system.past import Past
from hindsight.text import tokens_about
from hindsight.types import Encoder, Floats, Hit, Memory, Query, Turn, opaque

TOKENS = 512


@dataclass(frozen=True)
class Rag:
    """``tokens`` of a chunk, as the encoder counts them."""

    past: Past
    tokens: int = TOKENS
    name: str = "rag"

    def observe(self, user_id: str, turns: Sequence[Turn]) -> None:
        self.past.observe(user_id, turns)

    def recall(self, query: Query, k: int) -> list[Hit]:
        at_least_one(k)
        chunks = self._chunks(query)
        if not chunks:
            return []
        wanted = self.past.encoder.encode([query.text])[0].pooled
        near = [(float((vector * wanted).sum()), chunk) for chunk, vector in chunks]
        near.sort(key=lambda one: (-one[0], one[1].memory_id))
        return [Hit(query.query_id, chunk.memory_id, cosine, similarity=cosine) for cosine, chunk in near[:k]]

    def memories(self, query: Query, hits: Sequence[Hit]) -> list[Memory]:
        known = {chunk.memory_id: chunk for chunk, _ in self._chunks(query)}
        return [known[hit.memory_id] for hit in hits]

    def _chunks(self, query: Query) -> list[tuple[Memory, Floats]]:
        """Chunks of all that may be recalled, and their vectors."""
        return chunked(self.past.memories(query), self.past.encoder, self.tokens)


def chunked(lines: Sequence[Memory], encoder: Encoder, tokens: int) -> list[tuple[Memory, Floats]]:
    """Lines one after another, a chunk closed before it would pass ``tokens``."""
    found: list[tuple[Memory, Floats]] = []
    held: list[Memory] = []
    total, weighted = 0, np.zeros(encoder.dimension, np.float32)
    for memory, encoded in zip(lines, encoder.encode([memory.text for memory in lines])):
        size = len(encoded.pieces) or tokens_about(memory.text)
        if held and total + size > tokens:
            found.append(_chunk(held, weighted))
            held, total, weighted = [], 0, np.zeros(encoder.dimension, np.float32)
        held.append(memory)
        total += size
        weighted = weighted + np.float32(size) * encoded.pooled
    return [*found, _chunk(held, weighted)] if held else found


def _chunk(held: Sequence[Memory], weighted: Floats) -> tuple[Memory, Floats]:
    first, last = held[0], held[-1]
    text = "\n".join(memory.text for memory in held)
    sources = tuple(sorted({at for memory in held for at in memory.sources}))
    memory_id = opaque("chunk", first.memory_id, last.memory_id)
    chunk = Memory(
        memory_id,
        first.user_id,
        "",
        first.session,
        "chunk",
        "",
        "user",
        text,
        text,
        last.sources[-1],
        sources,
        time=last.time,
    )
    return chunk, weighted / max(1e-9, float(np.linalg.norm(weighted)))
