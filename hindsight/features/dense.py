"""Pooled vectors of query and memory."""

from __future__ import annotations

from hindsight.features.lexical import reciprocal_rank
from hindsight.features.moment import Moment, zscore
from hindsight.types import Floats

GROUP = "text relevance"
NAMES = (
    "cosine_raw",
    "cosine",
    "cosine_window_raw",
    "cosine_window",
    "cosine_rank",
    "cosine_window_rank",
    "cosine_last",
)


def columns(moment: Moment) -> dict[str, Floats]:
    single, window = moment.cosine(moment.encoded.pooled), moment.cosine_window(moment.encoded.pooled)
    last = single if len(moment.lines) == 1 else moment.cosine(moment.encoded_last.pooled)
    return {
        "cosine_raw": single,
        "cosine": zscore(single),
        "cosine_window_raw": window,
        "cosine_window": zscore(window),
        "cosine_rank": reciprocal_rank(single),
        "cosine_window_rank": reciprocal_rank(window),
        "cosine_last": zscore(last),
    }
