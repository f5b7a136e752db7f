"""Do mined episodes begin where users change their goal, and come out as the log says? On SGD's annotation.

    python bench/episode_boundaries.py FOLDER_OF_SGD_JSON

Mining sees the words and the service calls alone. Gold boundaries are user turns at which the active intent moves to
another service ("service"), or changes at all ("intent": a search and then its booking count as two). An episode's boundary
is the turn of its goal, where it is not the dialogue's first. Gold outcomes are the last NOTIFY_SUCCESS or NOTIFY_FAILURE
that falls to an episode (from its goal's turn to the next episode's).
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hindsight.miner.episodes import Episodes
from hindsight.types import Memory, ToolCall, Turn

Record = dict[str, Any]
NOTICES = {"NOTIFY_SUCCESS": "success", "NOTIFY_FAILURE": "failure"}


def turns_of(record: Record) -> list[Turn]:
    turns: list[Turn] = []
    for place, turn in enumerate(record["turns"]):
        role = "user" if turn["speaker"] == "USER" else "assistant"
        calls = tuple(
            ToolCall("", call["method"], call["parameters"], json.dumps(frame.get("service_results"), ensure_ascii=False))
            for frame in turn["frames"]
            if (call := frame.get("service_call"))
        )
        turns.append(Turn(place, "s", role, role, turn["utterance"], calls=calls))
    return turns


def changes(record: Record) -> tuple[set[int], set[int]]:
    """User turns at which the goal moves to another service, and at which the intent changes at all."""
    service, intent = set[int](), set[int]()
    before: set[tuple[str, str]] | None = None
    for place, turn in enumerate(record["turns"]):
        states = [(frame["service"], frame["state"]["active_intent"]) for frame in turn["frames"] if "state" in frame]
        now = {state for state in states if state[1] != "NONE"}
        if not now:
            continue
        if before is not None and now - before:
            intent.add(place)
            if not {name for name, _ in now - before} & {name for name, _ in before}:
                service.add(place)
        before = now
    return service, intent


def outcomes(record: Record, mined: list[Memory]) -> Iterator[tuple[str, str]]:
    """(gold, mined) for each episode to which a notice falls; a notice under no episode is mined as "none"."""
    starts = [memory.sources[0] for memory in mined]
    last: dict[int, str] = {}
    for place, turn in enumerate(record["turns"]):
        for frame in turn["frames"]:
            for action in frame["actions"]:
                if action["act"] in NOTICES:
                    last[sum(start <= place for start in starts) - 1] = NOTICES[action["act"]]
    for owner, gold in last.items():
        yield gold, mined[owner].outcome if owner >= 0 else "none"


def main(folder: Path) -> None:
    counts: Counter[str] = Counter()
    table: Counter[tuple[str, str]] = Counter()
    spent = 0.0
    for path in sorted(folder.glob("dialogues_*.json")):
        for record in json.loads(path.read_text("utf-8")):
            turns = turns_of(record)
            start = time.perf_counter()
            mined = Episodes().mine(turns, "u", "d")
            spent += time.perf_counter() - start
            found = {memory.sources[0] for memory in mined if memory.sources[0] > 0}
            found = {place + (turns[place].role != "user") for place in found}  # a taken offer begins with the user's yes
            service, intent = changes(record)
            counts += Counter(dialogues=1, turns=len(turns), episodes=len(mined), found=len(found))
            counts += Counter(
                service=len(service), service_hit=len(found & service), intent=len(intent), intent_hit=len(found & intent)
            )
            table.update(outcomes(record, mined))
    print(f"{counts['dialogues']} dialogues, {counts['turns']} turns, {counts['episodes']} episodes; "
          f"{1e6 * spent / counts['turns']:.0f} microseconds a turn")  # fmt: skip
    for name in ("service", "intent"):
        precision, recall = counts[f"{name}_hit"] / counts["found"], counts[f"{name}_hit"] / counts[name]
        f1 = 2 * precision * recall / (precision + recall)
        print(f"boundaries, {name:7}: n {counts[name]}, precision {precision:.3f}, recall {recall:.3f}, F1 {f1:.3f}")
    known = sum(n for (_, mined), n in table.items() if mined in NOTICES.values())
    right = sum(n for (gold, mined), n in table.items() if gold == mined)
    print(f"outcomes: n {table.total()}, agree {right / table.total():.3f}, of the known {right / known:.3f}")
    for (gold, mined), n in sorted(table.items()):
        print(f"  {gold} mined as {mined}: {n}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
