"""Schema-Guided Dialogue: task dialogues with service calls. Of the annotation only calls and their results are read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hindsight.logs.raw import arguments_of, at_least_one, clean, files_of, name_of, read_json_list
from hindsight.types import Count, Dialogue, Role, ToolCall, Turn, opaque

WANTED = "SGD: dialogues_*.json, each a JSON list of dialogues with turns of speaker, utterance and frames"
_ROLES: dict[str, Role] = {"USER": "user", "SYSTEM": "assistant"}


@dataclass(frozen=True)
class SGDReader:
    """Each dialogue is a user of its own: the set names none."""

    def build(self) -> SGDReader:
        return self

    def read(self, path: Path, count: Count) -> Iterator[Dialogue]:
        for dialogue, _, _ in keyed(path, count):
            yield dialogue


def keyed(path: Path, count: Count) -> Iterator[tuple[Dialogue, list[int], dict[str, Any]]]:
    """(dialogue, each turn's place in the raw ``turns``, the raw dialogue with its annotation). A folder: one split."""
    return at_least_one(_keyed(path, count), path, count, WANTED)


def _keyed(path: Path, count: Count) -> Iterator[tuple[Dialogue, list[int], dict[str, Any]]]:
    seen: set[str] = set()
    for file in files_of(path, ("dialogues_*.json",)):
        for number, raw in enumerate(read_json_list(file)):
            if not isinstance(raw, dict) or not isinstance(raw.get("turns"), list):
                count.skip('no list "turns"', f"{file.name}:{number}")
                continue
            name = name_of(raw.get("dialogue_id")) or f"{file.name}:{number}"
            turns, keys = _turns(raw["turns"], name, count)
            if not turns or name in seen:
                count.skip("the same dialogue_id again" if turns else "no turns", f"{file.name}:{number}")
                continue
            seen.add(name)
            count.keep()
            yield (
                Dialogue(opaque("dialogue", "sgd", name), opaque("user", "sgd", name), turns, f"{file.name}:{number}"),
                keys,
                raw,
            )


def _turns(lines: list[Any], name: str, count: Count) -> tuple[tuple[Turn, ...], list[int]]:
    turns: list[Turn] = []
    keys: list[int] = []
    session = opaque("session", "sgd", name)
    for place, line in enumerate(lines):
        role = _ROLES.get(name_of(line.get("speaker"))) if isinstance(line, dict) else None
        if role is None or not isinstance(line.get("utterance"), str):
            count.note("turn left out: speaker is neither USER nor SYSTEM, or utterance is no text")
            continue
        frames = line.get("frames")
        frames = [frame for frame in frames if isinstance(frame, dict)] if isinstance(frames, list) else []
        calls = [_call(frame, opaque("call", "sgd", name, place, i), count) for i, frame in enumerate(frames)]
        made = tuple(call for call in calls if call is not None)
        turns.append(Turn(len(turns), session, role, role, clean(line["utterance"], count), None, made))
        keys.append(place)
    return tuple(turns), keys


def _call(frame: dict[str, Any], call_id: str, count: Count) -> ToolCall | None:
    """An empty list of results is how SGD's services fail (in dev and test always so); a full one does not say."""
    call, results = frame.get("service_call"), frame.get("service_results")
    if not isinstance(call, dict) or not name_of(call.get("method")):
        if call is not None:
            count.note("service call left out: no method")
        return None
    arguments = arguments_of(call.get("parameters"), count)
    result = None if results is None else json.dumps(clean(results, count), ensure_ascii=False)
    return ToolCall(
        call_id, clean(name_of(call["method"]), count), arguments, result, "failure" if results == [] else "unknown"
    )
