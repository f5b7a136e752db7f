"""The plain systems that everything is held against. All rank the shared pool of the turns' memories; none is trained."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from hindsight.features.moment import Moment
from hindsight.features.timeline import Timeline
from hindsight.retrieval.fuse import reciprocal_rank
from hindsight.retrieval.lexical import Lexical
from hindsight.retrieval.order import best
from hindsight.system.past import Past
from hindsight.types import DataError, Hit, Ints, Query, Turn, opaque

Scores = npt.NDArray[np.floating]


@dataclass(frozen=True)
class Plain:
    """A system that is one function: (past, rows, query) -> (rows,) scores. ``is_similarity``: they are the encoder's cosines."""

    name: str
    past: Past
    scores: Callable[[Timeline, Ints, Query], Scores]
    is_similarity: bool = False

    def observe(self, user_id: str, turns: Sequence[Turn]) -> None:
        self.past.observe(user_id, turns)

    def recall(self, query: Query, k: int) -> list[Hit]:
        at_least_one(k)
        past, rows = self.past.pool(query)
        if len(rows) == 0:
            return []
        scores = self.scores(past, rows, query)
        hits: list[Hit] = []
        for place in best(past, rows, scores, k).tolist():
            score = float(scores[place])
            memory_id = past.memories[rows[place]].memory_id
            hits.append(Hit(query.query_id, memory_id, score, similarity=score if self.is_similarity else None))
        return hits


def at_least_one(k: int) -> None:
    """A k above the pool gives the pool. Raises DataError on a k below 1."""
    if k < 1:
        raise DataError("recall", f"k={k}", "k from 1")


def random(past: Past, seed: int = 0) -> Plain:
    """By a hash of seed, query and memory: the same order in every run."""

    def scores(known: Timeline, rows: Ints, query: Query) -> Scores:
        drawn = [opaque("random", seed, query.query_id, known.memories[row].memory_id) for row in rows.tolist()]
        return np.array([int(digits[:13], 16) for digits in drawn], np.float64) / 16**13

    return Plain("random", past, scores)


def recent(past: Past) -> Plain:
    """The newest first; the score is minus the number of turns since."""
    return Plain("recent", past, lambda known, rows, query: (known.source.view[rows] - query.asked_at).astype(np.float64))


def bm25(past: Past) -> Plain:
    """bm25s over "Speaker: text", statistics of the past alone."""
    lexical = _Bm25()
    return Plain("bm25", past, lexical)


def dense(past: Past) -> Plain:
    """Cosine of query and "Speaker: text"; of a transcript, the mean of its lines' vectors."""
    return Plain("dense", past, _cosine, is_similarity=True)


def rrf(past: Past) -> Plain:
    """Reciprocal ranks of bm25 and dense, k = 60."""
    lexical = _Bm25()

    def scores(known: Timeline, rows: Ints, query: Query) -> Scores:
        return reciprocal_rank(known, rows, (lexical(known, rows, query), _cosine(known, rows, query)))

    return Plain("rrf", past, scores)


class _Bm25:
    """One index a timeline."""

    def __init__(self) -> None:
        self._of: WeakKeyDictionary[Timeline, Lexical] = WeakKeyDictionary()

    def __call__(self, known: Timeline, rows: Ints, query: Query) -> Scores:
        if known not in self._of:
            self._of[known] = Lexical()
        return self._of[known].scores(known, Moment(known, query, rows).query_terms)[rows]


def _cosine(known: Timeline, rows: Ints, query: Query) -> Scores:
    return Moment(known, query, rows).cosine_query
