"""Do mined episodes begin where users change their goal, and come out as the log says? On annotated task dialogues.

    python bench/episode_boundaries.py FOLDER_OF_SGD_JSON [CROSSWOZ.json.zip]

Mining sees the words and the service calls alone. Gold boundaries of SGD are user turns at which the active intent moves to
another service ("service"), or changes at all ("intent": a search and then its booking count as two); of CrossWOZ (Chinese)
those at which the domain of the user's acts changes. An episode's boundary is the turn of its goal, where it is not the
dialogue's first; "every request" is the baseline that begins anew at each request or question. Gold outcomes are the last
NOTIFY_SUCCESS or NOTIFY_FAILURE that falls to an episode (from its goal's turn to the next episode's).
"""

from __future__ import annotations

import json
import sys
import time
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hindsight.miner.episodes import Episodes
from hindsight.miner.signals import hear
from hindsight.types import Memory, ToolCall, Turn

Record = dict[str, Any]
NOTICES = {"NOTIFY_SUCCESS": "success", "NOTIFY_FAILURE": "failure"}


def sgd(folder: Path) -> Iterator[Record]:
    for path in sorted(folder.glob("dialogues_*.json")):
        yield from json.loads(path.read_text("utf-8"))


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


def crosswoz(path: Path) -> Iterator[tuple[list[Turn], set[int]]]:
    """(turns, user turns at which the domain of what is asked changes)."""
    with zipfile.ZipFile(path) as packed:
        records: dict[str, Record] = json.loads(packed.read(packed.namelist()[0]))
    for _, record in sorted(records.items()):
        turns, found = list[Turn](), set[int]()
        before = set[str]()
        for place, message in enumerate(record["messages"]):
            role = "user" if message["role"] == "usr" else "assistant"
            turns.append(Turn(place, "s", role, role, message["content"]))
            acts = [(act[0], act[1]) for act in message["dialog_act"]] if role == "user" else []
            now = {domain for act, domain in acts if act == "Request"} or {domain for act, domain in acts if act == "Inform"}
            if now and before and not now & before:
                found.add(place)
            before = now or before
        yield turns, found


def boundaries(turns: list[Turn], mined: list[Memory]) -> set[int]:
    """User turns at which a goal begins, but the first. A taken offer begins with the user's yes."""
    starts = {memory.sources[0] for memory in mined} - {0}
    return {place + (turns[place].role != "user") for place in starts}


def requests(turns: list[Turn]) -> set[int]:
    return {turn.position for turn in turns[1:] if turn.role == "user" and hear(turn.text).request}


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


def show(name: str, counts: Counter[str], found: str) -> None:
    hits, precision = counts[f"{name} {found}"], counts[f"{name} {found}"] / counts[found]
    recall = hits / counts[name]
    f1 = 2 * precision * recall / (precision + recall)
    print(f"  {name:8} {found:14} n {counts[name]}, precision {precision:.3f}, recall {recall:.3f}, F1 {f1:.3f}")


def main(folder: Path, chinese: Path | None) -> None:
    counts, table, spent = Counter[str](), Counter[tuple[str, str]](), 0.0
    for record in sgd(folder):
        turns = turns_of(record)
        start = time.process_time()
        mined = Episodes().mine(turns, "u", "d")
        spent += time.process_time() - start
        service, intent = changes(record)
        counts += Counter(dialogues=1, turns=len(turns), written=len(mined), service=len(service), intent=len(intent))
        for name, found in (("episodes", boundaries(turns, mined)), ("every request", requests(turns))):
            counts += Counter(
                {name: len(found), f"service {name}": len(found & service), f"intent {name}": len(found & intent)}
            )
        table.update(outcomes(record, mined))
    print(f"SGD: {counts['dialogues']} dialogues, {counts['turns']} turns, {counts['written']} episodes; "
          f"{1e6 * spent / counts['turns']:.0f} microseconds a turn")  # fmt: skip
    for name in ("service", "intent"):
        show(name, counts, "episodes")
        show(name, counts, "every request")
    right = sum(n for (gold, mined), n in table.items() if gold == mined)
    known = sum(n for (_, mined), n in table.items() if mined in NOTICES.values())
    of = {gold: sum(n for (one, _), n in table.items() if one == gold) for gold in NOTICES.values()}
    recalls = [table[gold, gold] / n for gold, n in of.items()]
    print(f"outcomes: n {table.total()}, agree {right / table.total():.3f} (always success: {of['success'] / table.total():.3f}), "
          f"of the known {right / known:.3f}, balanced {sum(recalls) / 2:.3f} (always success: .5)")  # fmt: skip
    for (gold, mined), n in sorted(table.items()):
        print(f"  {gold} mined as {mined}: {n}")
    if chinese:
        counts = Counter[str]()
        for turns, gold in crosswoz(chinese):
            counts += Counter(dialogues=1, domain=len(gold))
            mined = Episodes().mine(turns, "u", "d")
            for name, found in (("episodes", boundaries(turns, mined)), ("every request", requests(turns))):
                counts += Counter({name: len(found), f"domain {name}": len(found & gold)})
        print(f"CrossWOZ: {counts['dialogues']} dialogues")
        show("domain", counts, "episodes")
        show("domain", counts, "every request")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
