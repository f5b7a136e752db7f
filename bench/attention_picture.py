"""Draws docs/attention.svg: a bundled train person's question, the memories that are recalled for it, and the attention on each.

    OMP_NUM_THREADS=1 python bench/attention_picture.py [--model DIR] [--question N] [--condition log:1]

``--question``: which of the train people's questions with an overwritten value among what is recalled (and an English text), in the
order of the suite. The share of attention is that of the prompt's last token, over all layers and heads.
"""

from __future__ import annotations

import argparse
from itertools import islice
from pathlib import Path

import torch

from hindsight.cli import recipe_of
from hindsight.config import settings
from hindsight.inject.attention import biased
from hindsight.inject.mass import attention_mass
from hindsight.inject.prompt import batched
from hindsight.io import write_text
from hindsight.lm.local import DEFAULT as READER
from hindsight.lm.local import LocalLm
from hindsight.reading.answers import holds
from hindsight.reading.conditions import fitting, parse, request
from hindsight.reading.recalled import recall_user
from hindsight.report.attention import picture
from hindsight.runs import scorer_at
from hindsight.scorer.load import DEFAULT
from hindsight.suite.injection import InjectionSuite
from hindsight.types import Count, DataError

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default=READER, help="what lm/local.py takes")
    parser.add_argument("--scorer", type=Path, default=Path(DEFAULT))
    parser.add_argument("--question", type=int, default=0)
    parser.add_argument("--condition", default="log:1")
    parser.add_argument("--to", type=Path, default=ROOT / "docs" / "attention.svg")
    asked = parser.parse_args()
    recipe, scorer = recipe_of(settings("eval", [])), scorer_at(asked.scorer).scorer
    found = []
    for one in InjectionSuite(split="train").questions(Count()):
        if one.old and one.case.query.text.isascii():
            recalled = recall_user(recipe, scorer, 1000, 6, [one.case])[0]
            texts = [memory.text for memory in recalled.memories]
            if all(any(holds(text, value) for text in texts) for value in (one.old[0], one.target)):
                found.append((one, recalled))
        if len(found) > asked.question:
            break
    chosen = next(islice(found, asked.question, None), None)
    if chosen is None:
        raise DataError("--question", asked.question, f"below {len(found)}")
    one, recalled = chosen
    tokenizer, model = LocalLm(asked.model, "float32").build().loaded
    tokenizer.chat_template = None
    text, condition = one.case.query.text, parse(asked.condition)
    fits = fitting(tokenizer, text, recalled, 512)
    shown = request(condition, tokenizer, text, fits, 512, lambda _: False)
    if shown.injection is None:
        raise DataError("--condition", asked.condition, "a bias, such as log:1")
    batch = batched([shown.prompt], 0, device=model.device)
    (before,) = attention_mass(model, batch)
    with torch.no_grad(), biased(model, batch.spans, [shown.scores], shown.injection):
        (after,) = attention_mass(model, batch)
    oldest_first = sorted(zip(fits.memories, fits.utilities), key=lambda pair: pair[0].sources)
    memories, utilities = [memory.text for memory, _ in oldest_first], [utility for _, utility in oldest_first]
    write_text(asked.to, picture(memories, utilities, before.tolist(), after.tolist(), f"{text} ({asked.condition})"))
    print(f"{asked.to}: {text!r} -> {one.target!r}, once {one.old[0]!r}")


if __name__ == "__main__":
    main()
