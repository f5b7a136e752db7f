"""What the turns beside a memory match: an answer rarely repeats the words of the question before it."""

from __future__ import annotations

import numpy as np

from hindsight.features import cues
from hindsight.features.moment import Moment
from hindsight.types import Floats

GROUP = "text relevance"
NEEDS = ("bm25", "cosine", "maxsim_idf")
NAMES = (
    "bm25_before",
    "bm25_after",
    "bm25_before2",
    "bm25_after2",
    "cosine_before",
    "cosine_after",
    "cosine_before2",
    "cosine_after2",
    "maxsim_before",
    "maxsim_after",
    "cosine_beside",
    "cosine_before_question",
    "session_cosine",
    "session_bm25",
)


def columns(moment: Moment, done: dict[str, Floats]) -> dict[str, Floats]:
    found = {
        f"{name}_{side}": moment.shifted(done[source], offset)
        for name, source, offsets in (("bm25", "bm25", 2), ("cosine", "cosine", 2), ("maxsim", "maxsim_idf", 1))
        for side, offset in (("before", -1), ("after", 1), ("before2", -2), ("after2", 2))
        if abs(offset) <= offsets
    }
    found["cosine_beside"] = np.maximum(found["cosine_before"], found["cosine_after"])
    before, inside = moment.before
    asks = moment.past.cue.view[before, cues.COLUMN["has_question"]] * inside
    found["cosine_before_question"] = (asks * found["cosine_before"]).astype(np.float32)
    session = moment.past.session.view[moment.rows]
    found["session_cosine"] = top_mean(done["cosine"], session)
    found["session_bm25"] = top_mean(done["bm25"], session)
    return found


def top_mean(values: Floats, group: np.ndarray, top: int = 3) -> Floats:
    """(candidates,) mean of the ``top`` largest values of each candidate's group."""
    if len(values) == 0:
        return values
    order = np.lexsort((-values, group))
    sorted_group = group[order]
    opens = np.concatenate([[True], sorted_group[1:] != sorted_group[:-1]])
    number = np.cumsum(opens) - 1  # (candidates,) group number in sorted order
    place = np.arange(len(values)) - np.flatnonzero(opens)[number]
    kept = place < top
    total = np.bincount(number[kept], values[order][kept])
    mean = np.empty(len(values), np.float32)
    mean[order] = (total / np.bincount(number[kept]))[number]
    return mean
