"""Values that a tool call or a reply uses, and the ways in which people say them. Labels and features share this."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from hindsight.text import normalise

_MONTHS = "january february march april may june july august september october november december".split()
_WEAK = re.compile(r"true|false|none|null|dontcare|\d{1,2}")


def leaves(value: Any) -> Iterator[str]:
    """The plain values inside a tool argument, as normalised strings."""
    if isinstance(value, Mapping):
        for inner in value.values():
            yield from leaves(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from leaves(inner)
    elif value is not None:
        yield normalise(str(value))


def is_weak(value: str) -> bool:
    """Too common to trace by its string: flags and one- or two-digit numbers."""
    return not value or bool(_WEAK.fullmatch(value))


def surfaces(value: Any) -> tuple[str, ...]:
    """Normalised strings by which a value may stand in a text; () for weak values.

    >>> surfaces("2019-03-08")
    ('2019-03-08', 'march 8', '8th', '3月8日', '3月8号')
    >>> surfaces("17:30")
    ('17:30', '5:30 pm', '5:30pm')
    """
    forms: list[str] = []
    for leaf in leaves(value):
        if not is_weak(leaf):
            forms += _surfaces(leaf)
    return tuple(dict.fromkeys(forms))


def _surfaces(leaf: str) -> list[str]:
    if found := re.fullmatch(r"\d{4}-(\d\d)-(\d\d)", leaf):
        month, day = int(found[1]), int(found[2])
        if not 1 <= month <= 12:
            return [leaf]
        ending = "th" if 10 <= day % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
        return [leaf, f"{_MONTHS[month - 1]} {day}", f"{day}{ending}", f"{month}月{day}日", f"{month}月{day}号"]
    if found := re.fullmatch(r"(\d\d):(\d\d)", leaf):
        hour, minute = int(found[1]), found[2]
        twelve, half = hour % 12 or 12, "am" if hour < 12 else "pm"
        forms = [leaf, f"{twelve}:{minute} {half}", f"{twelve}:{minute}{half}"]
        return forms + ([f"{twelve} {half}", f"{twelve}{half}", f"{twelve}点"] if minute == "00" else [])
    return [leaf]
