"""Word overlap between query and memory."""

from __future__ import annotations

import numpy as np

from hindsight.features import cues
from hindsight.features.moment import Moment, zscore
from hindsight.text import terms
from hindsight.types import Floats

GROUP = "text relevance"
NAMES = (
    "bm25",
    "bm25_window",
    "bm25_rank",
    "bm25_window_rank",
    "coverage",
    "coverage_window",
    "shared_names",
    "bm25_last",
)


def reciprocal_rank(values: Floats) -> Floats:
    """20 / (20 + rank from 0): near 1 for the first few, slowly falling. Equal values go by row."""
    rank = np.empty(len(values), np.float32)
    rank[np.argsort(-values, kind="stable")] = np.arange(len(values), dtype=np.float32)
    return np.float32(20) / (20 + rank)


def columns(moment: Moment) -> dict[str, Floats]:
    past = moment.past
    single, window = moment.bm25(moment.query_terms), moment.bm25(moment.query_terms, window=True)
    speaker_terms = {term for name in past.speakers for term in terms(name)}
    without_names = tuple(t for t in moment.query_terms if t not in speaker_terms)
    asked = cues.query_names(moment.plain_query) - {name.lower() for name in past.speakers}
    shared = np.zeros(len(moment.rows), np.float32)
    if asked:
        shared = np.array([len(asked & past.entities[row]) for row in moment.rows.tolist()], np.float32)
    last = single if len(moment.lines) == 1 else moment.bm25(tuple(dict.fromkeys(terms(moment.last_line))))
    return {
        "bm25": zscore(single),
        "bm25_window": zscore(window),
        "bm25_rank": reciprocal_rank(single),
        "bm25_window_rank": reciprocal_rank(window),
        "coverage": moment.coverage(without_names),
        "coverage_window": moment.coverage(without_names, window=True),
        "shared_names": shared,
        "bm25_last": zscore(last),
    }
