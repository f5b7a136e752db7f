"""Token vectors of query and memory: each query token's best match (MaxSim)."""

from __future__ import annotations

from hindsight.features.moment import Moment, zscore
from hindsight.types import Floats

GROUP = "text relevance"
NAMES = ("maxsim", "maxsim_idf", "maxsim_last")


def columns(moment: Moment) -> dict[str, Floats]:
    plain, weighed = moment.maxsim(moment.encoded)
    last = weighed if len(moment.lines) == 1 else moment.maxsim(moment.encoded_last)[1]
    return {"maxsim": zscore(plain), "maxsim_idf": zscore(weighed), "maxsim_last": zscore(last)}
