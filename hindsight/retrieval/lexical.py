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
    """bm25s cannot grow, and every new memory moves every idf. So the index is built anew every ``step`` rows and covers the
    largest multiple of it: which rows it misses depends on the past alone, never on when it was asked. Step 1 misses none.
    """

    def __init__(self, step: int = 1) -> None:
        self.step = step
        self._number: dict[str, int] = {}
        self._corpus: list[list[int]] = []
        self._index: bm25s.BM25 | None = None
        self._indexed = 0

    def scores(self, past: Timeline, words: Sequence[str]) -> Floats:
        """(rows of the past,) Lucene's BM25 of distinct index terms; 0 for the rows that the index misses.

        One ``Lexical`` serves one timeline, which only grows.
        """
        covered = len(past) - len(past) % self.step
        if covered != self._indexed:
            self._build(past, covered)
        found = np.zeros(len(past), np.float32)
        known = [self._number[word] for word in dict.fromkeys(words) if word in self._number]
        if self._index is not None and known:
            found[:covered] = self._index.get_scores_from_ids(known)
        return found

    def _build(self, past: Timeline, covered: int) -> None:
        for memory in past.memories[len(self._corpus) : covered]:
            self._corpus.append([self._number.setdefault(term, len(self._number)) for term in terms(memory.text)])
        self._indexed = covered
        if self._number:
            self._index = bm25s.BM25(method="lucene", k1=K1, b=B)
            self._index.index(Tokenized(self._corpus, self._number), show_progress=False)
