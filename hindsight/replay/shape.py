"""A story as the page's data: plain JSON in which each memory's text stands once, whatever shows it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hindsight.io import to_json
from hindsight.memory.record import Record
from hindsight.replay.story import Change, Noted, Recall, Step, Story
from hindsight.report import paragraphs, visible
from hindsight.types import Turn

MOST, MOST_NOTE = 8000, 1000  # characters of a turn and of a memory that are shown
DIGITS = 4


class _Table:
    """What is named again and again, by its number."""

    def __init__(self) -> None:
        self.number: dict[Any, int] = {}

    def __getitem__(self, one: Any) -> int:
        return self.number.setdefault(one, len(self.number))


def body(story: Story, facts: Sequence[tuple[str, str]], cautions: Sequence[str] = ()) -> dict[str, Any]:
    """``facts``: what it is a replay of, heading and line. Any text of others is made legible here, and nowhere else.

    ``notes`` holds the memories, ``names`` the names of contributions, ``sessions`` the day of each: steps refer to them by number.
    """
    notes, names, sessions = _Table(), _Table(), _Table()
    steps = [_step(one, notes, names, sessions) for one in story.steps]
    days: list[str] = [""] * len(sessions.number)
    for one in story.steps:
        if one.turn and one.turn.time and not days[at := sessions[one.turn.session]]:
            days[at] = visible(one.turn.time[:10])
    return {
        "facts": [[visible(name), visible(value)] for name, value in facts],
        "cautions": [visible(line) for line in cautions],
        "ended": story.ended,
        "sessions": days,
        "names": [visible(name) for name in names.number],
        "notes": [_note(one, story.records.get(one)) for one in notes.number],
        "steps": steps,
    }


def _step(step: Step, notes: _Table, names: _Table, sessions: _Table) -> dict[str, Any]:
    said = _turn(step.turn, sessions) if step.turn else {}
    return {
        "at": step.position,
        **said,
        "recalls": [_recall(one, notes, names) for one in step.recalls],
        "changes": [_change(one, notes) for one in step.changes],
        "kept": list(step.kept),
    }


def _turn(turn: Turn, sessions: _Table) -> dict[str, Any]:
    found: dict[str, Any] = {
        "session": sessions[turn.session],
        "role": turn.role,
        "speaker": visible(turn.speaker),
        "text": paragraphs(turn.text, MOST),
    }
    if turn.time:
        found["time"] = visible(turn.time)
    if turn.calls:
        found["calls"] = [
            {
                "name": visible(call.name),
                "arguments": paragraphs(
                    ", ".join(f"{name}: {_plain(value)}" for name, value in call.arguments.items()), MOST_NOTE
                ),
                "result": None if call.result is None else paragraphs(call.result, MOST_NOTE),
                "outcome": call.outcome,
            }
            for call in turn.calls
        ]
    return found


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else to_json(value)


def _recall(recall: Recall, notes: _Table, names: _Table) -> dict[str, Any]:
    hits = [
        {
            "note": notes[hit.note],
            "score": _rounded(hit.score),
            "utility": _rounded(hit.utility),
            "similarity": _rounded(hit.similarity),
            "why": [[names[name], _rounded(value)] for name, value in hit.why.items()],
            "shown": hit.shown,
            "cited": hit.cited,
        }
        for hit in recall.hits
    ]
    return {"trigger": visible(recall.trigger), "hits": [_without_none(hit) for hit in hits]}


def _change(change: Change, notes: _Table) -> dict[str, Any]:
    by = None if change.by is None else notes[change.by]
    return _without_none({"what": change.what, "note": notes[change.note], "by": by, "why": visible(change.why) or None})


def _note(one: Noted, record: Record | None) -> dict[str, Any]:
    """Of an erased memory there is nothing to tell."""
    if record is None:
        return {"version": one[1]}
    memory = record.memory
    return {
        "version": one[1],
        "kind": visible(memory.kind),
        "layer": record.layer,
        "origin": record.origin,
        "about": visible(record.about),
        "outcome": memory.outcome,
        "from": list(memory.sources),
        "text": paragraphs(memory.text, MOST_NOTE),
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS)


def _without_none(one: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in one.items() if value is not None}
