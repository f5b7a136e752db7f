"""How memories fade: decay, time to live, capacity. Functions of records and the time; the store does what they say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hindsight.memory.record import Record
from hindsight.memory.view import days


@dataclass(frozen=True)
class Lifecycle:
    """``half_life``: days in which an unread memory loses half its value (0: never). ``below``: the value under which one is archived
    that has not been read for ``unread`` days. ``capacity``: active memories at most, 0 for any number. Facts do not fade."""

    half_life: float = 10.0
    below: float = 0.05
    unread: float = 30.0
    capacity: int = 0


def decay(age: float, half_life: float) -> float:
    """0.5 ** (age / half life), both in days; 1 where nothing fades.

    >>> decay(7, 7), decay(0, 7), decay(100, 0)
    (0.5, 1.0, 1.0)
    """
    return 0.5 ** (age / half_life) if half_life > 0 else 1.0


def value(record: Record, now: float, half_life: float) -> float:
    """Importance (1 to 5, 3 where unknown) as a share, faded since it was read last, and more for what is read often."""
    importance = (record.memory.importance or 3.0) / 5.0
    fades = 0.0 if record.layer == "semantic" else half_life
    since = days(record.written if record.read is None else record.read, now)
    return importance * decay(since, fades) * (1 + math.log1p(record.reads))


def expired(records: Sequence[Record], now: float) -> list[str]:
    """Those whose time to live is over."""
    return [one.memory_id for one in records if one.expires is not None and one.expires <= now]


def faded(records: Sequence[Record], now: float, settings: Lifecycle) -> list[str]:
    """Those to archive: worth little and long unread, and, over the capacity, the oldest and least read."""
    gone = [
        one.memory_id
        for one in records
        if value(one, now, settings.half_life) < settings.below
        and days(one.written if one.read is None else one.read, now) > settings.unread
    ]
    over = len(records) - len(gone) - settings.capacity if settings.capacity else 0
    if over > 0:
        left = [one for one in records if one.memory_id not in set(gone)]
        left.sort(key=lambda one: (one.layer == "semantic", value(one, now, settings.half_life), one.written, one.memory_id))
        gone += [one.memory_id for one in left[:over]]
    return gone
