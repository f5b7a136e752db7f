"""What the question asks for: who tells of themselves, an answer of the right kind, a day, the reply to such a question.

A cue weighs by how rare it is among this user's memories, so one setting serves every log. The lists of words are English and
Chinese, and were written by people who had seen questions of LoCoMo, BEAM and LongMemEval (SCIENCE, "cues").
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Iterator
from datetime import date, timedelta

import numpy as np

from hindsight.features import answer_words, cues
from hindsight.features.moment import Moment, zscore
from hindsight.features.timeline import NAMED, day_of
from hindsight.types import Floats

GROUP = "context"
RAREST = 0.01
AFTER, BEFORE = 7.0, 2.0  # days in which a memory outside the span asked for loses all but 1/e: people tell of it afterwards

# The first that stands in the question names the cue of its answer.
_KINDS = (
    ("duration", r"\bhow long\b|多久|多长时间"),
    ("when", r"\bwhen\b|\b(what|which) (date|day|time|year|month|week)\b|什么时候|哪天|几号|几点"),
    ("number", r"\bhow (many|much|often|old)\b|多少|几[个次岁]"),
    ("name", r"\b(who|whom|whose|where)\b|谁|哪里|哪儿|什么地方"),
    ("because", r"\bwhy\b|\bwhat (motivated|inspired|made)\b|为什么"),
    ("likes", r"\b(likes?|favou?rite|prefers?|enjoys?|loves?)\b|喜欢|最爱"),
)
_MONTHS: tuple[str, ...] = (
    *"january february march april may june july august september october november december".split(),
)
_MONTH = "|".join(_MONTHS)
_DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_NUMBERS = {word: n for n, word in enumerate("one two three four five six seven eight nine ten".split(), 1)} | {
    "a": 1,
    "an": 1,
}
_DATE = re.compile(
    rf"\b(?P<year1>\d{{4}})-(?P<month1>\d\d)-(?P<day1>\d\d)\b"
    rf"|\b(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<month2>{_MONTH})\b(?:,? (?P<year2>(?:19|20)\d\d)\b)?"
    rf"|\b(?P<month3>{_MONTH}) (?P<day3>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,? (?P<year3>(?:19|20)\d\d)\b)?"
    rf"|\b(?P<month4>{_MONTH})\b(?:,? (?P<year4>(?:19|20)\d\d)\b)?"
    rf"|\b(?P<year5>(?:19|20)\d\d)\b",
    re.I,
)
_AGO = re.compile(r"\b(\d+|an?|one|two|three|four|five|six|seven|eight|nine|ten) (day|week|month|year)s? ago\b", re.I)
_UNIT = {"day": 1, "week": 7, "month": 30, "year": 365}

Span = tuple[int, int]  # first and last day


def spans(text: str, asked: date | None, newest: date | None) -> list[Span]:
    """Days that a question names. Relative ones need the day of the question; a date without a year takes the newest memory's.

    >>> [date.fromordinal(day).isoformat() for day in spans("Where was I in May 2023?", None, None)[0]]
    ['2023-05-01', '2023-05-31']
    """
    found = list(_absolute(text, asked or newest))
    return found if asked is None else [*found, *_relative(text.lower(), asked)]


def _absolute(text: str, near: date | None) -> Iterator[Span]:
    for match in _DATE.finditer(text):
        part = {name[:-1]: value for name, value in match.groupdict().items() if value}
        year = int(part["year"]) if "year" in part else near.year if near else None
        if year is None or (part.get("month") == "may" and "day" not in part and "year" not in part):  # "may" the verb
            continue
        name = part.get("month", "").lower()
        month = int(name) if name.isdigit() else _MONTHS.index(name) + 1 if name else 0
        try:
            if "day" in part:
                first = last = date(year, month, int(part["day"]))
            elif month:
                first, last = date(year, month, 1), date(year, month, monthrange(year, month)[1])
            else:
                first, last = date(year, 1, 1), date(year, 12, 31)
        except ValueError:
            continue
        yield first.toordinal(), last.toordinal()


def _relative(lower: str, asked: date) -> Iterator[Span]:
    today, monday = asked.toordinal(), asked.toordinal() - asked.weekday()
    fixed = {"today": (today, today), "yesterday": (today - 1, today - 1), "last week": (monday - 7, monday - 1)}
    fixed |= {"this week": (monday, today), "this month": (today - asked.day + 1, today)}
    end = today - asked.day  # of the month before
    fixed["last month"] = end - (asked - timedelta(asked.day)).day + 1, end
    yield from (span for words, span in fixed.items() if re.search(rf"\b{words}\b", lower))
    for number, day in enumerate(_DAYS):
        if re.search(rf"\blast {day}\b", lower):
            at = today - ((asked.weekday() - number) % 7 or 7)
            yield at, at
    for match in _AGO.finditer(lower):
        unit = _UNIT[match[2]]
        at = today - unit * (int(match[1]) if match[1].isdigit() else _NUMBERS[match[1]])
        yield at - unit // 2, at + unit // 2


def _weighed(values: Floats, mean: float) -> Floats:
    """(candidates,) 0..1, times how much a cue says that this share of a user's memories shows."""
    return (values * -float(np.log(max(mean, RAREST)))).astype(np.float32)


def _cued(m: Moment, name: str) -> Floats:
    column = cues.COLUMN[name]
    return _weighed(m.past.cue.view[m.take, column], float(m.past.cue_total[column]) / max(1, len(m.past)))


def _first_person(m: Moment) -> Floats:
    return _cued(m, "first_person")


def _answer_type(m: Moment) -> Floats:
    kind = next((name for name, pattern in _KINDS if re.search(pattern, m.last_line, re.I)), "")
    if not kind:
        return np.zeros(len(m.rows), np.float32)
    if kind != "name":
        return _cued(m, kind)
    named = (m.past.entity_count.view[m.take] > 0).astype(np.float32)
    return _weighed(named, m.past.cued[NAMED].size / max(1, len(m.past)))


def _date_span(m: Moment) -> Floats:
    days = m.past.day.view
    known = days[~np.isnan(days)]
    asked = day_of(m.query.time)
    newest = date.fromordinal(int(known.max())) if len(known) else None
    named = spans(m.plain_query, None if np.isnan(asked) else date.fromordinal(int(asked)), newest)
    near = np.zeros(len(days), np.float32)
    for first, last in named:
        apart = np.where(days > last, (days - last) / AFTER, np.maximum(first - days, 0) / BEFORE)
        near = np.maximum(near, np.nan_to_num(np.exp(-apart), nan=0.0)).astype(np.float32)
    return _weighed(near[m.take], float(near.mean())) if named else np.zeros(len(m.rows), np.float32)


def _answers_question(m: Moment) -> Floats:
    """A turn that asks what the query asks lends its match to the next one, if that is by the person asked about."""
    if m.about is None:
        return np.zeros(len(m.rows), np.float32)
    before, _ = m.neighbour(-1)
    match = np.maximum(zscore(m.bm25_wide) + 2 * m.maxsim_idf_z - 2, 0) * m.coverage()
    asks = m.past.cue.view[before, cues.COLUMN["ends_question"]]
    by_them = m.past.speaker.view[m.take] == m.past.speakers[m.about]
    return asks * by_them * m.shifted(match, -1)


def _answer_words(m: Moment) -> Floats:
    """Words that answers to such questions have, in this log's own rarity: learned, where the others are by hand."""
    wanted = answer_words.wanted(m.plain_query)
    if not wanted or not len(m.rows):
        return np.zeros(len(m.rows), np.float32)
    frequency = [m.past.forms.frequency(form) for form in wanted]
    weight = np.array(list(wanted.values()), np.float32) * answer_words.weigh(frequency, len(m.past))
    return zscore(m.past.forms.mass(m.rows, dict(zip(wanted, weight.tolist()))))


COLUMNS: dict[str, Callable[[Moment], Floats]] = {
    "first_person": _first_person,
    "answer_type": _answer_type,
    "date_span": _date_span,
    "answers_question": _answers_question,
    "answer_words": _answer_words,
}
NAMES = tuple(COLUMNS)
