"""What became of a memory so far: was it accepted, spoken of again, used by a tool? From plain logs, past turns only."""

from __future__ import annotations

import numpy as np

from hindsight.features.moment import Moment
from hindsight.types import Floats

GROUP = "outcome feedback"
NAMES = ("accepted", "refused", "mentioned", "mentioned_last", "mentioned_by_assistant", "called", "calls_since", "failed")


def columns(moment: Moment) -> dict[str, Floats]:
    past, rows = moment.past, moment.rows
    since_mention = np.maximum(moment.query.asked_at - past.mentioned_last.view[rows], 1).astype(np.float32)
    calls = np.array(past.call_time, np.int64)
    later = len(calls) - np.searchsorted(calls, past.source.view[rows], side="right")
    failed = [float(past.memories[row].outcome == "failure") for row in rows.tolist()]
    return {
        "accepted": past.accepted.view[rows],
        "refused": past.refused.view[rows],
        "mentioned": np.log1p(past.mentioned.view[rows]),
        "mentioned_last": np.log(since_mention),
        "mentioned_by_assistant": np.log1p(past.mentioned_by_assistant.view[rows]),
        "called": np.log1p(past.called.view[rows]),
        "calls_since": np.log1p(later).astype(np.float32),
        "failed": np.array(failed, np.float32),
    }
