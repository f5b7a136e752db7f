"""Which goal: the session so far against the memory and against the session that holds it."""

from __future__ import annotations

import numpy as np

from hindsight.features.moment import Moment, zscore
from hindsight.features.neighbours import top_mean
from hindsight.text import terms
from hindsight.types import Floats

GROUP = "goal match"
NAMES = ("goal_bm25", "goal_bm25_session", "goal_cosine", "goal_cosine_session", "goal_opening", "goal_fresh")


def columns(moment: Moment) -> dict[str, Floats]:
    """Without a goal in the query, the query stands for it."""
    past, rows, query = moment.past, moment.rows, moment.query
    goal = query.goal or query.text
    session = past.session.view[rows]
    words = zscore(moment.bm25(tuple(dict.fromkeys(terms(goal)))))
    lines = goal.split("\n")
    vectors = np.stack([e.pooled for e in past.encoder.encode([*lines, lines[0]])])
    near = zscore(moment.cosine(unit(vectors[:-1].sum(axis=0))))
    opening = zscore(moment.cosine(vectors[-1]))
    fresh = float(len(lines) <= 2)
    same = (session == moment.session).astype(np.float32)
    return {
        "goal_bm25": words,
        "goal_bm25_session": top_mean(words, session),
        "goal_cosine": near,
        "goal_cosine_session": top_mean(near, session),
        "goal_opening": opening,
        "goal_fresh": np.float32(fresh) * (1 - same),
    }


def unit(vector: Floats) -> Floats:
    return (vector / max(float(np.linalg.norm(vector)), 1e-9)).astype(np.float32)
