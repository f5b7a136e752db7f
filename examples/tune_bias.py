"""Tunes the bias's strength and floor on what was said next in the bundled train logs; no question and no gold is read.

    OMP_NUM_THREADS=1 python examples/tune_bias.py [--model DIR] [--users 10] [--each 4] [--passes 3]

The moments are those that the ``values`` labeler found a use for: a later turn of the assistant says, or calls a tool with, a value that
was told before. The recalled memories stand in the prompt with their calibrated utilities; what is maximised is the later turn's
likelihood, and users that were not tuned on choose among the passes. Your own logs: --logs FILE (native format).
"""

from __future__ import annotations

import argparse
from itertools import islice
from pathlib import Path

from hindsight.cli import recipe_of
from hindsight.config import settings
from hindsight.inject import tune_bias
from hindsight.inject.prompt import assemble
from hindsight.inject.tune import Example
from hindsight.io import to_json
from hindsight.labeler.lm_gain import told
from hindsight.labeler.values import Values
from hindsight.lm.local import DEFAULT as READER
from hindsight.lm.local import LocalLm
from hindsight.logs.native import NativeReader
from hindsight.miner.turns import Turns
from hindsight.reading.conditions import SYSTEM, shown_line
from hindsight.reading.recalled import recall_user
from hindsight.runs import scorer_at
from hindsight.scorer.load import DEFAULT
from hindsight.suite.gold import FOLDER
from hindsight.suite.past import Prefix, streams
from hindsight.types import Case, Count, DataError, opaque

BUDGET, LATER = 384, 32  # tokens of memories, and of a later turn


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logs", type=Path, default=FOLDER / "train.jsonl")
    parser.add_argument("--model", default=READER, help="what lm/local.py takes")
    parser.add_argument("--scorer", type=Path, default=Path(DEFAULT))
    parser.add_argument("--users", type=int, default=10, help="half of them choose among the passes")
    parser.add_argument("--each", type=int, default=4, help="moments of each user")
    parser.add_argument("--passes", type=int, default=3)
    asked = parser.parse_args()
    tokenizer, model = LocalLm(asked.model, "float32").build().loaded
    tokenizer.chat_template = None
    recipe, scorer = recipe_of(settings("eval", [])), scorer_at(asked.scorer).scorer
    users: list[list[Example]] = []
    for stream in islice(streams(NativeReader().read(asked.logs, Count())), asked.users):
        labelled = Values().label(stream.turns, Turns().mine(stream.turns, stream.user_id, ""), recipe.encoding.build())
        chosen = sorted((one for one in labelled if one.uses), key=lambda one: opaque("tune", one.query.query_id))[
            : asked.each
        ]
        queries = sorted((one.query for one in chosen), key=lambda query: query.asked_at)
        later = {turn.position: turn for turn in stream.turns}
        cases = [Case(query, Prefix(stream.turns, query.asked_at), ()) for query in queries if query.asked_at in later]
        own = []
        for case, found in zip(cases, recall_user(recipe, scorer, 1000, 8, cases)):
            lines = [shown_line(number, memory) for number, memory in enumerate(found.memories, 1)]
            messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": case.query.text}]
            prompt = assemble(tokenizer, messages, lines, BUDGET)
            words = tokenizer(f" {told(later[case.query.asked_at])}", add_special_tokens=False)["input_ids"][:LATER]
            if prompt.shown and words:
                own.append(Example(prompt, tuple(found.utilities[n] for n in prompt.shown), tuple(words)))
        users.append(own)
    half = len(users) // 2
    examples, held_out = ([one for own in some for one in own] for some in (users[:half], users[half:]))
    if not examples or not held_out:
        raise DataError(asked.logs, f"{len(examples)} moments, and {len(held_out)} held out", "two users with uses, or more")
    tuned = tune_bias(model, examples, held_out, passes=asked.passes, batch=4)
    print(to_json({"examples": len(examples), "held_out": len(held_out), **{
        name: getattr(tuned, name) for name in ("strength", "floor", "before", "after", "curve")}}, indent=1))  # fmt: skip


if __name__ == "__main__":
    main()
