"""Values that a tool call or a reply uses, and the ways in which people say them. Labels and features share this."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import date
from functools import lru_cache
from string import ascii_lowercase
from typing import Any

from hindsight.text import LETTERS, SPACELESS, STOP_WORDS, normalise, sentences, terms

_MONTHS = "january february march april may june july august september october november december".split()
# also Chinese flags, and one letter behind a short number: 2人, 5分
_WEAK = re.compile(
    rf"true|false|none|null|dontcare|\d{{1,2}}|\d{{1,2}}[{''.join(LETTERS[one] for one in SPACELESS)}]|[是否有无]|没有|不限"
)


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
    """Too common to trace by its string: flags, one- or two-digit numbers, and the like in Chinese.

    >>> [is_weak(value) for value in ("true", "12", "是", "2人", "故宫", "100元")]
    [True, True, True, True, False, False]
    """
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
        return [leaf, f"{_MONTHS[month - 1]} {day}", f"{day}{_ending(day)}", f"{month}月{day}日", f"{month}月{day}号"]
    if found := re.fullmatch(r"(\d\d):(\d\d)", leaf):
        hour, minute = int(found[1]), found[2]
        twelve, half = hour % 12 or 12, "am" if hour < 12 else "pm"
        forms = [leaf, f"{twelve}:{minute} {half}", f"{twelve}:{minute}{half}"]
        return forms + ([f"{twelve} {half}", f"{twelve}{half}", f"{twelve}点"] if minute == "00" else [])
    return [leaf]


def _ending(day: int) -> str:
    return "th" if 10 <= day % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")


# -- what a text says ----------------------------------------------------------------------------------------------------
# A time, a date and a weekday have one form, however they are said: "17:30", "03-08" ("-08" without its month), "friday".

_WORDS = "zero one two three four five six seven eight nine ten eleven twelve".split()
_HAN_WORDS = {han: hour for hour, han in enumerate("零 一 二 三 四 五 六 七 八 九 十 十一 十二".split())} | {"两": 2}
_DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_HAN_DAYS = "一二三四五六日"
_PART = "morning|afternoon|evening|night"
_CLOCK = re.compile(
    rf"(?:\b({_PART}) (?:at )?)?(?:\b(half past|quarter past|quarter to) )?\b(\d{{1,2}}|{'|'.join(_WORDS)})(?::(\d\d))?"
    rf"(?: ?(am\b|pm\b|a\.m\.|p\.m\.|o\W{{0,2}}clock\b)|(?!\w))(?: (?:in the|at) ({_PART})\b)?"
)
_HAN_CLOCK = re.compile(r"(上午|早上|中午|下午|晚上)?(\d{1,2}|[十]?[一二两三四五六七八九十])点(半|一刻|(\d{1,2})分?)?")
_DATE = re.compile(
    rf"\b({'|'.join(_MONTHS)}) (\d{{1,2}})(?:st|nd|rd|th)?\b|\b(\d{{1,2}})(?:st|nd|rd|th)? of ({'|'.join(_MONTHS)})\b"
    r"|\b\d{4}-(\d\d)-(\d\d)\b|(\d{1,2})月(\d{1,2})[日号]|\b(\d{1,2})(?:st|nd|rd|th)\b"
)
_WEEKDAY = re.compile(rf"\b({'|'.join(_DAYS)})\b|(?:周|星期)([一二三四五六日天])")
# a house number may open a name, and small words may stand inside
_NAME = re.compile(
    r"(?:\b\d+ (?=[A-Z]))?\b[A-Z][\w'’-]*(?:(?: (?:&|of|the|and|de|by|-))* (?:[A-Z][\w'’-]*|\d+\b(?![.,:-]\d)))*"
)
_FIGURE = re.compile(r"\b\d[\d.,:-]*\d{2}\b")
_ARTICLES = frozenset("the la las el los le les new san santa saint st".split())  # what names are shortened by


@lru_cache(maxsize=65536)
def stated(plain: str) -> frozenset[str]:
    """Times and dates in a normalised text, each in its one form. A time of twelve hours without its half is both."""
    found = {"00:00"} if "midnight" in plain else set[str]()
    for before, shift, hour, minute, half, after in _CLOCK.findall(plain):
        if before or shift or minute or half or after:
            found |= _times(hour, minute, shift, (before or after) or half[:1])
    for part, hour, rest, minute in _HAN_CLOCK.findall(plain):
        shift = {"半": "half past", "一刻": "quarter past"}.get(rest, "")
        half = "morning" if part in ("上午", "早上") else "afternoon" if part else ""
        found |= _times(str(_HAN_WORDS.get(hour, hour)), minute, shift, half)
    for month, day, day_of, of_month, *rest in _DATE.findall(plain):
        numbers = [int(one) for one in (day, day_of, *rest) if one]
        name = month or of_month
        number = _MONTHS.index(name) + 1 if name else numbers[-2] if len(numbers) == 2 else 0
        found.add(f"{number:02d}-{numbers[-1]:02d}" if number else f"-{numbers[-1]:02d}")
    for english, han in _WEEKDAY.findall(plain):
        found.add(english or _DAYS[_HAN_DAYS.index(han.replace("天", "日"))])
    return frozenset(found)


def _times(hour: str, minute: str, shift: str, half: str) -> set[str]:
    number = _WORDS.index(hour) if hour in _WORDS else int(hour)
    past = {"half past": 30, "quarter past": 15, "quarter to": -15}.get(shift, int(minute or 0))
    if number > 24 or past > 59:
        return set()
    if number > 12 or number == 0 or (minute and hour[0] == "0"):
        hours = {number}
    else:
        hours = {"a": {number % 12}, "m": {number % 12}, "p": {number % 12 + 12}, "e": {number % 12 + 12}}.get(
            "p" if half == "afternoon" else half[:1], {number % 12, number % 12 + 12}
        )
    return {f"{total // 60:02d}:{total % 60:02d}" for total in ((hour * 60 + past) % 1440 for hour in hours)}


@lru_cache(maxsize=65536)
def _meant(value: str) -> frozenset[str]:
    """What a text may state to say this time or date; nothing for other values."""
    if re.fullmatch(r"\d\d:\d\d", value):
        return frozenset({value})
    if found := re.fullmatch(r"(?:(\d{4})-)?(\d\d)-(\d\d)", value):
        forms = {f"{found[2]}-{found[3]}", f"-{found[3]}"}
        with suppress(ValueError):
            forms |= {_DAYS[date(int(found[1]), int(found[2]), int(found[3])).weekday()]} if found[1] else set()
        return frozenset(forms)
    return frozenset()


_LATIN = re.compile(r"[a-z0-9]+")


@lru_cache(maxsize=65536)
def _forms(value: str) -> tuple[str, ...]:
    """A value of words, and what people make of it: initials (sf, nyc), a name without its article (vegas) or its last or
    first word."""
    parts = value.split()
    forms = [value]
    if 2 <= len(parts) <= 3 and all(part.isascii() and part.isalpha() for part in parts):
        short = "".join(part[0] for part in parts)
        forms += [one for one in (short, *(short + letter for letter in ascii_lowercase)) if one not in STOP_WORDS]
        forms.append(" ".join([*parts[:-1], parts[-1][:4]]))
    if len(parts) > 2:
        forms += [" ".join(parts[1:]), " ".join(parts[:-1])]
    elif len(parts) == 2 and parts[0] in _ARTICLES:
        forms.append(parts[1])
    return tuple(dict.fromkeys(forms))


@lru_cache(maxsize=65536)
def keys(value: str) -> tuple[str, ...]:
    """Index terms, one of which any text holds that says the value; () where there are none to go by."""
    if found := re.fullmatch(r"(\d\d):\d\d", value):
        hours = [(int(found[1]) + step) % 24 for step in (0, 1)]
        hours += [hour % 12 or 12 for hour in hours]
        told = (
            [f"{hour}{half}" for hour in hours for half in ("", "am", "pm")]
            + [found[1]]
            + [_WORDS[hour] for hour in hours if hour <= 12]
        )
        told += [f"{han}点" for han, hour in _HAN_WORDS.items() if hour in hours] + ["midnight"]
    elif _meant(value):
        day = int(value[-2:])
        told = [str(day), f"{day}{_ending(day)}", f"{day}th", value, *(one for one in _meant(value) if one in _DAYS)]
        told += [f"{week}{_HAN_DAYS[_DAYS.index(one)]}" for one in _meant(value) if one in _DAYS for week in ("周", "期")]
    else:
        told = list(_forms(value))
        if not _usable(value):
            return ()
    return tuple(dict.fromkeys(max(found, key=len) for one in told if (found := _usable(one))))


def _usable(form: str) -> list[str]:
    """A lone letter of a script without spaces is no term where others follow it: 8日 in 8日出发."""
    return [term for term in terms(form) if len(term) > 1 or term.isascii()]


@lru_cache(maxsize=262144)
def says(plain: str, value: str) -> bool:
    """Whether a normalised text says a normalised value, in its own words or in others."""
    if meant := _meant(value):
        return not meant.isdisjoint(stated(plain))
    single, longer = _sorted_forms(value)
    if not single.isdisjoint(_words_of(plain)):
        return True
    return any(form in plain and _whole(form).search(plain) is not None for form in longer)


@lru_cache(maxsize=65536)
def _sorted_forms(value: str) -> tuple[frozenset[str], tuple[str, ...]]:
    """(forms of one word of Latin letters, which a text's set of words can be asked for; all others): initials make thirty forms."""
    forms = _forms(value)
    single = frozenset(form for form in forms if form.isascii() and form.isalpha())
    return single, tuple(form for form in forms if form not in single)


@lru_cache(maxsize=16384)
def _words_of(plain: str) -> frozenset[str]:
    return frozenset(_LATIN.findall(plain))


@lru_cache(maxsize=65536)
def _whole(form: str) -> re.Pattern[str]:
    """Not inside a longer word or number: 1st in 21st, 50元 in 4.50元. Scripts without spaces have no such edge."""
    first = r"(?<![a-z0-9])" if form[0].isascii() else ""
    first += r"(?<!\d[.,:])" if form[0].isdigit() else ""
    return re.compile(first + re.escape(form) + (r"(?![a-z0-9])" if form[-1].isascii() else ""))


def named(text: str) -> list[tuple[str, bool]]:
    """Times and dates that a text states, its names (runs of capitalised words), and figures, normalised, each once; and whether the
    first word may be no part of the name, as it opens a sentence."""
    plain = normalise(text)
    found = [(one, False) for one in sorted(stated(plain)) if one[0].isdigit()]
    dated = {*_MONTHS, *_DAYS}
    for sentence in sentences(text):
        for run in _NAME.finditer(sentence):
            parts, opens = normalise(run[0]).strip("'’-").split(), run.start() == 0
            while parts and parts[0] in STOP_WORDS:
                parts, opens = parts[1:], False
            if parts and not (opens and len(parts) == 1) and dated.isdisjoint(parts):
                found.append((" ".join(parts), opens))
    found += [(one, False) for one in _FIGURE.findall(plain) if not re.fullmatch(r"\d\d?:\d\d|\d{4}-\d\d-\d\d", one)]
    return list(dict(reversed(found)).items())[::-1]
