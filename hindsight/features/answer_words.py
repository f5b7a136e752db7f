"""Which words an answer to such a question has: learned from logs, in any language, and no word list by hand.

In every log people ask and are answered. From those pairs (``train/answer_words.py``) comes how much more often a word stands in
the answer to a question with some word or pair of words than elsewhere: "how many" goes with "two", "when" with "next", "week"
and "##th". A memory gets the weight of the words it holds, each times its rarity among this user's memories.

A table by counts is IBM's translation model (Berger et al. 2000, "Bridging the lexical chasm") cut down to what several corpora
agree on. The one in ``answer_words.json`` was made by ``hindsight words`` from the logs that it names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import numpy as np

from hindsight.text import SPACELESS_START, words
from hindsight.types import DataError, Floats

FILE = Path(__file__).with_suffix(".json")
RAREST = 0.01
CLIP = 60  # words of an utterance that are read: later ones say little of what it answers
Table = Mapping[
    str, Mapping[str, float]
]  # form or pair of forms in a question -> form in its answer -> log-odds above chance
_DIGIT = re.compile(r"\d")


def forms(text: str) -> tuple[str, ...]:
    """Words as classes, in order: lower case, digits as ``#`` (and ``<number>`` beside it), ``<Name>`` beside a capitalised word
    within a sentence; pairs of characters where a script has no spaces. Function words are kept: here they tell the most."""
    found: list[str] = []
    for place, word in enumerate(words(text)[:CLIP]):
        lower = word.lower()
        if SPACELESS_START.match(word):
            found += [two for two in (word[i : i + 2] for i in range(max(1, len(word) - 1))) if two.isalnum()]
        elif _DIGIT.search(word):
            found += [_DIGIT.sub("#", lower), "<number>"]
        else:
            found.append(lower)
            if place and word[0].isupper() and lower.split("'")[0] != "i":
                found.append("<Name>")
    return tuple(found)


def asks(text: str) -> tuple[str, ...]:
    """Forms of a question and its pairs of neighbours, each once."""
    single = forms(text)
    return tuple(dict.fromkeys((*single, *(f"{a} {b}" for a, b in pairwise(single)))))


@lru_cache(maxsize=4)
def read(path: Path = FILE) -> Table:
    """What ``write`` wrote. Raises DataError on anything else."""
    try:
        body = json.loads(path.read_text("utf-8"))["weights"]
        return {ask: dict(zip(row[::2], row[1::2], strict=True)) for ask, row in body.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(path, error, "a table of answer words, as `hindsight words to=FILE` writes it") from error


@lru_cache(maxsize=4)
def vocabulary(path: Path = FILE) -> frozenset[str]:
    """All forms that an answer may show."""
    return frozenset(form for row in read(path).values() for form in row)


@lru_cache(maxsize=4096)
def wanted(text: str) -> Mapping[str, float]:
    """Form -> weight, for one question; none for what stands in the question itself: that is a match, and counted elsewhere."""
    table, asked, found = read(), asks(text), dict[str, float]()
    for ask in asked:
        for form, weight in table.get(ask, {}).items():
            found[form] = max(found.get(form, 0.0), weight)
    return {form: weight for form, weight in found.items() if form not in asked}


def weigh(frequency: Sequence[int], total: int) -> Floats:
    """(forms,) how much each says, by how many of this user's memories show it."""
    return -np.log(np.maximum(np.asarray(frequency, np.float32) / max(1, total), RAREST)).astype(np.float32)
