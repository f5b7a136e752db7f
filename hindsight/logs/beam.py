"""BEAM: long projects of a user with an assistant. One chat is one user; its batches are sessions with a day each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from hindsight.logs.raw import MONTHS, at_least_one, clean, name_of, read_json_list
from hindsight.types import Count, DataError, Dialogue, Turn, opaque

WANTED = "BEAM: a chat.json, or a folder with SIZE/NUMBER/chat.json in it (a JSON list of batches of turns)"
# Says which bullet of the plan made the turn. Assistants sometimes repeat it.
_MARKER = re.compile(r"\s*->->[^\n]*\s*\Z")


@dataclass(frozen=True)
class BeamReader:
    def build(self) -> BeamReader:
        return self

    def read(self, path: Path, count: Count) -> Iterator[Dialogue]:
        for dialogue, _, _ in keyed(path, count):
            yield dialogue


def keyed(path: Path, count: Count) -> Iterator[tuple[Dialogue, list[str], Path]]:
    """(dialogue, message id of each turn as text, the chat's folder, where ``probing_questions`` lies), by folder number."""
    return at_least_one(_keyed(path, count), path, count, WANTED)


def _keyed(path: Path, count: Count) -> Iterator[tuple[Dialogue, list[str], Path]]:
    files = [path] if path.is_file() else sorted(path.rglob("chat.json"), key=_by_number)
    if not files:
        raise DataError(path, "no chat.json" if path.is_dir() else "no such file or folder", WANTED)
    for file in files:
        folder = file.resolve().parent
        name = f"{folder.parent.name}/{folder.name}"
        turns, keys = _turns(list(read_json_list(file)), name, count)
        if not turns:
            count.skip("no batches of turns", f"{name}/{file.name}")
            continue
        count.keep()
        source = f"{name}/{file.name}"
        yield Dialogue(opaque("dialogue", "beam", name), opaque("user", "beam", name), turns, source), keys, file.parent


def _by_number(file: Path) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in file.parts]


def _turns(batches: list[Any], name: str, count: Count) -> tuple[tuple[Turn, ...], list[str]]:
    turns: list[Turn] = []
    keys: list[str] = []
    for place, batch in enumerate(batches):
        if not isinstance(batch, dict) or not isinstance(batch.get("turns"), list):
            count.note("batch left out: no list of turns")
            continue
        time = time_of(batch.get("time_anchor"), count)
        session = opaque("session", "beam", name, place)
        for message in (message for group in batch["turns"] for message in (group if isinstance(group, list) else [group])):
            role = message.get("role") if isinstance(message, dict) else None
            if role not in ("user", "assistant") or not isinstance(message.get("content"), str):
                count.note("message left out: role is neither user nor assistant, or content is no text")
                continue
            time = time_of(message.get("time_anchor"), count) or time
            turns.append(Turn(len(turns), session, role, role, clean(_MARKER.sub("", message["content"]), count), time))
            keys.append(name_of(message.get("id")))
    return tuple(turns), keys


def time_of(value: object, count: Count) -> str | None:
    """A day such as ``March-15-2024`` -> ``2024-03-15``, whatever the machine's language. None where there is none.

    >>> time_of("March-15-2024", Count()), time_of(None, Count())
    ('2024-03-15', None)
    """
    if value is None:
        return None
    month, _, rest = str(value).strip().partition("-")
    day, _, year = rest.partition("-")
    if month.lower() in MONTHS and day.isdecimal() and year.isdecimal():
        try:
            return date(int(year), MONTHS.index(month.lower()) + 1, int(day)).isoformat()
        except ValueError:
            pass
    count.note("time anchor is not like March-15-2024: left out")
    return None
