"""Best first, ties by memory_id: the one place that orders memories. And what belongs to a pool."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hindsight.features.timeline import Timeline
from hindsight.types import Ints


def best(past: Timeline, rows: Ints, scores: npt.NDArray[np.floating], k: int) -> Ints:
    """(at most k,) places in ``rows`` of the highest ``scores``, best first. Fewer rows than k: all of them.

    Ids are compared only where scores are equal, so a pool of any size costs one partial sort.
    """
    k = min(k, len(rows))
    if k <= 0:
        return np.zeros(0, np.int64)
    least = np.partition(scores, len(scores) - k)[len(scores) - k]
    places = np.flatnonzero(scores >= least)
    ids = [past.memories[row].memory_id for row in rows[places].tolist()]
    ordered = sorted(range(len(places)), key=lambda i: (-scores[places[i]], ids[i]))
    return places[ordered[:k]].astype(np.int64)


def is_in(pool: Ints, rows: Ints) -> npt.NDArray[np.bool_]:
    """(rows,) whether each stands in the pool, which is ascending."""
    if len(pool) == 0:
        return np.zeros(len(rows), bool)
    return pool[np.minimum(np.searchsorted(pool, rows), len(pool) - 1)] == rows
