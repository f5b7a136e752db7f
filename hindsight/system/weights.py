"""The numbers of a memory system, checked: each is a weight, a share, a half-life or a count, and none is below zero."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from hindsight.types import ConfigError

POSITIVE = ("half_life", "window")  # days, hours: time is divided by one, and nothing happens in none
SHARES = ("gate",)


def parts(system: str, config: Any) -> list[str]:
    """Overrides that take out one part each: a weight or a gate of 0, a switch that is off."""
    found: list[str] = []
    for one in dataclasses.fields(config):
        value = getattr(config, one.name)
        if value and one.name not in POSITIVE:
            found.append(f"{system}.{one.name}={'false' if value is True else 0}")
    return found


def checked(system: str, config: Any) -> None:
    """Raises ConfigError naming each field of ``config``, a dataclass, whose number can't be meant."""
    problems: list[str] = []
    for one in dataclasses.fields(config):
        value, given = getattr(config, one.name), f"{system}.{one.name}={getattr(config, one.name)}"
        if isinstance(value, bool):
            continue
        if one.name in SHARES and not 0 <= value <= 1:
            problems.append(f"{given}: wanted from 0 to 1")
        elif one.name in POSITIVE and not 0 < value < math.inf:
            problems.append(f"{given}: wanted more than 0")
        elif not 0 <= value < math.inf:
            problems.append(f"{given}: wanted 0 or more")
    if problems:
        raise ConfigError(problems)
