"""Does a request begin a new goal? Points for its cues, for words that the running goal lacks, and for the moment.

The points come from a logistic fit to changes of service in SGD's training split, rounded to halves and then searched there
and on CrossWOZ's validation split (changes of domain); ``bench/episode_boundaries.py`` measures them on other splits.
"""

from __future__ import annotations

import re
from collections.abc import Set

from hindsight.miner.signals import asks, cues_of, topic_of
from hindsight.miner.wording import clip
from hindsight.types import Outcome

# Points for a new goal. The first block are cues of the request, the second its words, the third the moment.
_POINTS = {
    "want": 1.0, "ask": 0.5, "verb": 1.5, "question": 1.0, "also": 1.0, "indefinite": 1.0, "alternative": -4.0, "back": -2.0,
    "only an attribute": -2.5, "points there": 1.5, "only asks": -0.5,
    "two new terms": 1.0, "all terms new": 0.5, "known terms": -1.0, "over 5 words": 1.0, "over 9 words": 0.5,
    "success": 1.0, "failure": -1.0, "nothing asked": 0.5, "asked what": -3.0, "asked whether": -1.0,
}  # fmt: skip
_ENOUGH = 5.0
_REQUEST_WORDS = 40
_LONG = 20
_WHAT = re.compile(
    r"\b(?:what|which|where|when|how many|who|how long|provide|specify|clarify|share)\b[^.!?]*\?|(?:哪|什么|几|多少).*[?？]",
    re.I,
)
_LETTER = re.compile(r"[\u3040-\u9fff\uac00-\ud7af]")


def shifts(request: str, running: Set[str], asked: str, outcome: Outcome) -> bool:
    """``running``: the terms of the goal so far; ``asked``: the last reply; ``outcome``: of that goal so far."""
    request = clip(request, _REQUEST_WORDS)
    topic = topic_of(request)
    new = topic - running
    if not new:
        return False
    cues, length = cues_of(request), _length(request)
    if length > _LONG:  # "it" and "another" point back at the turn itself
        cues = cues - {"back", "alternative", "attribute"}
    holds = {
        **dict.fromkeys(cues, True),
        "only an attribute": "attribute" in cues and not {"verb", "indefinite"} <= cues,
        "points there": "there" in cues and bool(cues & {"want", "ask", "verb"}),
        "only asks": not cues & {"want", "ask", "verb"},
        "two new terms": len(new) >= 2,
        "all terms new": len(new) == len(topic),
        "known terms": len(new) <= 0.6 * len(topic),
        "over 5 words": length > 5,
        "over 9 words": length > 9,
        outcome: True,
        _moment(asked): True,
    }
    return sum(points for name, points in _POINTS.items() if holds.get(name)) >= _ENOUGH


def _moment(asked: str) -> str:
    """An answer to a question is seldom a new goal, unless the question was whether there is anything else."""
    cues = cues_of(asked)
    if "more" in cues:
        return "nothing asked"
    if "confirm" in cues or _WHAT.search(asked):
        return "asked what"
    return "asked whether" if asks(asked) else "nothing asked"


def _length(text: str) -> float:
    """In words; two letters of a script without spaces count as one."""
    return len(text.split()) + len(_LETTER.findall(text)) / 2
