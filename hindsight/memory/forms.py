"""Rows of the store as nouns, and back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from hindsight.io import to_json
from hindsight.memory.record import Record
from hindsight.memory.traces import Shown, Trace
from hindsight.types import Memory, ToolCall, Turn

_LIFE = ("layer", "origin", "about", "value", "version", "written", "read", "reads", "expires", "successor")
_IN_COLUMNS = ("user_id", "memory_id", "status")  # of a Memory
RECORD = ", ".join(("memory_id", "status", "memory", *_LIFE))  # the columns of a Record
EVENT = "position, session, speaker, role, text, time, calls"


def event_row(turn: Turn) -> dict[str, Any]:
    row = {name: getattr(turn, name) for name in ("position", "session", "speaker", "role", "text", "time")}
    return row | {"calls": to_json([asdict(call) for call in turn.calls])}


def turns_of(found: Sequence[tuple[Any, ...]]) -> list[Turn]:
    return [Turn(*row, calls=tuple(ToolCall(**call) for call in json.loads(calls))) for *row, calls in found]


def record_row(record: Record) -> dict[str, Any]:
    memory = record.memory
    body = {name: value for name, value in asdict(memory).items() if name not in _IN_COLUMNS}
    known = {"memory_id": record.memory_id, "status": memory.status, "last": max(memory.sources, default=-1)}
    return known | {name: getattr(record, name) for name in _LIFE} | {"memory": to_json(body)}


def record_of(user_id: str, row: Sequence[Any]) -> Record:
    memory_id, status, body, *life = row
    known = json.loads(body)
    known |= {"sources": tuple(known["sources"]), "tags": tuple(known["tags"])}
    return Record(Memory(memory_id=memory_id, user_id=user_id, status=status, **known), **dict(zip(_LIFE, life)))


def trace_of(body: str) -> Trace:
    known = json.loads(body)
    return Trace(**known | {"shown": tuple(Shown(**one) for one in known["shown"]), "cited": tuple(known["cited"])})
