"""tau-bench (Yao et al. 2024, https://arxiv.org/abs/2406.12045): agent trajectories with tool calls and a reward, and its worked
examples. A customer who calls in several tasks and trials is one user.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hindsight.io import read_json_lines
from hindsight.logs import openai
from hindsight.logs.raw import at_least_one, files_of, name_of, read_json_list, verdict
from hindsight.types import Count, Dialogue

WANTED = 'tau-bench: a JSON list of trajectories with "traj" and "reward", or JSON lines with "messages_display"'
_STOP = "###STOP###"  # the simulated customer hangs up
_LINE = re.compile(r"^(user|assistant|tool|system): ", re.M)


@dataclass(frozen=True)
class TauBenchReader:
    """The reward is a last turn, of role ``tool``. Neither the task's instruction nor its right actions are read."""

    def build(self) -> TauBenchReader:
        return self

    def read(self, path: Path, count: Count) -> Iterator[Dialogue]:
        """A file, or a folder's ``*.json`` and ``*.jsonl``. Raises DataError where no trajectory is kept."""
        yield from at_least_one(_read(path, count), path, count, WANTED)


def _read(path: Path, count: Count) -> Iterator[Dialogue]:
    for file in files_of(path, ("*.json", "*.jsonl")):
        records = read_json_lines(file, count) if file.suffix == ".jsonl" else enumerate(read_json_list(file))
        seen: set[str] = set()
        for number, record in records:
            place = f"{file.name}:{number}"
            found = _trajectory(record, place, count) if isinstance(record, dict) else "no JSON object"
            if isinstance(found, Dialogue) and found.dialogue_id in seen:
                found = "the same task and trial again"
            if isinstance(found, str):
                count.skip(found, place)
                continue
            seen.add(found.dialogue_id)
            count.keep()
            yield found


def _trajectory(record: dict[str, Any], place: str, count: Count) -> Dialogue | str:
    shown = record.get("messages_display")
    messages = _messages(shown, count) if isinstance(shown, str) else record.get("traj")
    if not isinstance(messages, list):
        return 'no list "traj"'
    task, trial = name_of(record.get("task_id")), name_of(record.get("trial"))
    info = record.get("info")
    details = info.get("task") if isinstance(info, dict) else None
    customer = name_of(details.get("user_id")) if isinstance(details, dict) else ""
    body = {
        "messages": [_without_stop(message) for message in messages],
        "conversation_id": f"tau-bench {place.partition(':')[0]} {task} {trial}" if task and trial else place,
        "user": f"tau-bench {customer}" if customer else f"tau-bench {place}",
    }
    found = openai.parse(body, place, count)
    if isinstance(found, str):
        return found
    turns, reward = found.dialogue.turns, record.get("reward")
    if isinstance(reward, int | float) and not isinstance(reward, bool):
        turns += (verdict(len(turns), turns[-1].session, reward >= 1),)
    elif not isinstance(shown, str):
        count.note("trajectory without a reward: its outcome is unknown", place=place)
    return replace(found.dialogue, turns=turns)


def _without_stop(message: Any) -> Any:
    if not isinstance(message, dict) or not isinstance(text := message.get("content"), str) or _STOP not in text:
        return message
    return message | {"content": text.replace(_STOP, "").strip()}


def _messages(shown: str, count: Count) -> list[dict[str, str]]:
    """A worked example: ``role: text``, one turn after the other. Its calls are lost: ``assistant: None`` stands for each."""
    parts = _LINE.split(shown)
    found = [{"role": role, "content": text.strip()} for role, text in zip(parts[1::2], parts[2::2])]
    kept = [message for message in found if (message["role"], message["content"]) != ("assistant", "None")]
    if len(kept) < len(found):
        count.note("call of a worked example left out: the file does not say which", len(found) - len(kept))
    return kept
