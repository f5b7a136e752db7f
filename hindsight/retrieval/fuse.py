"""Rankings made one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hindsight.features.timeline import Timeline
from hindsight.retrieval.order import best
from hindsight.types import Ints

K = 60


def reciprocal_rank(
    past: Timeline, rows: Ints, scores: Sequence[npt.NDArray[np.floating]], k: int = K
) -> npt.NDArray[np.float64]:
    """(rows,) the sum of 1 / (k + rank), rank from 1, over rankings of the same rows (Cormack, Clarke and Buettcher 2009)."""
    fused = np.zeros(len(rows), np.float64)
    for one in scores:
        fused[best(past, rows, one, len(rows))] += 1 / (k + 1 + np.arange(len(rows)))
    return fused
