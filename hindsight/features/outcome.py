"""What became of a memory so far: was it accepted, spoken of again, used by a tool? From plain logs, past turns only."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hindsight.features.moment import Moment
from hindsight.types import Floats

GROUP = "outcome feedback"
OVERWRITES = ("superseded", "retracted")  # see overwrite.py


def _calls_since(m: Moment) -> Floats:
    calls = m.past.call_time.view
    return np.log1p(len(calls) - np.searchsorted(calls, m.past.source.view[m.take], side="right"))


COLUMNS: dict[str, Callable[[Moment], Floats]] = {
    "accepted": lambda m: m.past.accepted.view[m.take],
    "refused": lambda m: m.past.refused.view[m.take],
    "mentioned": lambda m: np.log1p(m.past.mentioned.view[m.take]),
    "mentioned_last": lambda m: np.log(np.maximum(m.query.asked_at - m.past.mentioned_last.view[m.take], 1)),
    "mentioned_by_assistant": lambda m: np.log1p(m.past.mentioned_by_assistant.view[m.take]),
    "called": lambda m: np.log1p(m.past.called.view[m.take]),
    "calls_since": _calls_since,
    "superseded": lambda m: m.past.superseded.view[m.take],
    "retracted": lambda m: m.past.retracted.view[m.take],
    "failed": lambda m: m.past.failed.view[m.take],
}
NAMES = tuple(COLUMNS)
