"""The native log: JSON lines, one dialogue session a line. data/FORMAT.md describes every field."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hindsight.logs.raw import Record, arguments_of, clean, name_of, read_jsonl, same_call, time_of, trace_of
from hindsight.types import OUTCOMES, ROLES, Count, Dialogue, ToolCall, Turn, opaque

WANTED = 'native JSON lines: {"dialogue_id": ..., "user_id": ..., "turns": [{"role": ..., "text": ...}]}'


@dataclass(frozen=True)
class NativeReader:
    def build(self) -> NativeReader:
        return self

    def read(self, path: Path, count: Count) -> Iterator[Dialogue]:
        """A file, or a folder's ``*.jsonl``, ``*.jsonl.gz``, ``*.json`` by name. Raises DataError if none is kept."""
        yield from read_jsonl(path, count, parse, WANTED)


def parse(record: dict[str, Any], place: str, count: Count) -> Record | str:
    """A decoded record -> the dialogue, or why it cannot be kept."""
    name, user, lines = name_of(record.get("dialogue_id")), name_of(record.get("user_id")), record.get("turns")
    if not isinstance(lines, list):
        return 'no list "turns"'
    if not name or not user:
        return 'no "dialogue_id"' if not name else 'no "user_id"'
    session = name_of(record.get("session")) or name
    turns: list[Turn] = []
    for line in lines:
        turn = _turn(line, (user, name, session), len(turns), count)
        if isinstance(turn, str):
            count.note(f"turn left out: {turn}")
        else:
            turns.append(turn)
    if not turns:
        return "no turns"
    trace = b"".join(trace_of(t.role, t.speaker, t.text, t.session, t.time, *map(same_call, t.calls)) for t in turns)
    dialogue = Dialogue(opaque("dialogue", user, name), opaque("user", user), tuple(turns), place)
    return Record(dialogue, opaque(user, name), trace)


def _turn(line: Any, ids: tuple[str, str, str], position: int, count: Count) -> Turn | str:
    if not isinstance(line, dict):
        return "not a JSON object"
    role, text = line.get("role"), line.get("text")
    if role not in ROLES:
        return f"role is none of {', '.join(ROLES)}"
    if text is not None and not isinstance(text, str):
        return '"text" is not a string'
    user, dialogue, session = ids
    calls = line.get("calls") or []
    if not isinstance(calls, list):
        count.note('tool calls left out: "calls" is not a list')
        calls = []
    made = [_call(call, (user, dialogue, f"{position}.{i}"), count) for i, call in enumerate(calls)]
    return Turn(
        position=position,
        session=opaque("session", user, dialogue, name_of(line.get("session")) or session),
        speaker=clean(name_of(line.get("speaker")), count) or role,
        role=role,
        text=clean(text or "", count),
        time=time_of(line.get("time"), count),
        calls=tuple(call for call in made if call is not None),
    )


def _call(call: Any, ids: tuple[str, str, str], count: Count) -> ToolCall | None:
    name = name_of(call.get("name")) if isinstance(call, dict) else ""
    if not name:
        count.note('tool call left out: no "name"')
        return None
    result, outcome = call.get("result"), call.get("outcome") or "unknown"
    if outcome not in OUTCOMES:
        count.note(f"outcome is none of {', '.join(OUTCOMES)}: now unknown")
        outcome = "unknown"
    if result is not None and not isinstance(result, str):
        result = json.dumps(result, ensure_ascii=False)
    call_id = opaque("call", ids[0], ids[1], name_of(call.get("call_id")) or ids[2])
    result = None if result is None else clean(result, count)
    return ToolCall(call_id, clean(name, count), arguments_of(call.get("arguments"), count), result, outcome)
