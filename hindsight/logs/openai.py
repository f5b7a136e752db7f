"""OpenAI chat as JSON lines: one conversation a line, ``{"messages": [...]}``. data/FORMAT.md lists the fields that are read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hindsight.logs.raw import Record, arguments_of, clean, name_of, read_jsonl, same_call, time_of, trace_of
from hindsight.types import Count, Dialogue, Outcome, Role, ToolCall, Turn, opaque

WANTED = 'OpenAI chat as JSON lines: {"messages": [{"role": ..., "content": ...}]}'
_ROLES: dict[str, Role] = {
    "user": "user", "assistant": "assistant", "system": "system", "developer": "system", "tool": "tool", "function": "tool",
}  # fmt: skip
_TIMES = ("time", "timestamp", "created_at", "create_time", "created")
_FAILED = re.compile(r"\s*(?:\w*(?:error|exception)\s*:|traceback \(most recent call last\)|fatal:|exit code:? [1-9])", re.I)
_WORKED = re.compile(r"\s*exit code:? 0\b", re.I)


@dataclass(frozen=True)
class OpenAIReader:
    """A tool's message stays a turn of its own (role ``tool``), and its text is also the result of the call it names."""

    def build(self) -> OpenAIReader:
        return self

    def read(self, path: Path, count: Count) -> Iterator[Dialogue]:
        """A file, or a folder's ``*.jsonl``, ``*.jsonl.gz``, ``*.json`` by name. Raises DataError if none is kept.

        A conversation without an id gets one from its words; one that names no user is a user of its own (noted).
        """
        yield from read_jsonl(path, count, parse, WANTED)


def outcome_of(result: str) -> Outcome:
    """What a tool's result says about itself, only where it says so plainly.

    >>> [outcome_of(text) for text in ('{"ok": false}', "ValueError: no", '{"status": "ok"}', "0 errors, build ok", "done")]
    ['failure', 'failure', 'success', 'unknown', 'unknown']
    """
    try:
        body = json.loads(result)
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        return "failure" if _FAILED.match(result) else "success" if _WORKED.match(result) else "unknown"
    status, ended = str(body.get("status")).lower(), body.get("exit_code", body.get("returncode"))
    known = isinstance(ended, int) and not isinstance(ended, bool)
    said = [body.get("ok"), body.get("success")]
    broken = body.get("error") or body.get("errors") or body.get("is_error") or body.get("isError")
    if broken or any(one is False for one in said) or status in ("error", "failed", "failure") or (known and ended != 0):
        return "failure"
    return "success" if any(one is True for one in said) or status in ("ok", "success", "succeeded") or known else "unknown"


def parse(record: dict[str, Any], place: str, count: Count) -> Record | str:
    """A decoded record -> the dialogue, or why it cannot be kept."""
    messages = record.get("messages")
    if not isinstance(messages, list):
        return 'no list "messages"'
    turns: list[Turn] = []
    calls: dict[str, tuple[int, int]] = {}  # a call's id -> its turn and its place there, until it is answered
    for message in messages:
        turn = _turn(message, len(turns), count)
        if isinstance(turn, str):
            count.note(f"message left out: {turn}")
            continue
        if turn.role == "tool":
            answered = calls.pop(name_of(message.get("tool_call_id")), None)
            if answered is None:
                count.note("tool result whose call is not in the conversation: kept as a turn alone")
            else:
                _answer(turns, answered, turn, failed=message.get("is_error") is True or message.get("status") == "error")
        for i, call in enumerate(turn.calls):
            if call.call_id:
                calls[call.call_id] = (turn.position, i)
        turns.append(turn)
    if not turns:
        return "no messages"
    trace = b"".join(trace_of(turn.role, turn.speaker, turn.text, turn.time, *map(same_call, turn.calls)) for turn in turns)
    name = _found(record, "conversation_id", "id", "dialogue_id", "thread_id")
    named = name or opaque(trace.hex())
    user = _found(record, "user_id", "user")
    if not user:
        count.note("no user named: the conversation is a user of its own")
    session = opaque("session", user, named, _found(record, "session_id", "session"))
    time = time_of(next((record[key] for key in _TIMES if record.get(key)), None), count)
    dialogue = Dialogue(
        dialogue_id=opaque("dialogue", user, named),
        user_id=opaque("user", user) if user else opaque("user", "of conversation", named),
        turns=tuple(
            replace(turn, session=session, time=turn.time or time, calls=_opaque_calls(turn, user, named)) for turn in turns
        ),
        source=place,
    )
    return Record(dialogue, opaque(user, name), trace)


def _found(record: dict[str, Any], *keys: str) -> str:
    """The first of these names that the record or its metadata holds."""
    inner = record.get("metadata")
    places = [record, inner] if isinstance(inner, dict) else [record]
    return next((name for key in keys for place in places if (name := name_of(place.get(key)))), "")


def _turn(message: Any, position: int, count: Count) -> Turn | str:
    role = _ROLES.get(name_of(message.get("role"))) if isinstance(message, dict) else None
    if role is None:
        return "its role is unknown" if isinstance(message, dict) else "not a JSON object"
    text = _text(message.get("content"), count) or _text(message.get("refusal"), count)
    calls = message.get("tool_calls") or []
    if not isinstance(calls, list):
        count.note('tool calls left out: "tool_calls" is not a list')
        calls = []
    if isinstance(message.get("function_call"), dict):  # the older form, which has no id to pair by
        calls = [*calls, {"function": message["function_call"]}]
    made = [call for call in (_call(call, count) for call in calls) if call is not None]
    time = time_of(next((message[key] for key in _TIMES if message.get(key)), None), count)
    return Turn(position, "", clean(name_of(message.get("name")), count) or role, role, text, time, tuple(made))


def _text(content: Any, count: Count) -> str:
    """Plain text, or its parts on a line each; pictures, sound and files become a mark, and their bytes go nowhere."""
    if content is None or isinstance(content, str):
        return clean(content or "", count)
    if not isinstance(content, list):
        count.note("content left out: neither text nor a list of parts")
        return ""
    lines = []
    for part in content:
        words = part if isinstance(part, str) else None
        if isinstance(part, dict):
            words = next((part[key] for key in ("text", "refusal") if isinstance(part.get(key), str)), None)
            if words is None:
                words = f"[{name_of(part.get('type')).removeprefix('input_').removesuffix('_url') or 'part'}]"
        if words is None:
            count.note("content part left out: neither text nor an object")
        else:
            lines.append(words)
    return clean("\n".join(lines), count)


def _call(call: Any, count: Count) -> ToolCall | None:
    made: Any = (call.get("function") or call.get("custom")) if isinstance(call, dict) else None
    made = made if isinstance(made, dict) else {}
    name = name_of(made.get("name"))
    if not name:
        count.note("tool call left out: no function name")
        return None
    arguments = arguments_of(made.get("arguments", made.get("input")), count)
    return ToolCall(name_of(call.get("id")), clean(name, count), arguments)


def _answer(turns: list[Turn], at: tuple[int, int], result: Turn, failed: bool) -> None:
    position, place = at
    calls = list(turns[position].calls)
    calls[place] = replace(calls[place], result=result.text, outcome="failure" if failed else outcome_of(result.text))
    turns[position] = replace(turns[position], calls=tuple(calls))


def _opaque_calls(turn: Turn, user: str, name: str) -> tuple[ToolCall, ...]:
    return tuple(
        replace(call, call_id=opaque("call", user, name, turn.position, i, call.call_id))
        for i, call in enumerate(turn.calls)
    )
