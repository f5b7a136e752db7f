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
    places = places[np.argsort(-scores[places], kind="stable")]
    found = scores[places]
    opens = np.flatnonzero(np.concatenate([[True], found[1:] != found[:-1], [True]]))
    for first in np.flatnonzero(np.diff(opens) > 1).tolist():  # a run of equals
        run = slice(int(opens[first]), int(opens[first + 1]))
        places[run] = sorted(places[run].tolist(), key=lambda place: past.memories[rows[place]].memory_id)
    return places[:k].astype(np.int64)


def is_in(pool: Ints, rows: Ints) -> npt.NDArray[np.bool_]:
    """(rows,) whether each stands in the pool, which is ascending."""
    if len(pool) == 0:
        return np.zeros(len(rows), bool)
    return pool[np.minimum(np.searchsorted(pool, rows), len(pool) - 1)] == rows
