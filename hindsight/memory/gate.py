"""What is worth writing: the sources' formulas, each part a number from 0 to 1 that can be shown.

Parts are light proxies that read one text: how dense it is in names, numbers and rare words, whether it lasts, how explicit it is.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hindsight.features.cues import COLUMN, entities, flags
from hindsight.memory.record import Origin
from hindsight.text import is_content, length, words

SOURCE: Mapping[Origin, float] = {"user": 1.0, "tool": 0.8, "knowledge": 0.8, "assistant": 0.6, "inferred": 0.5}
WRITE_AT = 0.6  # system S
_ENOUGH = 3.0  # names and numbers that make a text dense
_FLEETING = ("ends_question", "acknowledges", "closes")
_STATED = ("first_person", "changes", "likes", "date", "digit", "money")


def density(text: str) -> float:
    """Share of content words, and names and numbers in it, half and half."""
    found = words(text)
    content = sum(map(is_content, found)) / len(found) if found else 0.0
    return 0.5 * content + 0.5 * min(1.0, len(entities(text)) / _ENOUGH)


def persistence(text: str) -> float:
    """Whether it is likely to hold next week: questions, thanks and goodbyes don't."""
    shown = flags(text)
    fleeting = max(float(shown[COLUMN[name]]) for name in _FLEETING)
    return 0.0 if length(text) < 3 else 1.0 - 0.7 * fleeting


def explicitness(text: str) -> float:
    """Said by somebody of themselves, with a value."""
    shown = flags(text)
    return float(np.mean([shown[COLUMN["first_person"]], max(shown[COLUMN[name]] for name in _STATED[1:])]))


def scheduler(text: str, relevance: float, confidence: float, origin: Origin) -> dict[str, float]:
    """System S: 0.3 density + 0.3 task relevance + 0.25 confidence + 0.15 source weight; written from 0.6 on."""
    return {
        "density": 0.3 * density(text),
        "task relevance": 0.3 * relevance,
        "confidence": 0.25 * confidence,
        "source": 0.15 * SOURCE[origin],
    }


def layered(text: str, novelty: float) -> dict[str, float]:
    """System L: density, persistence, novelty, explicitness, a quarter each; rather miss than be wrong."""
    return {
        "density": 0.25 * density(text),
        "persistence": 0.25 * persistence(text),
        "novelty": 0.25 * novelty,
        "explicitness": 0.25 * explicitness(text),
    }


def importance(text: str) -> float:
    """System B's importance, from 1 (small talk) to 5."""
    return 1.0 + 4.0 * (0.4 * density(text) + 0.3 * persistence(text) + 0.3 * explicitness(text))
