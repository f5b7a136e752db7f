"""When to recall, and from which layer. Not at every turn: a recall that nothing asked for costs tokens and distracts."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from hindsight.features.cues import CUES
from hindsight.memory.record import LAYERS, Layer
from hindsight.miner.signals import asks, topic_of

# The user points at the past. A routing word of the sources ("last time", "I remember"), never "before noon".
TRACE = re.compile(
    r"\b(last time|the other (?:day|time)|(?:like|as|than|we did|i said|you said) before|earlier|previously|i remember"
    r"|do you remember|remember (?:when|that|what|how|my)|(?:you|i|we) (?:said|told|mentioned|talked|discussed|agreed)|remind me"
    r"|as (?:always|usual)|the usual|again)\b|上次|上回|之前|以前|记得|你说过|我说过|提过|提到过|老样子|跟以前|还是那",
    re.I,
)
_KNOWLEDGE = re.compile(
    r"^\W*(what (?:is|are|does)|how (?:do|does|to|can)|why (?:is|are|do|does)|explain|define)\b|^(什么是|如何|怎么|为什么|解释)",
    re.I,
)
_DOES = re.compile(r"\b(how (?:do|did|should|can) (?:i|we|you)|steps?|procedure|the way (?:i|we))\b|怎么做|步骤|流程", re.I)


@dataclass(frozen=True)
class Triggers:
    """``window``: tokens of the reader's; a recall is due where the dialogue takes more than ``share`` of it. ``overlap``: terms that
    the turn must share with what is stored. ``idle``: turns without a recall. 0 switches a trigger off."""

    window: int = 4096
    share: float = 0.6
    overlap: int = 2
    idle: int = 5


def trigger(text: str, tokens: int, stored: Collection[str], since: int, settings: Triggers) -> str:
    """Why to recall at this turn; "" for not now.

    ``tokens``: of the dialogue so far. ``stored``: terms of what is remembered. ``since``: turns since the last recall.
    """
    if TRACE.search(text):
        return "trace words"
    if CUES["retracts"].search(text) or CUES["changes"].search(text):
        return "change"
    if asks(text) or CUES["requests"].search(text):
        shared = len(topic_of(text) & frozenset(stored)) if settings.overlap else 0
        if settings.overlap and shared >= min(settings.overlap, max(1, len(topic_of(text)))):
            return "topic"
    if settings.share and tokens > settings.share * settings.window:
        return "budget"
    return "idle" if settings.idle and since >= settings.idle else ""


def layers(text: str) -> Sequence[Layer]:
    """Which layers answer it, the first first: trace words ask what happened; how-to asks for a procedure; a plain question of fact
    asks what is known."""
    if TRACE.search(text):
        return ("episodic", "semantic", "procedural")
    if _DOES.search(text):
        return ("procedural", "episodic", "semantic")
    if _KNOWLEDGE.search(text) and not CUES["first_person"].search(text):
        return ("semantic", "episodic", "procedural")
    return LAYERS
