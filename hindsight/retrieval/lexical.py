"""BM25 over one user's memories, by bm25s (Lu 2024): scores are made when indexing, so a query is a few column sums."""

from __future__ import annotations

from collections.abc import Sequence

import bm25s
import numpy as np
from bm25s.tokenization import Tokenized

from hindsight.features.moment import K1, B
from hindsight.features.timeline import Timeline
from hindsight.text import terms
from hindsight.types import Floats


class Lexical:
    """bm25s cannot grow, and every new memory moves every idf: the index is built anew when the past has grown."""

    def __init__(self) -> None:
        self._number: dict[str, int] = {}
        self._corpus: list[list[int]] = []
        self._index: bm25s.BM25 | None = None
        self._indexed = 0

    def scores(self, past: Timeline, words: Sequence[str]) -> Floats:
        """(rows of the past,) Lucene's BM25 of distinct index terms.

        One ``Lexical`` serves one timeline, which only grows.
        """
        if len(past) != self._indexed:
            self._build(past)
        known = [self._number[word] for word in dict.fromkeys(words) if word in self._number]
        if self._index is None or not known:
            return np.zeros(len(past), np.float32)
        return self._index.get_scores_from_ids(known)

    def _build(self, past: Timeline) -> None:
        for memory in past.memories[len(self._corpus) :]:
            self._corpus.append([self._number.setdefault(term, len(self._number)) for term in terms(memory.text)])
        self._indexed = len(past)
        if self._number:
            self._index = bm25s.BM25(method="lucene", k1=K1, b=B)
            self._index.index(Tokenized(self._corpus, self._number), show_progress=False)
