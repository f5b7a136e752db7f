"""BM25 over one user's memories, by bm25s (Lu 2024): eager sparse scores, so a query is a few column sums."""

from __future__ import annotations

from collections.abc import Sequence

import bm25s
import numpy as np

from hindsight.features.moment import K1, B
from hindsight.features.timeline import Timeline
from hindsight.text import terms
from hindsight.types import Floats


class Lexical:
    """``slack``: rows that may be missing at the end before the index is built anew; their score is 0 until then.

    bm25s cannot grow, and every new memory moves every idf. With slack 0 scores are those of the whole past.
    """

    def __init__(self, slack: int = 0) -> None:
        self.slack = slack
        self._corpus: list[list[str]] = []
        self._index: bm25s.BM25 | None = None
        self._indexed = 0

    def scores(self, past: Timeline, words: Sequence[str]) -> Floats:
        """(rows of the past,) Lucene's BM25 of distinct index terms. One ``Lexical`` serves one timeline, which only grows."""
        self._refresh(past)
        found = np.zeros(len(past), np.float32)
        if self._index is not None:
            known = [word for word in dict.fromkeys(words) if word in self._index.vocab_dict]
            if known:
                found[: self._indexed] = self._index.get_scores(known)
        return found

    def _refresh(self, past: Timeline) -> None:
        if len(past) - self._indexed <= (self.slack if self._index is not None else 0):
            return
        self._corpus += [list(terms(memory.text)) for memory in past.memories[len(self._corpus) :]]
        self._indexed = len(past)
        if any(self._corpus):
            self._index = bm25s.BM25(method="lucene", k1=K1, b=B)
            self._index.index(self._corpus, show_progress=False)
