"""``python -m data.agent_tasks [--to DIR] [--seed N]``: writes train.jsonl, test.jsonl and gold.jsonl. Same seed, same bytes.

Train and test rounds share no word list: other tools, names, requests and phrases, so what is learned on one can't be a template of the other.
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path
from typing import Any

from data.agent_tasks import ROUNDS, SEED, TASKS, rounds
from data.agent_tasks.log import Log
from hindsight.io import write_json_lines

HERE = Path(__file__).resolve().parent
Rows = list[dict[str, Any]]


def make(seed: int, split: str) -> tuple[Rows, Rows]:
    """(sessions by round and time, gold in the same order)."""
    words = json.loads((HERE / "content" / f"{split}.json").read_text("utf-8"))
    sessions: Rows = []
    gold: Rows = []
    for task in TASKS:
        for number in range(ROUNDS):
            log = Log(f"{split}-{task}-{number + 1:02}", words, random.Random(f"{seed} {split} {task} {number}"))
            getattr(rounds, task)(log, number)
            sessions += log.sessions
            gold += [row | {"split": split} for row in log.gold]
    return sessions, gold


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m data.agent_tasks", description=__doc__)
    parser.add_argument("--to", type=Path, default=HERE)
    parser.add_argument("--seed", type=int, default=SEED)
    given = parser.parse_args()
    if given.seed != SEED and given.to == HERE:
        parser.error("--seed: other rounds go to another folder: give --to")
    rows: Rows = []
    for split in ("train", "test"):
        sessions, gold = make(given.seed, split)
        write_json_lines(given.to / f"{split}.jsonl", sessions)
        rows += gold
        print(f"{split}: {len(sessions)} sessions, {sum(len(one['turns']) for one in sessions)} turns, {len(gold)} moments")
    write_json_lines(given.to / "gold.jsonl", [row | {"query_id": f"t{n:04}"} for n, row in enumerate(rows, 1)])


if __name__ == "__main__":
    main()
