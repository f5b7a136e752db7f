"""LoCoMo (locomo10.json): two people who chat over months. One sample is one user with one dialogue of many sessions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from hindsight.logs.raw import MONTHS, at_least_one, clean, files_of, name_of, read_json_list
from hindsight.types import Count, Dialogue, Turn, opaque

WANTED = "a LoCoMo file: a JSON list of samples with a conversation of session_1, session_2, ..."
_TIME = re.compile(r"(\d{1,2}):(\d\d)\s*([ap])m on (\d{1,2}) ([a-z]+),? (\d{4})", re.I)


@dataclass(frozen=True)
class LoCoMoReader:
    def build(self) -> LoCoMoReader:
        return self

    def read(self, path: Path, count: Count) -> Iterator[Dialogue]:
        for dialogue, _, _ in keyed(path, count):
            yield dialogue


def keyed(path: Path, count: Count) -> Iterator[tuple[Dialogue, list[str], dict[str, Any]]]:
    """(dialogue, ``dia_id`` of each turn, the raw sample with its questions). A folder: its ``locomo*.json``."""
    return at_least_one(_keyed(path, count), path, count, WANTED)


def _keyed(path: Path, count: Count) -> Iterator[tuple[Dialogue, list[str], dict[str, Any]]]:
    seen: set[str] = set()
    for file in files_of(path, ("locomo*.json",)):
        for number, sample in enumerate(read_json_list(file)):
            if not isinstance(sample, dict) or not isinstance(sample.get("conversation"), dict):
                count.skip('no "conversation"', f"{file.name}:{number}")
                continue
            name = name_of(sample.get("sample_id")) or f"{file.name}:{number}"
            turns, keys = _turns(sample["conversation"], name, count)
            if not turns or name in seen:
                count.skip("the same sample_id again" if turns else "no turns", f"{file.name}:{number}")
                continue
            seen.add(name)
            count.keep()
            user = opaque("user", "locomo", name)
            yield Dialogue(opaque("dialogue", "locomo", name), user, turns, f"{file.name}:{number}"), keys, sample


def _turns(conversation: dict[str, Any], name: str, count: Count) -> tuple[tuple[Turn, ...], list[str]]:
    sessions = {key for key, value in conversation.items() if re.fullmatch(r"session_\d+", key) and isinstance(value, list)}
    dates = {key.removesuffix("_date_time") for key in conversation if re.fullmatch(r"session_\d+_date_time", key)}
    if dates - sessions:
        count.note("session date without a session: left out", len(dates - sessions))
    turns: list[Turn] = []
    keys: list[str] = []
    for session in sorted(sessions, key=lambda key: int(key.removeprefix("session_"))):
        if not conversation[session]:
            count.note("session without turns: left out")
        time = time_of(conversation.get(f"{session}_date_time"), count)
        for line in conversation[session]:
            if not isinstance(line, dict) or not name_of(line.get("speaker")):
                count.note("turn left out: no speaker")
                continue
            text, caption = line.get("text") or "", line.get("blip_caption")
            text = f"{text} [photo: {caption}]" if caption else str(text)
            speaker = clean(name_of(line["speaker"]), count)
            mark = opaque("session", "locomo", name, session)
            turns.append(Turn(len(turns), mark, speaker, "user", clean(text.strip(), count), time))
            keys.append(name_of(line.get("dia_id")))
    return tuple(turns), keys


def time_of(value: object, count: Count) -> str | None:
    """LoCoMo's dates, whatever the machine's language. No zone is known, so none is given. Noted where it is no such date.

    >>> time_of("1:56 pm on 8 May, 2023", Count()), time_of("12:09 am on 13 September, 2023", Count())
    ('2023-05-08T13:56:00', '2023-09-13T00:09:00')
    """
    if found := _TIME.fullmatch(str(value).strip()):
        hour, minute, half, day, month, year = found.groups()
        if month.lower() in MONTHS and 1 <= int(hour) <= 12:
            hours = int(hour) % 12 + 12 * (half.lower() == "p")
            try:
                return datetime(int(year), MONTHS.index(month.lower()) + 1, int(day), hours, int(minute)).isoformat()
            except ValueError:
                pass
    count.note("session without a date" if value is None else "session date is not like '1:56 pm on 8 May, 2023': left out")
    return None
