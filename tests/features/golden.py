"""Feature values of a small stream, as they were when the results in README were measured: a change of speed changes none.

python tests/features/golden.py    writes golden.json anew, after a change that is meant to change values
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from hindsight.encoder.hashing import HashingEncoder
from hindsight.features import matrix
from hindsight.features.moment import Moment
from hindsight.features.replay import pool, replay
from hindsight.miner.turns import Turns
from hindsight.types import Floats, Ints, Query
from tests.system.stream import query, turns

ENCODER = HashingEncoder(32)
COLUMNS = tuple(sorted(matrix.GROUP_OF))
PATH = Path(__file__).with_name("golden.json")
STREAM = turns(48, seed=4)
ACT = "user: When is the lesson in Porto?\nassistant: Monday at 8:30 pm, is that right?\nuser: Yes, book it there."
# query, hidden rows, rows kept (None: the pool)
CASES: tuple[tuple[Query, tuple[int, ...], tuple[int, ...] | None], ...] = (
    (query("When did User see the red museum in Lisbon?", 30), (), None),
    (query("What did you tell me about tea and rain?", 30), (4, 11, 12), None),
    (query(ACT, 48, context=(45, 46, 47), goal="train ticket to Porto\na piano lesson on Monday"), (), None),
    (query(ACT, 40, context=(37, 38, 39), goal="train ticket"), (5, 20), (0, 3, 5, 6, 7, 19, 20, 21, 33, 36)),
    (query("zebra?", 12), (), None),
    (query("Lisbon", 1), (), None),
)


def features(columns: tuple[str, ...] = COLUMNS) -> list[Floats]:
    """One (candidates, columns) a case."""
    memories = Turns().mine(STREAM, "u", "")
    found: dict[int, Floats] = {}
    for place, past in replay(STREAM, memories, ENCODER, [asked.asked_at for asked, _, _ in CASES]):
        asked, hidden, kept = CASES[place]
        rows: Ints = pool(past, asked) if kept is None else np.array(kept, np.int64)
        found[place] = matrix.compute(Moment(past, asked, rows, frozenset(hidden)), columns)
    return [found[place] for place in range(len(CASES))]


if __name__ == "__main__":
    values = [[[round(float(v), 6) for v in row] for row in case.T] for case in features()]
    PATH.write_text(json.dumps({"columns": COLUMNS, "cases": values}).replace("]], [[", "]],\n[[") + "\n")
