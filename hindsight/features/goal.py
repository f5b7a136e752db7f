"""Which goal: the session so far against the memory and against the session that holds it. Without one, the query stands for it."""

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


COLUMNS: dict[str, Callable[[Moment], Floats]] = {
    "goal_bm25": _words,
    "goal_bm25_session": lambda m: top_mean(_words(m), m.past.session.view[m.take]),
    "goal_cosine": _near,
    "goal_cosine_session": lambda m: top_mean(_near(m), m.past.session.view[m.take]),
    "goal_opening": lambda m: zscore(m.cosine(m.past.encoder.encode(_lines(m)[:1])[0].pooled)),
    "goal_fresh": _fresh,
}
NAMES = tuple(COLUMNS)


def unit(vector: Floats) -> Floats:
    return (vector / max(float(np.linalg.norm(vector)), 1e-9)).astype(np.float32)
