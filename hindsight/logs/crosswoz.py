"""CrossWOZ (Zhu et al. 2020, https://aclanthology.org/2020.tacl-1.19): Chinese task dialogues over hotels, sights, restaurants,
metro and taxi. Of the annotation only queries of the database are read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hindsight.logs.raw import at_least_one, clean, files_of, name_of, read_json_object
from hindsight.types import Count, Dialogue, Role, ToolCall, Turn, opaque

WANTED = "CrossWOZ: train.json, val.json or test.json (or one in a zip), a JSON object of dialogues with messages of role and content"
SELECTED = "selectedResults"
SEVERAL = ("推荐菜", "酒店设施")  # slots that hold several values, with spaces between
_ROLES: dict[str, Role] = {"usr": "user", "sys": "assistant"}

Arguments = dict[str, Any]


@dataclass(frozen=True)
class CrossWOZReader:
    """Each dialogue is a user of its own: the set names two crowd workers, not whose life it is."""

    def build(self) -> CrossWOZReader:
        return self

    def read(self, path: Path, count: Count) -> Iterator[Dialogue]:
        for dialogue, _, _ in keyed(path, count):
            yield dialogue


def keyed(path: Path, count: Count) -> Iterator[tuple[Dialogue, list[int], dict[str, Any]]]:
    """(dialogue, each turn's place in the raw ``messages``, the raw dialogue with its annotation)."""
    return at_least_one(_keyed(path, count), path, count, WANTED)


def _keyed(path: Path, count: Count) -> Iterator[tuple[Dialogue, list[int], dict[str, Any]]]:
    seen: set[str] = set()
    for file in files_of(path, ("*.json", "*.json.zip")):
        for name, raw in read_json_object(file):
            place = f"{file.name}:{name}"
            if not isinstance(raw, dict) or not isinstance(raw.get("messages"), list):
                count.skip('no list "messages"', place)
                continue
            turns, keys = _turns(raw["messages"], name, count)
            if not turns or name in seen:
                count.skip("the same dialogue again" if turns else "no turns", place)
                continue
            seen.add(name)
            count.keep()
            yield Dialogue(opaque("dialogue", "crosswoz", name), opaque("user", "crosswoz", name), turns, place), keys, raw


def _turns(messages: list[Any], name: str, count: Count) -> tuple[tuple[Turn, ...], list[int]]:
    turns: list[Turn] = []
    keys: list[int] = []
    session = opaque("session", "crosswoz", name)
    asked: dict[str, Arguments] = {}  # domain -> what its query holds so far
    for place, message in enumerate(messages):
        role = _ROLES.get(name_of(message.get("role"))) if isinstance(message, dict) else None
        if role is None or not isinstance(message.get("content"), str):
            count.note("turn left out: role is neither usr nor sys, or content is no text")
            continue
        calls = _calls(message, asked, opaque("call", "crosswoz", name, place), count) if role == "assistant" else ()
        turns.append(Turn(len(turns), session, role, role, clean(message["content"], count), None, calls))
        keys.append(place)
    return tuple(turns), keys


def _calls(message: dict[str, Any], asked: dict[str, Arguments], call_id: str, count: Count) -> tuple[ToolCall, ...]:
    """A domain is queried where its state changes: first with what the user wants (``sys_state_init``), then, where the wizard
    had to relax it, with less (``sys_state``). The log keeps what was chosen of the rows; that is the last query's result.
    A query that chose nothing failed where the turn says so (``NoOffer``); else its result is unknown."""
    first, last = message.get("sys_state_init"), message.get("sys_state")
    if not isinstance(first, dict) or not isinstance(last, dict):
        count.note("assistant turn without sys_state_init and sys_state: no query read")
        return ()
    refused = {act[1] for act in acts_of(message) if act[0] == "NoOffer"}
    made: list[ToolCall] = []
    for domain in dict.fromkeys((*first, *last)):
        wanted, chosen = _arguments(first.get(domain), count), _arguments(last.get(domain), count)
        queries = [wanted] if wanted and wanted != asked.get(domain, {}) else []
        queries += [chosen] if chosen and chosen != wanted else []
        asked[domain] = chosen
        for number, arguments in enumerate(queries):
            rows = (last.get(domain) or {}).get(SELECTED) if number == len(queries) - 1 else None
            failed = not rows and domain in refused
            result = json.dumps(clean(rows or [], count), ensure_ascii=False) if rows or failed else None
            own = opaque(call_id, domain, number)
            made.append(ToolCall(own, clean(domain, count), arguments, result, "failure" if failed else "unknown"))
    return tuple(made)


def _arguments(state: object, count: Count) -> Arguments:
    if not isinstance(state, dict):
        return {}
    known = {slot: clean(value, count) for slot, value in state.items() if slot != SELECTED and value}
    return {slot: value.split() if slot in SEVERAL and isinstance(value, str) else value for slot, value in known.items()}


def acts_of(message: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    """(act, domain, slot, value) of each whole act of a message's annotation."""
    acts = message.get("dialog_act")
    found = [act for act in acts if isinstance(act, list) and len(act) == 4] if isinstance(acts, list) else []
    return [(str(a), str(b), str(c), str(d)) for a, b, c, d in found]
