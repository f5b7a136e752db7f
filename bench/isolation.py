"""Does one user's memory ever come up for another? 2,500 adversarial questions a system to one store with 40 users:

    OMP_NUM_THREADS=1 python bench/isolation.py
    OMP_NUM_THREADS=1 python bench/isolation.py --questions 2000 --systems bionic

Users tell the same kinds of things in the same words, each with values of their own; their ids are look-alikes, patterns and pieces of
SQL. A question is another user's memory word for word, their value, their id, the id of their memory, or a mixture. One JSON line a
system: ``foreign`` memories among all that were recalled (wanted: 0), and how often a foreign id was taken by edit, history or forget.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from pathlib import Path

from tqdm import tqdm

from hindsight.encoder.hashing import HashingEncoder
from hindsight.io import to_json
from hindsight.runtime.memory import OpenMemory, Settings
from hindsight.runtime.open import open_memory
from hindsight.types import DataError

SYSTEMS = ("bionic", "reflective", "scheduler", "layered")
ODD = ("ann", "Ann", "ann ", "аnn", "%", "_", "' OR '1'='1", "x'; DROP TABLE memories; --", "ann\0", "../ann", "*", "NULL")
WHAT = ("gate code", "locker number", "dentist", "address", "account number", "seat", "budget", "doctor")


def people(folder: Path, system: str) -> dict[str, OpenMemory]:
    encoder, found = HashingEncoder(32), {}
    for number in range(40):
        user = ODD[number] if number < len(ODD) else f"user{number}"
        memory = found[user] = open_memory(
            folder / "store.db", user, encoder=encoder, settings=Settings(system), clock=lambda: 1.7e9
        )
        for what in WHAT:
            memory.record_event(f"My {what} is {what.upper()[:1]}{number}-{number * 7919 % 10007} from now on.")
        memory.consolidate()
    return found


def question(draw: random.Random, other: str, theirs: OpenMemory) -> tuple[str, str]:
    """(text, id of the memory that it is after)."""
    one = draw.choice(theirs.memories())
    parts = [
        one.text,
        one.text.rsplit(" is ", 1)[-1],
        other,
        one.memory_id,
        f"What is {other}'s {draw.choice(WHAT)}?",
        one.session,
    ]
    return " ".join(draw.sample(parts, draw.randint(1, 3))), one.memory_id


def run(system: str, questions: int, folder: Path) -> dict[str, object]:
    draw, known = random.Random(0), people(folder, system)
    foreign = taken = recalled = 0
    for _ in tqdm(range(questions), system):
        user, other = draw.sample(sorted(known), 2)
        text, memory_id = question(draw, other, known[other])
        found = known[user].recall(text, k=20)
        own = {one.memory_id for one in known[user].memories()}
        recalled += len(found.memories)
        foreign += sum(one.user_id != user or one.memory_id not in own for one in found.memories)
        if memory_id not in own:
            for call in (known[user].history, known[user].forget, lambda one, who=user: known[who].edit(one, "mine")):
                try:
                    call(memory_id)
                    taken += 1
                except DataError:
                    pass
    for memory in known.values():
        memory.close()
    return {
        "system": system,
        "users": len(known),
        "questions": questions,
        "recalled": recalled,
        "foreign": foreign,
        "taken": taken,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=2_500)
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS), choices=SYSTEMS)
    asked = parser.parse_args()
    for system in asked.systems:
        with tempfile.TemporaryDirectory() as folder:
            print(to_json(run(system, asked.questions, Path(folder))), flush=True)


if __name__ == "__main__":
    main()
