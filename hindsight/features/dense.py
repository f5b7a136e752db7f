"""Pooled vectors of query and memory."""

from __future__ import annotations

from collections.abc import Callable

from hindsight.features.lexical import reciprocal_rank
from hindsight.features.moment import Moment, highest_first, zscore
from hindsight.types import Floats

GROUP = "text relevance"
COLUMNS: dict[str, Callable[[Moment], Floats]] = {
    "cosine_raw": lambda m: m.cosine_query,
    "cosine": lambda m: m.cosine_z,
    "cosine_window_raw": lambda m: m.cosine_window,
    "cosine_window": lambda m: zscore(m.cosine_window),
    "cosine_rank": lambda m: reciprocal_rank(m.cosine_order),
    "cosine_window_rank": lambda m: reciprocal_rank(highest_first(m.cosine_window)),
    "cosine_last": lambda m: m.cosine_z if len(m.lines) == 1 else zscore(m.cosine(m.encoded_last.pooled)),
}
NAMES = tuple(COLUMNS)
