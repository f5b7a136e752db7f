"""How fast the likelihoods of the `lm_gain` labeler are, read as one tree a query, against a full prompt at a time:

    OMP_NUM_THREADS=1 python bench/lm_gain.py                              Gemma 3 270m, the bundled logs, float32
    OMP_NUM_THREADS=1 python bench/lm_gain.py --dtype bfloat16 --logs locomo10.json --queries 8

The prompts are those that the labeler asks for: for each query the later turn without a memory, with each of the teacher's best
eight, with three together, and with two of these. ``naive`` is batch 1, the full prompt, ``model(**x).logits`` whole: same
weights, dtype and threads. Two lines of JSON: the eight alone, and all. Processor time; ``seconds`` is of all queries, ``pairs`` a
second counts prompts with a memory; ``apart``: the largest difference of a total, in nats, and a token.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import torch

from hindsight.encoder.hashing import HashingEncoder
from hindsight.io import to_json
from hindsight.labeler.gated import Gated
from hindsight.labeler.lm_gain import context, gains, line, told
from hindsight.lm.local import DEFAULT, Likelihood, LocalLm, LocalModel
from hindsight.logs.locomo import LoCoMoReader
from hindsight.logs.native import NativeReader
from hindsight.logs.stream import by_user
from hindsight.miner.turns import Turns
from hindsight.miner.wording import speaker_of
from hindsight.suite import bundled
from hindsight.types import Count


class Timed:
    """Answers by the tree and by full prompts, and keeps both times."""

    def __init__(self, model: LocalModel) -> None:
        self.model, self.spent, self.apart, self.prompts = model, {True: 0.0, False: 0.0}, [0.0, 0.0], 0

    def likelihoods(self, prefix: str, middles: list[str], target: str) -> list[Likelihood]:
        found: dict[bool, list[Likelihood]] = {}
        for naive in (True, False):
            began = time.process_time()
            found[naive] = self.model.likelihoods(prefix, middles, target, naive)
            self.spent[naive] += time.process_time() - began
        self.prompts += len(middles) - 1
        apart = max(abs(a.total - b.total) for a, b in zip(found[True], found[False]))
        self.apart = [max(self.apart[0], apart), max(self.apart[1], apart / found[True][0].tokens)]
        return found[False]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default=DEFAULT)
    parser.add_argument("--dtype", default="float32", choices=["bfloat16", "float32"])
    parser.add_argument("--logs", type=Path, default=bundled.FOLDER / bundled.LOGS[0], help="native, or locomo10.json")
    parser.add_argument("--queries", type=int, default=6)
    asked = parser.parse_args()
    reader = LoCoMoReader() if asked.logs.suffix == ".json" else NativeReader()
    _, dialogues = next(by_user(reader.read(asked.logs, Count())))
    turns = [turn for dialogue in dialogues for turn in dialogue.turns]
    memories = Turns().mine(turns, "u", "")
    text_of = {memory.memory_id: memory.text for memory in memories}
    labelled = [one for one in Gated().label(turns, memories, HashingEncoder(64)) if one.kind in ("HQ", "HP")]
    step = max(1, len(labelled) // asked.queries)
    model = LocalLm(asked.model, asked.dtype).build()
    model.likelihoods("warm", ["up"], " once")
    for shown in (0, 3):
        timed = Timed(model)
        for one in labelled[::step][: asked.queries]:
            future = turns[one.query.asked_at]
            before = context(one.query, [turns[position] for position in one.query.context])
            best = [line(text_of[use.memory_id]) for use in one.uses[:8]]
            gains(timed, before, best, shown, f"{speaker_of(future)}:", told(future))
        seconds = {"naive": timed.spent[True], "tree": timed.spent[False]}
        row = {
            "part": "eight alone" if shown == 0 else "and three together",
            "model": asked.model,
            "dtype": asked.dtype,
            "threads": torch.get_num_threads(),
            "logs": asked.logs.name,
            "queries": asked.queries,
            "seconds": {name: round(value, 2) for name, value in seconds.items()},
            "pairs_per_second": {name: round(timed.prompts / value, 2) for name, value in seconds.items()},
            "ratio": round(seconds["naive"] / seconds["tree"], 2),
            "apart": {"nats": round(timed.apart[0], 5), "nats_per_token": round(timed.apart[1], 6)},
        }
        print(to_json(row), flush=True)


if __name__ == "__main__":
    main()
