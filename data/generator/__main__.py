"""``python -m data.generator [--to DIR] [--seed N]``: writes train.jsonl, test.jsonl, gold.jsonl, told.jsonl and split.json.

Same seed, same bytes. Another seed makes other people, of whom nobody has trained on anything: give ``--to`` with it.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from pathlib import Path
from typing import Any

from data.generator import SEED
from data.generator.persona import personas
from data.generator.story import live
from data.generator.writer import Shared
from hindsight.io import to_json, write_json_lines, write_text

BUNDLED = Path(__file__).resolve().parent.parent / "bundled"
Rows = list[dict[str, Any]]


def make(seed: int) -> tuple[Rows, Rows, Rows, dict[str, Any]]:
    """Sessions in the order of their time, gold in the order of asking, every value where it was first told, and who is held out."""
    people = personas(seed)
    shared, popular = Shared(), Counter[str]()
    order = random.Random(f"{seed} order").sample(people, len(people))
    written = [live(persona, shared, seed, popular) for persona in order]
    sessions = sorted(
        (s for writer in written for s in writer.sessions), key=lambda s: (s["turns"][0]["time"], s["dialogue_id"])
    )
    rows = sorted((row for writer in written for row in writer.gold), key=lambda row: (row["session"], row["turn"]))
    for number, row in enumerate(rows, 1):
        row["query_id"] = f"q{number:04d}"
    told = sorted((row for writer in written for row in writer.told), key=lambda row: (row["session"], row["turn"]))
    split = {name: sorted(p.user_id for p in people if p.split == name) for name in ("train", "test")}
    about = {p.user_id: {"kind": p.kind, "language": p.language} for p in sorted(people, key=lambda p: p.user_id)}
    return sessions, rows, told, {**split, "users": about}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m data.generator", description=__doc__)
    parser.add_argument("--to", type=Path, default=BUNDLED)
    parser.add_argument("--seed", type=int, default=SEED, help=f"{SEED} is the bundled people's")
    given = parser.parse_args()
    folder = given.to
    if given.seed != SEED and folder == BUNDLED:
        parser.error("--seed: other people go to another folder: give --to")
    sessions, rows, told, split = make(given.seed)
    for name in ("train", "test"):
        write_json_lines(folder / f"{name}.jsonl", [s for s in sessions if s["user_id"] in split[name]])
    write_json_lines(folder / "gold.jsonl", rows)
    write_json_lines(folder / "told.jsonl", told)
    write_text(folder / "split.json", to_json(split, indent=1) + "\n")
    turns = sum(len(session["turns"]) for session in sessions)
    print(f"{len(sessions)} sessions, {turns} turns, {len(rows)} queries in {folder}")


if __name__ == "__main__":
    main()
