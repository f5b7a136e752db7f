"""How fast the memory runtime writes and recalls, each against the plain way of doing it in the same run:

    OMP_NUM_THREADS=1 python bench/memory.py                       a store of 100,000 memories of one user
    OMP_NUM_THREADS=1 python bench/memory.py --sizes 1000 10000

One JSON line a part; milliseconds of wall time, p50 and p99.

- write: one turn and its memory, committed to the disk (``synchronous=FULL``), vectors known; ``plain``: the same as a JSON line that
  is appended to a file and flushed to the disk.
- recall: query in, hits out, and what was recalled written down; query vectors known. ``scan_ms`` scores every memory instead of
  1,000 candidates. ``first_ms``: the first query, which builds the index.
- open: the store's records and vectors into memory.

Memories are turns of the bundled logs with MiniLM's vectors; past their number they come again with a word of their own and slightly
moved vectors. The scorer is the checkpoint that ships.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np

from bench.speed import SEPARATOR, Moved
from hindsight.encoder.cache import CacheConfig
from hindsight.encoder.hf import HfEncoderConfig
from hindsight.io import to_json
from hindsight.logs.native import NativeReader
from hindsight.memory.engine import Engine
from hindsight.memory.store import open_store
from hindsight.retrieval.candidates import CandidatesConfig
from hindsight.scorer.load import load
from hindsight.suite.bundled import FOLDER
from hindsight.system.utility import Utility
from hindsight.types import Count, Query, Turn

BLOCK = 2000


def stream(size: int) -> list[Turn]:
    """Turns of the train people, one after another, then again with a word of their own."""
    found = [
        turn for dialogue in NativeReader().read(FOLDER / "train.jsonl", Count()) for turn in dialogue.turns if turn.text
    ]
    made: list[Turn] = []
    for place, number in zip(range(size), count()):
        turn, again = found[number % len(found)], number // len(found)
        text = f"{turn.text}{SEPARATOR}{number}" if again else turn.text
        made.append(replace(turn, position=place, session=f"{turn.session} {again}", text=text, time=None))
    return made


def times(calls: Sequence[Callable[[], object]]) -> dict[str, float]:
    spent: list[float] = []
    for call in calls:
        began = time.perf_counter()
        call()
        spent.append((time.perf_counter() - began) * 1000)
    return {
        "p50": round(float(np.percentile(spent, 50)), 3),
        "p99": round(float(np.percentile(spent, 99)), 3),
        "n": len(spent),
    }


def queries(turns: Sequence[Turn], n: int, at: int) -> list[Query]:
    asked = [turn.text.split(SEPARATOR)[0] for turn in turns if turn.role == "user" and "?" in turn.text][: 3 * n : 3]
    return [Query(f"q{place}", "ann", "", text, at) for place, text in enumerate(asked)]


def run(size: int, folder: Path) -> None:
    encoder = Moved(CacheConfig().build(HfEncoderConfig().build()))
    scorer = load(Path("default")).scorer
    turns = stream(size + 300)
    path = folder / f"{size}.db"
    with open_store(path) as store:
        own = store.user("ann")
        engine = Engine(own, Utility("ann", scorer), encoder)
        began = time.perf_counter()
        for start in range(0, size, BLOCK):
            engine.record(turns[start : min(size, start + BLOCK)])
        print(to_json({"part": "fill", "size": size, "seconds": round(time.perf_counter() - began, 1)}), flush=True)
        asked = queries(turns, 120, size)
        encoder.encode([query.text for query in asked])

        def recalled(query: Query) -> None:
            engine.read(query, engine.recall(query, 5))

        first = times([lambda: recalled(asked[0])])["p50"]
        ours = times([lambda query=query: recalled(query) for query in asked])
        scan = Utility("ann", scorer, candidates=CandidatesConfig(10**9).build())
        scan.recalled(engine.view, asked[0], 5)
        plain = times([lambda query=query: scan.recalled(engine.view, query, 5) for query in asked[:5]])
        ratio = round(plain["p50"] / ours["p50"], 1)
        print(
            to_json({"part": "recall", "size": size, "ours_ms": ours, "first_ms": first, "scan_ms": plain, "ratio": ratio}),
            flush=True,
        )
        encoder.encode(
            [f"User: {turn.text}" for turn in turns[size:]] + [f"Assistant: {turn.text}" for turn in turns[size:]]
        )
        written = times([lambda turn=turn: engine.record([turn]) for turn in turns[size:]])
        with (folder / "plain.jsonl").open("a", encoding="utf-8") as lines:

            def plainly(turn: Turn) -> None:
                lines.write(to_json(turn) + "\n")
                lines.flush()
                os.fsync(lines.fileno())

            naive = times([lambda turn=turn: plainly(turn) for turn in turns[size:]])
        print(to_json({"part": "write", "size": size, "ours_ms": written, "plain_ms": naive}), flush=True)
    with open_store(path) as store:
        began = time.perf_counter()
        Engine(store.user("ann"), Utility("ann", scorer), encoder)
        print(to_json({"part": "open", "size": size, "seconds": round(time.perf_counter() - began, 1)}), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100_000])
    with tempfile.TemporaryDirectory() as folder:
        for size in parser.parse_args().sizes:
            run(size, Path(folder))


if __name__ == "__main__":
    main()
