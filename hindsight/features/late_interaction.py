"""Token vectors of query and memory: each query token's best match (MaxSim)."""

from __future__ import annotations

from collections.abc import Callable

from hindsight.features.moment import Moment, zscore
from hindsight.types import Floats

GROUP = "text relevance"
COLUMNS: dict[str, Callable[[Moment], Floats]] = {
    "maxsim": lambda m: zscore(m.maxsim_query[0]),
    "maxsim_idf": lambda m: m.maxsim_idf_z,
    "maxsim_last": lambda m: m.maxsim_idf_z if len(m.lines) == 1 else zscore(m.maxsim_last[1]),
}
NAMES = tuple(COLUMNS)
