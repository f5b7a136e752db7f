"""Word overlap between query and memory."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hindsight.features import cues
from hindsight.features.moment import Moment, highest_first, zscore
from hindsight.text import terms
from hindsight.types import Floats, Ints

GROUP = "text relevance"


def reciprocal_rank(order: Ints) -> Floats:
    """20 / (20 + rank from 0), where ``order`` lists places from the best: near 1 for the first few, slowly falling."""
    found = np.empty(len(order), np.float32)
    found[order] = np.float32(20) / (20 + np.arange(len(order), dtype=np.float32))
    return found


def _names(m: Moment) -> frozenset[str]:
    """Index terms of the speakers' names: nearly every memory holds one."""
    return frozenset(term for name in m.past.speakers for term in terms(name))


def _shared_names(m: Moment) -> Floats:
    return m.sharing(cues.query_names(m.plain_query) - {name.lower() for name in m.past.speakers})


def _bm25_last(m: Moment) -> Floats:
    return m.bm25_z if len(m.lines) == 1 else zscore(m.bm25(tuple(dict.fromkeys(terms(m.last_line)))))


COLUMNS: dict[str, Callable[[Moment], Floats]] = {
    "bm25": lambda m: m.bm25_z,
    "bm25_window": lambda m: zscore(m.bm25_window),
    "bm25_rank": lambda m: reciprocal_rank(m.bm25_order),
    "bm25_window_rank": lambda m: reciprocal_rank(highest_first(m.bm25_window)),
    "coverage": lambda m: m.coverage(_names(m)),
    "coverage_window": lambda m: m.coverage(_names(m), window=True),
    "shared_names": _shared_names,
    "bm25_last": _bm25_last,
    "bm25_wide": lambda m: zscore(m.bm25_wide),
}
NAMES = tuple(COLUMNS)
