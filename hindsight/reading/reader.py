"""Reads prompts under their biases: a greedy reply, and how likely the right answer is. Many rows at a time.

A prompt is read in two steps: up to the end of its last memory, then the question. What rows share of the first step is read once:
without a bias, or with one for later queries alone (``queries=after``), a prompt's memories are the same whatever their scores.
So all conditions of a question cost one reading of its memories, and one of the question each.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from hindsight.inject.attention import biased
from hindsight.inject.bias import Injection, Spans, logits_of
from hindsight.inject.prompt import Prompt, batched
from hindsight.reading.conditions import Request

PLAIN = Injection(formula="logits", queries="after")
TOGETHER = 16  # answers whose likelihood is read at once: each of their tokens has a logit a word of the vocabulary
FULL = 0.75  # rows that have ended leave the batch when fewer than this share go on


@dataclass(frozen=True)
class Read:
    """``nats``: log p(answer | prompt), of ``tokens`` tokens; both 0 where there is no answer. ``reply``: its first line."""

    reply: str = ""
    nats: float = 0.0
    tokens: int = 0


@dataclass(frozen=True)
class _Row:
    """``start``: the prompt up to its last memory's end; ``rest``: what follows."""

    prompt: Prompt
    scores: tuple[float, ...]
    how: Injection
    target: tuple[int, ...]

    @property
    def start(self) -> Prompt:
        cut = self.prompt.spans[-1][1] if self.prompt.spans else len(self.prompt.ids) - 1
        return replace(self.prompt, ids=self.prompt.ids[:cut])

    @property
    def rest(self) -> tuple[int, ...]:
        return self.prompt.ids[len(self.start.ids) :]

    @property
    def shared(self) -> tuple[Any, ...]:
        """Rows with the same one share the reading of their memories."""
        idle = self.how.queries == "after" or not any(self.scores)
        return self.start.ids, self.start.spans, () if idle else self.scores


@dataclass(frozen=True)
class Reader:
    """``new``: tokens of a reply at most, 0 to write none."""

    tokenizer: Any
    model: Any
    new: int = 16

    def read(self, requests: Sequence[Request], targets: Sequence[Sequence[int]]) -> list[Read]:
        """In their order. ``targets``: each answer's tokens, none where no likelihood is wanted."""
        rows = [_row(one, tuple(target)) for one, target in zip(requests, targets)]
        found: list[Read] = [Read()] * len(rows)
        for how in dict.fromkeys(row.how for row in rows):
            own = [n for n, row in enumerate(rows) if row.how == how]
            for n, read in zip(own, self._read([rows[n] for n in own], how)):
                found[n] = read
        return found

    @torch.inference_mode()
    def _read(self, rows: Sequence[_Row], how: Injection) -> list[Read]:
        device = self.model.device
        firsts = {key: row for row in reversed(rows) if (key := row.shared)}
        of = [list(firsts).index(row.shared) for row in rows]
        starts = batched([row.start for row in firsts.values()], 0, "left", device)
        cache = _empty(self.model)
        scores = [row.scores if any(row.shared[2]) else (0.0,) * len(row.scores) for row in firsts.values()]
        if how.formula == "share":  # a weight of 0 would take a memory out
            scores = [row.scores for row in firsts.values()]
        with biased(self.model, starts.spans, scores, how):
            self._forward(starts.input_ids, starts.attention_mask, cache)
        chosen = torch.tensor(of, device=device)
        cache.batch_select_indices(chosen)
        rests = batched([Prompt(row.rest) for row in rows], 0, "left", device)
        mask = torch.cat([starts.attention_mask[chosen], rests.attention_mask], 1)
        spans, own = [starts.spans[n] for n in of], [row.scores for row in rows]
        with biased(self.model, spans, own, how):
            logits = self._forward(rests.input_ids, mask, cache)[:, -1].float()
        nats = self._likelihoods(rows, how, spans, cache, mask, logits)
        replies = self._replies(rows, how, spans, cache, mask, logits) if self.new else [""] * len(rows)
        return [Read(reply, total, len(row.target)) for reply, total, row in zip(replies, nats, rows)]

    def _likelihoods(
        self, rows: Sequence[_Row], how: Injection, spans: Sequence[Spans], cache: Any, mask: Tensor, logits: Tensor
    ) -> list[float]:
        """Of each target in nats. The cache stays as it is."""
        asked = [n for n, row in enumerate(rows) if row.target]
        found = [0.0] * len(rows)
        for n in asked:
            found[n] = float(logits[n].log_softmax(-1)[rows[n].target[0]])
        asked = [n for n in asked if len(rows[n].target) > 1]
        for some in (asked[first : first + TOGETHER] for first in range(0, len(asked), TOGETHER)):
            longest = max(len(rows[n].target) for n in some) - 1
            ids = torch.zeros((len(some), longest), dtype=torch.long, device=mask.device)
            seen = torch.zeros_like(ids)
            for place, n in enumerate(some):
                ids[place, : len(rows[n].target) - 1] = torch.tensor(rows[n].target[:-1])
                seen[place, : len(rows[n].target) - 1] = 1
            with biased(self.model, [spans[n] for n in some], [rows[n].scores for n in some], how):
                shares = self._forward(ids, torch.cat([mask[some], seen], 1), _taken(cache, some), longest)
            for place, n in enumerate(some):
                said = torch.tensor(rows[n].target[1:], device=mask.device)[:, None]
                found[n] += float(shares[place, : len(said)].float().log_softmax(-1).gather(1, said).sum())
        return found

    def _replies(
        self, rows: Sequence[_Row], how: Injection, spans: Sequence[Spans], cache: Any, mask: Tensor, logits: Tensor
    ) -> list[str]:
        """Greedy, up to a line's end. Rows that have ended leave the batch."""
        said: list[list[int]] = [[] for _ in rows]
        alive = list(range(len(rows)))
        for step in range(self.new):
            for n, token in zip(alive, logits.argmax(-1).tolist()):
                said[n].append(token)
            going = [place for place, n in enumerate(alive) if not self._ended(said[n])]
            if step == self.new - 1 or not going:
                break
            if len(going) < FULL * len(alive):
                cache.batch_select_indices(torch.tensor(going, device=mask.device))
                alive, mask = [alive[place] for place in going], mask[going]
            ids = torch.tensor([[said[n][-1]] for n in alive], device=mask.device)
            mask = torch.cat([mask, mask.new_ones((len(alive), 1))], 1)
            with biased(self.model, [spans[n] for n in alive], [rows[n].scores for n in alive], how):
                logits = self._forward(ids, mask, cache)[:, -1]
        return [self._text(ids).split("\n")[0].strip() for ids in said]

    def _ended(self, ids: Sequence[int]) -> bool:
        return any(stop in ids for stop in self._stops) or "\n" in self._text(ids)

    def _text(self, ids: Sequence[int]) -> str:
        """Up to the token that ends a reply, without white space before it."""
        ends = [ids.index(stop) for stop in self._stops if stop in ids]
        return self.tokenizer.decode(ids[: min(ends, default=len(ids))], skip_special_tokens=True).lstrip()

    @property
    def _stops(self) -> list[int]:
        ends = self.model.generation_config.eos_token_id
        return ends if isinstance(ends, list) else [] if ends is None else [ends]

    def _forward(self, ids: Tensor, mask: Tensor, cache: Any, keep: int = 1) -> Tensor:
        """(rows, keep, words). ``mask``: over all tokens so far."""
        positions = (mask.cumsum(-1) - 1).clamp(min=0)[:, -ids.shape[1] :]
        name = "cache" if "cache" in inspect.signature(self.model.forward).parameters else "past_key_values"
        return self.model(
            input_ids=ids, attention_mask=mask, position_ids=positions, use_cache=True, logits_to_keep=keep, **{name: cache}
        ).logits


def _row(one: Request, target: tuple[int, ...]) -> _Row:
    """Scores become logits, so that rows of different formulas are read together; only ``share`` has none."""
    if one.injection is None:
        return _Row(one.prompt, (0.0,) * len(one.prompt.spans), PLAIN, target)
    how = one.injection
    if how.formula == "share":
        return _Row(one.prompt, one.scores, how, target)
    logits = logits_of(torch.tensor(one.scores, dtype=torch.float64), how)
    as_they_are = Injection(formula="logits", layers=how.layers, queries=how.queries, path=how.path)
    return _Row(one.prompt, tuple(logits.tolist()), as_they_are, target)


def _empty(model: Any) -> Any:
    from transformers import DynamicCache

    return DynamicCache(config=model.config)


def _taken(cache: Any, rows: Sequence[int]) -> Any:
    """A copy of some rows."""
    found = copy.deepcopy(cache)
    found.batch_select_indices(torch.tensor(rows))
    return found
