"""Dates as people write them, in both languages."""

from __future__ import annotations

import random
from datetime import date, timedelta

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
           "December")  # fmt: skip
_ZH_DAYS = "一二三四五六日"


def written(day: date, language: str, rng: random.Random) -> str:
    if language == "zh":
        return rng.choice((f"{day.month}月{day.day}号", f"{day.month}月{day.day}日"))
    month = _MONTHS[day.month - 1]
    return rng.choice((f"{day.day} {month}", f"{month} {day.day}", f"{_DAYS[day.weekday()]} {day.day} {month}"))


def ahead(start: date, low: int, high: int, language: str, rng: random.Random) -> str:
    """A date that many days after (before, where negative) ``start``."""
    return written(start + timedelta(days=rng.randint(low, high)), language, rng)


def ago(start: date, language: str, rng: random.Random) -> tuple[str, date]:
    """A relative expression seen from ``start``, and the day that it means."""
    days = rng.choice((1, 2, 3, 4, 5, 6, 7, 14, 21))
    day = start - timedelta(days=days)
    if language == "zh":
        words = {1: "昨天", 2: "前天", 3: "大前天", 7: "一周前", 14: "两周前", 21: "三周前"}
        last_week = day.isocalendar()[1] != start.isocalendar()[1]
        return words.get(days, ("上" if last_week else "这") + f"周{_ZH_DAYS[day.weekday()]}"), day
    words = {
        1: "yesterday",
        2: "the day before yesterday",
        7: "a week ago today",
        14: "two weeks ago",
        21: "three weeks ago",
    }
    return words.get(days, f"last {_DAYS[day.weekday()]}" if days > 3 else f"on {_DAYS[day.weekday()]}"), day
