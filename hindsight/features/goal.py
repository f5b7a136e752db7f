"""Which goal: the session so far, and the request that opened the present goal, against the memory and what it was part of.

Without a goal in the query, the query stands for it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hindsight.features.moment import Moment, zscore
from hindsight.features.neighbours import top_mean
from hindsight.text import terms
from hindsight.types import Encoded, Floats

GROUP = "goal match"


def _lines(m: Moment) -> list[str]:
    return (m.query.goal or m.query.text).split("\n")


def _encoded(m: Moment) -> list[Encoded]:
    return m.past.encoder.encode(_lines(m))


def _words(m: Moment) -> Floats:
    return m.once("goal words", lambda: zscore(m.bm25(tuple(dict.fromkeys(terms(m.query.goal or m.query.text))))))


def _near(m: Moment) -> Floats:
    return m.once("goal near", lambda: zscore(m.cosine(unit(np.sum([e.pooled for e in _encoded(m)], axis=0)))))


def _fresh(m: Moment) -> Floats:
    return float(len(_lines(m)) <= 2) * (1 - m.same_session)


def _with_request(m: Moment, make: Callable[[int], Floats]) -> Floats:
    """Of the row of the request that is being dealt with; zeros where the query opens a session."""
    if m.session < 0 or not len(m.past):
        return np.zeros(len(m.rows), np.float32)
    return make(int(m.past.request.view[-1]))


def _same_request(m: Moment) -> Floats:
    return _with_request(m, lambda row: (m.past.request.view[m.take] == row).astype(np.float32))


def _request_cosine(m: Moment) -> Floats:
    """The request that opened the memory's goal, against the present one."""
    pooled, opened = m.past.pooled.view, m.past.request.view[m.take]
    return _with_request(m, lambda row: zscore(pooled[opened] @ pooled[row]))


def _request_words(m: Moment) -> Floats:
    return _with_request(m, lambda row: zscore(m.bm25(tuple(dict.fromkeys(terms(m.past.memories[row].text))))))


COLUMNS: dict[str, Callable[[Moment], Floats]] = {
    "goal_bm25": _words,
    "goal_bm25_session": lambda m: top_mean(_words(m), m.past.session.view[m.take]),
    "goal_cosine": _near,
    "goal_cosine_session": lambda m: top_mean(_near(m), m.past.session.view[m.take]),
    "goal_opening": lambda m: zscore(m.cosine(m.past.encoder.encode(_lines(m)[:1])[0].pooled)),
    "goal_fresh": _fresh,
    "request_same": _same_request,
    "request_cosine": _request_cosine,
    "request_memory": lambda m: _with_request(m, lambda row: zscore(m.cosine(m.past.pooled.view[row]))),
    "request_bm25": _request_words,
}
NAMES = tuple(COLUMNS)


def unit(vector: Floats) -> Floats:
    return (vector / max(float(np.linalg.norm(vector)), 1e-9)).astype(np.float32)
