"""What goes when something is erased: all that hangs together by the events that it was drawn from."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b

from hindsight.io import to_json
from hindsight.memory.forms import trace_of
from hindsight.memory.rows import Rows


def closure(rows: Rows, ids: Sequence[str]) -> tuple[set[str], set[int]]:
    """(memories, events): what hangs together by sources. A turn's text can't be taken out of a fact that was drawn from it."""
    memories, events = set(ids), set[int]()
    fresh = set(ids)
    while fresh:
        found = {row[0] for one in fresh for row in rows.select("sources", "position", "memory_id = ?", (one,))} - events
        events |= found
        drawn = {row[0] for at in found for row in rows.select("sources", "memory_id", "position = ?", (at,))}
        fresh = drawn - memories
        memories |= fresh
    return memories, events


def remove(rows: Rows, change: int, memories: set[str], events: set[int], salt: bytes) -> list[str]:
    """Returns what stands for the memories in the audit log from now on. An event keeps its position and who spoke in which session
    is lost with its text."""
    for memory_id in memories:
        for table in ("memories", "sources", "versions", "vectors"):
            rows.delete(table, "memory_id = ?", (memory_id,))
        rows.update("memories", {"successor": None, "change": change}, "successor = ?", (memory_id,))
    nothing = {"text": None, "calls": "[]", "time": None, "speaker": "", "session": ""}
    for position in events:
        rows.update("events", nothing, "position = ?", (position,))
    marks = {one: f"erased {blake2b(one.encode(), digest_size=8, key=salt).hexdigest()}" for one in memories}
    for number, ids in rows.select("audit", "number, memory_ids"):
        if memories.intersection(known := json.loads(ids)):
            # why it was written or edited may be in the user's own words
            changed = {"memory_ids": to_json([marks.get(one, one) for one in known]), "detail": "{}"}
            rows.update("audit", changed, "number = ?", (number,))
    for number, body in rows.select("traces", "number, trace"):
        trace = trace_of(body)
        shown = tuple(one for one in trace.shown if one.memory_id not in memories)
        cited = tuple(one for one in trace.cited if one not in memories)
        if (shown, cited) != (trace.shown, trace.cited):
            rows.update("traces", {"trace": to_json(replace(trace, shown=shown, cited=cited))}, "number = ?", (number,))
    rows.update("batches", {"why": ""}, "1")
    rows.update("users", {"erased": change}, "1")
    return [marks[one] for one in sorted(memories)]
