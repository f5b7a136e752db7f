"""What the turns beside a memory match: an answer rarely repeats the words of the question before it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from hindsight.features import cues
from hindsight.features.moment import Moment, highest_first
from hindsight.types import Floats, Ints

GROUP = "text relevance"


def _cosine_beside(m: Moment) -> Floats:
    return np.maximum(m.shifted(m.cosine_z, -1), m.shifted(m.cosine_z, 1))


def _cosine_before_question(m: Moment) -> Floats:
    before, inside = m.neighbour(-1)
    return m.past.cue.view[before, cues.COLUMN["has_question"]] * inside * m.shifted(m.cosine_z, -1)


COLUMNS: dict[str, Callable[[Moment], Floats]] = {
    "bm25_before": lambda m: m.shifted(m.bm25_z, -1),
    "bm25_after": lambda m: m.shifted(m.bm25_z, 1),
    "bm25_before2": lambda m: m.shifted(m.bm25_z, -2),
    "bm25_after2": lambda m: m.shifted(m.bm25_z, 2),
    "cosine_before": lambda m: m.shifted(m.cosine_z, -1),
    "cosine_after": lambda m: m.shifted(m.cosine_z, 1),
    "cosine_before2": lambda m: m.shifted(m.cosine_z, -2),
    "cosine_after2": lambda m: m.shifted(m.cosine_z, 2),
    "maxsim_before": lambda m: m.shifted(m.maxsim_idf_z, -1),
    "maxsim_after": lambda m: m.shifted(m.maxsim_idf_z, 1),
    "cosine_beside": _cosine_beside,
    "cosine_before_question": _cosine_before_question,
    "session_cosine": lambda m: top_mean(m.cosine_z, m.past.session.view[m.take], m.cosine_order),
    "session_bm25": lambda m: top_mean(m.bm25_z, m.past.session.view[m.take], m.bm25_order),
}
NAMES = tuple(COLUMNS)


def top_mean(values: Floats, group: npt.NDArray[np.integer], order: Ints | None = None, top: int = 3) -> Floats:
    """(candidates,) mean of the ``top`` largest values of each candidate's group. ``order``: places by falling value."""
    if len(values) == 0:
        return values
    order = highest_first(values) if order is None else order
    ranked = group[order]
    if ranked.max() < 1 << 15:
        ranked = ranked.astype(np.int16)  # numpy sorts these by radix, which keeps the order within a group
    order = order[np.argsort(ranked, kind="stable")]
    ranked = group[order]
    opens = np.flatnonzero(np.concatenate([[True], ranked[1:] != ranked[:-1]]))
    sizes = np.diff(np.append(opens, len(values)))
    number = np.repeat(np.arange(len(opens)), sizes)  # (candidates,) group's number, in sorted order
    kept = np.arange(len(values)) - opens[number] < top
    mean = np.bincount(number[kept], values[order[kept]]) / np.minimum(sizes, top)
    found = np.empty(len(values), np.float32)
    found[order] = mean[number]
    return found
