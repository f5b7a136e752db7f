"""``python -m data.recall [--to DIR]``: writes train.jsonl, test.jsonl and gold.jsonl. Same program, same bytes."""

from __future__ import annotations

import argparse
import random
from pathlib import Path
from typing import Any

from data.recall import ROUNDS, SEED
from data.recall.content import HERE, read
from data.recall.plan import questions, values
from data.recall.stream import write
from hindsight.io import write_json_lines


def make(split: str) -> tuple[list[Any], list[Any]]:
    """(sessions, gold rows) of a world's rounds."""
    worlds = {language: read(split, language) for language in ("en", "zh")}
    sessions: list[Any] = []
    rows: list[Any] = []
    for number, languages in enumerate(ROUNDS[split], 1):
        rng = random.Random(f"{SEED} {split} {number}")
        asked = questions(languages, worlds, rng)
        for i, (language, own, known) in enumerate(zip(languages, asked, values(asked, rng))):
            own_rng = random.Random(f"{SEED} {split} {number} {i}")
            made, gold = write(f"{split}-{number}-{i + 1:02d}", worlds[language], own, known, own_rng)
            sessions += made
            rows += [row | {"query_id": f"{split}-{number}-{i + 1:02d}-{n + 1:02d}", "round": number, "split": split}
                     for n, row in enumerate(gold)]  # fmt: skip
    return sessions, rows


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m data.recall", description=__doc__)
    parser.add_argument("--to", type=Path, default=HERE)
    folder = parser.parse_args().to
    gold: list[Any] = []
    for split in ("train", "test"):
        sessions, rows = make(split)
        write_json_lines(folder / f"{split}.jsonl", sessions)
        gold += rows
        print(
            f"{split}: {len(sessions)} sessions, {sum(len(one['turns']) for one in sessions)} turns, {len(rows)} questions"
        )
    write_json_lines(folder / "gold.jsonl", gold)


if __name__ == "__main__":
    main()
