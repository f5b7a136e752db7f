"""LongMemEval (and sets in its schema): each question's haystack of sessions is one user's stream."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from hindsight.logs.raw import Spot, at_least_one, clean, files_of, name_of, read_json_list_at, time_order
from hindsight.types import Count, DataError, Dialogue, Turn, opaque

WANTED = "a LongMemEval file: a JSON list of questions with haystack_sessions, haystack_session_ids and haystack_dates"
_DATE = re.compile(r"(\d{4})/(\d\d?)/(\d\d?)(?:\s*\(([A-Za-z]{3})[a-z]*\))?(?:\s+(\d\d?):(\d\d))?")
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


class Source(NamedTuple):
    """Where a turn stands: the session's id, its place in ``haystack_sessions`` (ids may repeat), the turn's place in it."""

    session: str
    place: int
    turn: int


@dataclass(frozen=True)
class LongMemEvalReader:
    def build(self) -> LongMemEvalReader:
        return self

    def read(self, path: Path, count: Count) -> Iterator[Dialogue]:
        for dialogue, _, _ in keyed(path, count):
            yield dialogue


def keyed(path: Path, count: Count) -> Iterator[tuple[Dialogue, list[Source], dict[str, Any]]]:
    """(dialogue, source of each turn, the raw question), one question at a time: the file is never held."""
    return ((dialogue, sources, question) for dialogue, sources, question, _ in placed(path, count))


def placed(path: Path, count: Count) -> Iterator[tuple[Dialogue, list[Source], dict[str, Any], Spot | None]]:
    """The same, with where each question stands in its file.

    Sessions stand in order of (date, place); a session without a date keeps its place after the one before it. Nothing is
    left out by date. A folder: its ``longmemeval*.json``.
    """
    return at_least_one(_placed(path, count), path, count, WANTED)


def again(spot: Spot, name: str) -> tuple[tuple[Turn, ...], list[Source], dict[str, Any]]:
    """A question that was read once, from its file: (turns, their sources, the raw question). ``name``: its id, as it was read."""
    question = spot.read()
    haystack = _haystack(question)
    if isinstance(haystack, str):
        raise DataError(spot.path, haystack, "the same file as when it was first read")
    return *_turns(haystack, name, Count()), question


def _placed(path: Path, count: Count) -> Iterator[tuple[Dialogue, list[Source], dict[str, Any], Spot | None]]:
    seen: set[str] = set()
    for file in files_of(path, ("longmemeval*.json",)):
        for number, (question, spot) in enumerate(read_json_list_at(file)):
            haystack = _haystack(question)
            if isinstance(haystack, str):
                count.skip(haystack, f"{file.name}:{number}")
                continue
            name = id_of(question, f"{file.name}:{number}")
            turns, sources = _turns(haystack, name, count)
            if not turns or name in seen:
                count.skip("the same question_id again" if turns else "no turns", f"{file.name}:{number}")
                continue
            seen.add(name)
            count.keep()
            user = opaque("user", "longmemeval", name)
            dialogue = Dialogue(opaque("dialogue", "longmemeval", name), user, turns, f"{file.name}:{number}")
            yield dialogue, sources, question, spot


def id_of(question: dict[str, Any], place: str) -> str:
    """``place`` where it has none."""
    return name_of(question.get("question_id")) or place


def _haystack(question: Any) -> list[tuple[str, Any, list[Any]]] | str:
    """(session id, date, turns) of each session, or why the question can't be read. Unequal lists are never padded."""
    keys = ("haystack_session_ids", "haystack_dates", "haystack_sessions")
    if not isinstance(question, dict) or not all(isinstance(question.get(key), list) for key in keys):
        return f"no {', '.join(keys)}"
    ids, dates, sessions = (question[key] for key in keys)
    if not len(ids) == len(dates) == len(sessions):
        return (
            f"question {question.get('question_id')}: {len(ids)} session ids, {len(dates)} dates, {len(sessions)} sessions"
        )
    if not all(isinstance(session, list) for session in sessions):
        return f"question {question.get('question_id')}: a session is not a list of turns"
    return [(name_of(one), date, session) for one, date, session in zip(ids, dates, sessions)]


def _turns(haystack: list[tuple[str, Any, list[Any]]], name: str, count: Count) -> tuple[tuple[Turn, ...], list[Source]]:
    times = [time_of(date, count) for _, date, _ in haystack]
    if again := len(haystack) - len({session for session, _, _ in haystack}):
        count.note("session id stands in the haystack again: kept as a session of its own", again)
    turns: list[Turn] = []
    sources: list[Source] = []
    for place in time_order(times):
        session, _, lines = haystack[place]
        if not lines:
            count.note("session without turns: left out")
        mark = opaque("session", "longmemeval", name, place)
        for i, line in enumerate(lines):
            role = line.get("role") if isinstance(line, dict) else None
            if role not in ("user", "assistant") or not isinstance(line.get("content"), str):
                count.note("turn left out: role is neither user nor assistant, or content is no text")
                continue
            turns.append(Turn(len(turns), mark, role, role, clean(line["content"], count), times[place]))
            sources.append(Source(session, place, i))
    return tuple(turns), sources


def time_of(value: object, count: Count) -> str | None:
    """LongMemEval's dates. No zone is known, so none is given; a wrong weekday is noted; what is no date is None, and noted.

    >>> time_of("2023/05/20 (Sat) 02:21", Count()), time_of("2023/13/40 (Sat) 02:21", Count())
    ('2023-05-20T02:21:00', None)
    """
    if found := _DATE.fullmatch(str(value).strip()):
        year, month, day, weekday, hour, minute = found.groups()
        try:
            time = datetime(int(year), int(month), int(day), int(hour or 0), int(minute or 0))
        except ValueError:
            pass
        else:
            if weekday and weekday.lower() != _DAYS[time.weekday()]:
                count.note("session date names the wrong weekday: the date counts")
            return time.isoformat() if hour else time.date().isoformat()
    count.note("session date is not like '2023/05/20 (Sat) 02:21': left out")
    return None
