"""Pooled vectors of query and memory."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hindsight.features.lexical import reciprocal_rank
from hindsight.features.moment import Moment, highest_first, zscore
from hindsight.types import Floats

GROUP = "text relevance"


def _cosine_long(m: Moment) -> Floats:
    """The cosine as far as this user's turns are long: of short ones it says little (from 30 words a turn, in full at 90)."""
    words = float(m.past.words.view.mean())
    return m.cosine_z * np.float32(np.clip((words - 30) / 60, 0, 1))


COLUMNS: dict[str, Callable[[Moment], Floats]] = {
    "cosine_raw": lambda m: m.cosine_query,
    "cosine": lambda m: m.cosine_z,
    "cosine_window_raw": lambda m: m.cosine_window,
    "cosine_window": lambda m: zscore(m.cosine_window),
    "cosine_rank": lambda m: reciprocal_rank(m.cosine_order),
    "cosine_window_rank": lambda m: reciprocal_rank(highest_first(m.cosine_window)),
    "cosine_last": lambda m: m.cosine_z if len(m.lines) == 1 else zscore(m.cosine(m.encoded_last.pooled)),
    "cosine_long": _cosine_long,
}
NAMES = tuple(COLUMNS)
