"""Which memories are scored at all: a small pool whole; of a large one the union of channels, each with its quota.

Similarity alone loses what *act* needs (SCIENCE: the gold there is recent, or of the right type, and says other words).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from hindsight.features import cues
from hindsight.features.moment import Moment
from hindsight.features.timeline import Timeline
from hindsight.retrieval.index import Index
from hindsight.retrieval.order import best, is_in
from hindsight.text import terms
from hindsight.types import ConfigError, Ints, Query

# Channel -> its share of the limit, in the order in which they choose. A channel takes its best rows that none before it took;
# what is left then (a query without a goal, say) is filled from all channels in turn.
SHARES = {
    "recent": 0.2,
    "session": 0.05,
    "dense": 0.2,
    "bm25": 0.2,
    "beside": 0.1,
    "goal": 0.1,
    "entity": 0.08,
    "type": 0.07,
}


@dataclass(frozen=True)
class CandidatesConfig:
    """``limit``: the most memories that are scored for one query; a pool that is no larger is scored whole."""

    limit: int = 1000

    def build(self) -> Candidates:
        if self.limit < 1:
            raise ConfigError([f"candidates.limit={self.limit}: wanted 1 or more"])
        return Candidates(self)


class Candidates:
    """Holds an index a timeline, made when its pool first exceeds the limit."""

    def __init__(self, config: CandidatesConfig) -> None:
        self.config = config
        self.quotas = _quotas(config.limit)
        self._indices: WeakKeyDictionary[Timeline, Index] = WeakKeyDictionary()

    def rows(self, past: Timeline, query: Query, pool: Ints) -> Ints:
        """(at most ``limit``,) rows of the pool, ascending. The same past, query and pool give the same rows."""
        if len(pool) <= self.config.limit:
            return pool
        chosen = np.zeros(len(past), bool)
        channels = self.channels(past, query, pool)
        for name, ranking in channels.items():
            chosen[ranking[~chosen[ranking]][: self.quotas[name]]] = True
        rest = _in_turn([ranking[~chosen[ranking]] for ranking in channels.values()])
        chosen[rest[: self.config.limit - int(chosen.sum())]] = True
        return np.flatnonzero(chosen)

    def channels(self, past: Timeline, query: Query, pool: Ints) -> dict[str, Ints]:
        """Channel -> rows of the pool, best first: more of them than its quota, where it has them."""
        limit = self.config.limit
        moment = Moment(past, query, pool)
        newest = pool[::-1][:limit]
        near = self._index(past).nearest(past, pool, moment.encoded.pooled, limit)
        words = _matching(moment, moment.query_terms, limit)
        goal = tuple(dict.fromkeys(terms(query.goal)))
        hits = [row for pair in zip(near.tolist(), words.tolist()) for row in pair][: self.quotas["beside"]]
        same = pool[past.session.view[pool] == moment.session] if moment.session >= 0 else pool[:0]
        return {
            "recent": newest,
            "session": same[::-1][:limit],
            "dense": near,
            "bm25": words,
            "beside": _beside(past, pool, hits),
            "goal": _matching(moment, goal, limit),
            "entity": _sharing(past, pool, _entities(moment), limit),
            "type": _typed(past, pool, limit),
        }

    def _index(self, past: Timeline) -> Index:
        if past not in self._indices:
            self._indices[past] = Index(past.encoder.fingerprint, past.encoder.dimension)
        return self._indices[past]


def _quotas(limit: int) -> dict[str, int]:
    """Whole numbers that sum to the limit; what rounding leaves goes to the newest."""
    found = {name: int(limit * share) for name, share in SHARES.items()}
    found["recent"] += limit - sum(found.values())
    return found


def _in_turn(rankings: Sequence[Ints]) -> Ints:
    """The first of each, then the second of each, and so on; none twice."""
    rank = np.concatenate([np.arange(len(ranking)) for ranking in rankings])
    rows = np.concatenate(rankings)[np.argsort(rank, kind="stable")]
    _, first = np.unique(rows, return_index=True)
    return rows[np.sort(first)]


def _matching(moment: Moment, words: tuple[str, ...], k: int) -> Ints:
    """By BM25, best first; only rows that hold a word. By the postings that the features read: they grow with the past, where bm25s
    would have to be built anew."""
    if not words:
        return moment.rows[:0]
    scores = moment.bm25(words)
    holding = np.flatnonzero(scores > 0)
    rows = moment.rows[holding]
    return rows[best(moment.past, rows, scores[holding], k)]


def _beside(past: Timeline, pool: Ints, hits: Sequence[int]) -> Ints:
    """The turns before and after each hit, in the same session, in the order of the hits."""
    near = np.repeat(np.array(hits, np.int64), 2)
    rows = near + np.tile([-1, 1], len(hits))
    inside = is_in(pool, rows)
    near, rows = near[inside], rows[inside]
    same = past.session.view[rows] == past.session.view[near]
    return np.array(list(dict.fromkeys(rows[same].tolist())), np.int64)


def _entities(moment: Moment) -> frozenset[str]:
    """Names and numbers of the query and its goal."""
    lines = [*moment.lines, *moment.query.goal.split("\n")]
    said = [line.split(": ", 1)[-1] for line in lines]
    return frozenset[str]().union(*(cues.entities(text) for text in said), cues.query_names(moment.plain_query))


def _sharing(past: Timeline, pool: Ints, entities: frozenset[str], k: int) -> Ints:
    """Rows that share an entity: by the rarity of what they share, then the newest. Of each entity the newest k count."""
    named = [past.with_entity(entity) for entity in sorted(entities)]
    held = [np.array(rows[-k:], np.int64) for rows in named if rows]
    if not held:
        return pool[:0]
    rarity = [float(np.log1p(len(past) / len(rows))) for rows in named if rows]
    rows, place = np.unique(np.concatenate(held), return_inverse=True)
    weight = np.bincount(place, np.repeat(rarity, [len(some) for some in held]))
    rows = rows[np.lexsort((-rows, -weight))]
    return rows[is_in(pool, rows)][:k]


def _typed(past: Timeline, pool: Ints, k: int) -> Ints:
    """The newest rows that hold a value of a kind (a date, a clock time, money, a number, a name), kinds in turn."""
    return _in_turn([_newest(pool, held.view, k) for held in past.cued.values()])[:k]


def _newest(pool: Ints, rows: Ints, k: int) -> Ints:
    """The newest k of the rows that are in the pool. Most are, so they are read from their end."""
    size = 2 * k
    while True:
        some = rows[-size:]
        found = some[is_in(pool, some)]
        if len(found) >= k or len(some) == len(rows):
            return found[::-1][:k]
        size *= 4
