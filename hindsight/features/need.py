"""What the moment shows, whatever the memory: which regime it is of, and whether anything in the past is needed at all.

The same for all candidates, so a ranking never hangs on them: they are for the switch and for calibration. They are of the last
utterance, of the turns before it, and of how well the past matches it, in absolute figures. None tells a query's template (a
transcript or one line, a session that is going on or a new one): a switch that reads those has read the format, not the need. Nor
is a request before the utterance among them: in a chat with an assistant one always was (LOG.md).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hindsight.features import cues
from hindsight.features.moment import Moment
from hindsight.text import normalise
from hindsight.types import Floats

GROUP = "need"
# Of the last utterance: English and Chinese, as everywhere in cues.py.
_SAYS = (
    "has_question",
    "asks_what",
    "asks_to",
    "recalls",
    "refuses",
    "requests",
    "acknowledges",
    "refers_back",
    "first_person",
    "number",
    "date",
    "clock",
    "closes",
)
_RECENT = 8  # turns, over which a tool's use fades


def _same(m: Moment, value: float) -> Floats:
    return np.full(len(m.rows), value, np.float32)


def _top(values: Floats, count: int) -> float:
    """Mean of the ``count`` largest."""
    if len(values) == 0:
        return 0.0
    return float(np.sort(values)[-count:].mean())


def _ahead(values: Floats) -> float:
    """How far the best stands above the next nine: 0 where nothing stands out."""
    return _top(values, 1) - _top(values, 10)


def _said(name: str) -> Callable[[Moment], Floats]:
    return lambda m: _same(m, float(bool(cues.CUES[name].search(m.last.query.text))))


def _known_terms(m: Moment) -> float:
    """Share of the last utterance's words that the past has heard at all."""
    asked = m.last.query_terms
    return sum(m.past.postings.frequency(term) > 0 for term in asked) / max(1, len(asked))


def _tool_used(m: Moment) -> float:
    """1 where a tool was called a moment ago, fading: a task is in progress."""
    calls = m.past.call_time.view
    before = calls[: int(np.searchsorted(calls, m.query.asked_at))]
    return float(np.exp(-(m.query.asked_at - int(before[-1])) / _RECENT)) if len(before) else 0.0


def _before(m: Moment, name: str) -> float:
    """What the three turns before the utterance show, whether the query repeats them or not."""
    known = int(np.searchsorted(m.past.source.view, m.query.asked_at))
    if known and m.past.plain[known - 1] == normalise(m.last.query.text):  # the utterance itself
        known -= 1
    return float(m.past.cue.view[max(0, known - 3) : known, cues.COLUMN[name]].max(initial=0))


COLUMNS: dict[str, Callable[[Moment], Floats]] = {
    **{f"says_{name}": _said(name) for name in _SAYS},
    "tool_used": lambda m: _same(m, _tool_used(m)),
    "before_asks": lambda m: _same(m, _before(m, "has_question")),
    "before_offers": lambda m: _same(m, _before(m, "offers")),
    "asks_known": lambda m: _same(m, _known_terms(m)),
    "best_cosine": lambda m: _same(m, _top(m.last.cosine_query, 1)),
    "ahead_cosine": lambda m: _same(m, _ahead(m.last.cosine_query)),
    "best_maxsim": lambda m: _same(m, _top(m.last.maxsim_query[1], 1)),
    "ahead_maxsim": lambda m: _same(m, _ahead(m.last.maxsim_query[1])),
    "best_coverage": lambda m: _same(m, _top(m.last.coverage(), 1)),
    "ahead_coverage": lambda m: _same(m, _ahead(m.last.coverage())),
    "pool_log": lambda m: _same(m, float(np.log1p(len(m.rows)))),
}
NAMES = tuple(COLUMNS)
