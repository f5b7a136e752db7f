"""The ways to show a language model what was recalled, by name, and what each makes of one question's memories.

    none                no memory
    plain               as they were said, oldest first, all alike
    best-first          by utility; worst-first: the other way round, so that the best stands next to the question
    marks               the utility in words, in each memory's mark
    drop:.05            memories below that utility are left out; drop:.3:relative: below that share of the highest
    log:1               the attention bias of that strength; linear:5; share:.3 (the share of attention that memories get at least)
    log:1+drop:.05      several at once
    oracle+log:1        the same with gold for a score: 1 where the memory answers the question, else 0
    shuffled+log:1      with the scores of this prompt in another order
    uniform+log:1       every memory has the mean of the biases: what becomes of it where it can't tell memories apart

Further words after a bias: ``raw`` (utilities as they are, not over the highest), ``full.3`` (as they are, but from .3 on a utility
counts as 1), ``floor.1``, ``pivot.3``, ``after`` (only queries after the last memory are biased).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch

from hindsight.inject.bias import Injection, logits_of
from hindsight.inject.prompt import Message, Prompt, assemble, line
from hindsight.reading.recalled import Recalled
from hindsight.types import ConfigError, Memory

SYSTEM = "Answer the question in a few words. Use the memories of earlier conversations."
BEGUN = (
    " According to the memories, the answer is"  # what every reply begins with: a small model else says that it doesn't know
)
WORDS = (
    (0.5, "likely useful"),
    (0.2, "perhaps useful"),
    (0.0, "unlikely to be useful"),
)  # from this share of the highest utility on
ORDERS = ("time", "best-first", "worst-first")
FORMULAS = ("log", "linear", "share")
SOURCES = ("real", "oracle", "shuffled", "uniform")
WANTED = "none, plain, best-first, worst-first, marks, drop:.05, log:1, linear:5, share:.3, oracle, shuffled, uniform, joined by +"


@dataclass(frozen=True)
class Condition:
    """``drop``: memories below it are left out; ``relative``: it is a share of the highest utility. ``full``: the utility that counts
    as 1, 0 for none. ``scores``: whose they are."""

    name: str
    shows: bool = True
    order: Literal["time", "best-first", "worst-first"] = "time"
    marks: bool = False
    drop: float = 0.0
    relative: bool = False
    scores: Literal["real", "oracle", "shuffled", "uniform"] = "real"
    injection: Injection | None = None
    full: float = 0.0

    @property
    def by_chance(self) -> bool:
        return self.scores == "shuffled"


@dataclass(frozen=True)
class Request:
    """A prompt, and of each of its spans the score that ``injection`` makes a bias of; None: no bias."""

    prompt: Prompt
    scores: tuple[float, ...] = ()
    injection: Injection | None = None


def parse(name: str) -> Condition:
    """Raises ConfigError on a name that is none."""
    found = Condition(name)
    try:
        for part in name.split("+"):
            found = _with(found, *part.split(":"))
    except (ValueError, ConfigError) as error:
        raise ConfigError([f"condition {name!r}: {error}; wanted {WANTED}"]) from error
    if found.scores != "real" and not (found.injection or found.drop):
        raise ConfigError([f"condition {name!r}: {found.scores} scores of nothing; wanted a bias or a drop with them"])
    return found


def _with(found: Condition, word: str, *options: str) -> Condition:
    if word in (*FORMULAS, "drop") and not options:
        raise ValueError(f"no number after {word}")
    if word in FORMULAS:
        return _biased(found, word, *options)
    if word == "drop":
        return replace(found, drop=float(options[0]), relative=_relative(options[1:]))
    if options or word not in ("none", "plain", "marks", *ORDERS[1:], *SOURCES[1:]):
        raise ValueError(f"no {':'.join((word, *options))!r}")
    if word in SOURCES:
        return replace(found, scores=word)
    if word in ORDERS:
        return replace(found, order=word)
    return replace(found, shows=found.shows and word != "none", marks=found.marks or word == "marks")


def _relative(options: Sequence[str]) -> bool:
    if list(options) not in ([], ["relative"]):
        raise ValueError(f"no {':'.join(options)!r} of drop")
    return bool(options)


def _biased(found: Condition, formula: Any, number: str, *options: str) -> Condition:
    one: dict[str, Any] = {"formula": formula, "target" if formula == "share" else "strength": float(number)}
    for option in options:
        word = option.rstrip("0123456789.")
        value = option[len(word) :]
        if option in ("raw", "after"):
            one |= {"relative": False} if option == "raw" else {"queries": "after"}
        elif word == "full" and 0 < float(value) <= 1:
            one["relative"] = False
            found = replace(found, full=float(value))
        elif word in ("floor", "pivot"):
            one[word] = float(value)
        else:
            raise ValueError(f"no {option!r} of a bias")
    return replace(found, injection=Injection(**one))


def fitting(tokenizer: Any, question: str, recalled: Recalled, budget: int, marks: bool = False) -> Recalled:
    """The best memories that fit into ``budget`` tokens together, whatever their order: the same for every condition but ``marks``,
    whose marks cost tokens too."""
    places = list(range(len(recalled.memories)))
    longest = max((word for _, word in WORDS), key=len) if marks else ""
    lines = [shown_line(n + 1, recalled.memories[n], longest) for n in places]
    fits = set(assemble(tokenizer, messages(question), lines, budget).shown)
    kept = [n for n in places if n in fits]
    return Recalled(tuple(recalled.memories[n] for n in kept), tuple(recalled.utilities[n] for n in kept))


def messages(question: str) -> list[Message]:
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": question}]


def shown_line(number: int, memory: Memory, mark: str = "") -> str:
    """``- [memory 1 | 2023-05-08 | likely useful] Ann: I moved to Oslo.`` The session's id is left out: it is a hash, and dear."""
    marks = " | ".join(filter(None, ((memory.time or "")[:10], mark)))
    return line(number, replace(memory, session="", time=marks or None))


def request(
    condition: Condition, tokenizer: Any, question: str, fits: Recalled, budget: int, gold: Callable[[Memory], bool], seed: int = 0,
    query_id: str = "",
) -> Request:  # fmt: skip
    """What the model reads under a condition. ``fits``: as ``fitting`` gives it. ``gold``: whether a memory answers the question; it is
    asked by ``oracle`` alone. ``seed`` with ``query_id``: of the shuffled scores."""
    scores = _scores(condition, fits, gold, random.Random(f"{seed} {query_id}"))
    top = max(scores, default=0.0)
    least = condition.drop * (top if condition.relative else 1.0)
    kept = [n for n in range(len(fits.memories)) if condition.shows and scores[n] >= least]
    if condition.order != "time":
        kept.sort(key=lambda n: -scores[n], reverse=condition.order == "worst-first")
    else:
        kept.sort(key=lambda n: fits.memories[n].sources)
    words = [next(word for share, word in WORDS if scores[n] >= share * top) if condition.marks else "" for n in kept]
    lines = [shown_line(place, fits.memories[n], word) for place, (n, word) in enumerate(zip(kept, words), 1)]
    # what fits is known by now: the numbers in the marks may cost a token more or less
    prompt = assemble(tokenizer, messages(question), lines, budget + 8 * len(lines))
    prompt = prompt.followed(tokenizer(BEGUN, add_special_tokens=False)["input_ids"])
    chosen = tuple(scores[kept[place]] for place in prompt.shown)
    if condition.injection is None or not chosen:
        return Request(prompt)
    if condition.full:
        chosen = tuple(min(1.0, score / condition.full) for score in chosen)
    if condition.scores == "uniform":
        return _uniform(prompt, chosen, condition.injection)
    return Request(prompt, chosen, condition.injection)


def _scores(condition: Condition, fits: Recalled, gold: Callable[[Memory], bool], draw: random.Random) -> list[float]:
    if condition.scores == "oracle":
        return [float(gold(memory)) for memory in fits.memories]
    scores = list(fits.utilities)
    if condition.scores == "shuffled":
        draw.shuffle(scores)
    return scores


def _uniform(prompt: Prompt, scores: tuple[float, ...], injection: Injection) -> Request:
    if injection.formula == "share":
        return Request(prompt, (1.0,) * len(scores), injection)
    mean = float(logits_of(torch.tensor(scores, dtype=torch.float64), injection).mean())
    return Request(prompt, (mean,) * len(scores), replace(injection, formula="logits", strength=1.0))
