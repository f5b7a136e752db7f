"""``python -m data.recall.asked --to FILE``: the train people's log as it is where they really ask: each question of the train world stands in
the stream as a turn of the user, at its moment, and the assistant answers it. Questions that nothing answers get a reply that says so.

From such a log hindsight labels can be made as from any other: what a reply used is seen in the reply. Nothing of the world ``test`` is read.
"""

from __future__ import annotations

import argparse
import random
from collections import defaultdict
from pathlib import Path
from typing import Any

from data.recall.content import HERE
from hindsight.io import read_json_lines, write_json_lines
from hindsight.types import Count

SAYS = {
    "en": ("It is {}.", "You told me: {}.", "{}.", "That would be {}.", "I have it down as {}."),
    "zh": ("是{}。", "你说过：{}。", "{}。", "我记得是{}。"),
}
UNKNOWN = {"en": "I don't know that, you have not told me.", "zh": "这个我不知道，你没有告诉过我。"}
JOINED = {"en": " and ", "zh": "和"}


def asked(folder: Path = HERE) -> list[dict[str, Any]]:
    """Sessions in the native format, with the questions and replies in them."""
    rows: dict[tuple[str, int], list[dict[str, Any]]] = defaultdict(list)
    for _, row in read_json_lines(folder / "gold.jsonl", Count()):
        if row["split"] == "train":
            rows[row["session"], row["turn"]].append(row)
    rng, found = random.Random(0), []
    for _, session in read_json_lines(folder / "train.jsonl", Count()):
        turns: list[dict[str, Any]] = []
        for place, turn in enumerate(session["turns"]):
            for row in rows.get((session["dialogue_id"], place), ()):
                language, time = row["language"], turn["time"]
                values = JOINED[language].join(row["answers"])
                says = rng.choice(SAYS[language]).format(values) if row["relevant"] else UNKNOWN[language]
                turns.append({"role": "user", "text": row["question"], "time": time})
                turns.append({"role": "assistant", "text": says, "time": time})
            turns.append(turn)
        found.append(session | {"turns": turns})
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m data.recall.asked", description=__doc__)
    parser.add_argument("--to", type=Path, required=True)
    sessions = asked()
    write_json_lines(to := parser.parse_args().to, sessions)
    print(f"{to}: {len(sessions)} sessions, {sum(len(one['turns']) for one in sessions)} turns")


if __name__ == "__main__":
    main()
