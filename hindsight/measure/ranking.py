"""Measures of one query: a ranking of memory ids, best first, against the ids that are relevant.

`recall@k` is the share of the relevant ids in the first k; `recall_any@k` and `recall_all@k` are 1 if any, or all, of
them are there. `ndcg@k` is trec_eval's: gain = relevance, discount 1 / log2(rank + 1), the ideal made from *all* relevant
ids and cut at k. `ndcg_lme@k` is LongMemEval's own formula, which leaves rank 2 undiscounted (discounts 1, 1, 1 / log2(3),
1 / log2(4), ...), so that published numbers can be compared; never mix the two. `mrr` is 1 / rank of the first relevant
id, 0 if there is none. `precision@k` is the relevant share of k (fewer hits than k count as misses, as in trec_eval), `noise@k` the
share of the first k hits that are not relevant: none where nothing was recalled. `recall_any@k` is also called hit rate.

A cutoff in tokens (`recall@512t`) takes hits in their order, as an assembler with that budget does: one that no longer fits is left out.
By it systems whose hits differ in length (turns, facts, chunks) are held against each other at the same cost.

An id that is repeated in a ranking counts once, at its first place. A query without relevant ids has no measures: it must
be counted as skipped, since 0 and 1 would both move the mean.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from hindsight.types import ConfigError

WITH_CUTOFF = ("recall", "recall_any", "recall_all", "precision", "noise", "ndcg", "ndcg_lme")
BY_TOKENS = ("recall", "recall_any", "recall_all", "noise")
WITHOUT_CUTOFF = ("mrr",)
_NAME = re.compile(r"([a-z_]+)(?:@([1-9][0-9]{0,6})(t?))?")


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure and its cutoff, in hits or in tokens; `str` gives the name that `parse` takes."""

    name: str
    cutoff: int | None = None
    tokens: bool = False

    def __str__(self) -> str:
        return self.name if self.cutoff is None else f"{self.name}@{self.cutoff}{'t' * self.tokens}"


def parse(names: Iterable[str]) -> tuple[Measure, ...]:
    """`["recall@10", "mrr"]` -> measures, in that order. Raises ConfigError with a line for every name that is wrong."""
    found: list[Measure] = []
    problems: list[str] = []
    for text in names:
        match = _NAME.fullmatch(text)
        name, cutoff, tokens = match.groups() if match else ("", None, None)
        if tokens and name in WITH_CUTOFF and name not in BY_TOKENS:
            problems.append(f"measure {text!r} has no cutoff in tokens: {', '.join(BY_TOKENS)} have")
        elif (name in WITH_CUTOFF and cutoff) or (name in WITHOUT_CUTOFF and not cutoff):
            found.append(Measure(name, int(cutoff) if cutoff else None, bool(tokens)))
        elif name in WITH_CUTOFF:
            problems.append(f"measure {text!r} has no cutoff: say {name}@10")
        elif name in WITHOUT_CUTOFF:
            problems.append(f"measure {text!r} takes no cutoff: say {name}")
        else:
            known = [f"{name}@k" for name in WITH_CUTOFF] + list(WITHOUT_CUTOFF)
            problems.append(f"no measure {text!r}: known are {', '.join(known)}, with k from 1")
    if problems:
        raise ConfigError(problems)
    return tuple(found)


def measure(
    measures: Iterable[Measure],
    ranking: Sequence[str],
    relevant: Mapping[str, int] | AbstractSet[str],
    tokens: Sequence[int] = (),
) -> dict[str, float]:
    """Measure name -> value in [0, 1], for one query.

    `relevant`: memory id -> relevance (0 or less is not relevant), or a set of ids, each of relevance 1. `tokens`: of each distinct id
    of the ranking, for cutoffs in tokens.
    Raises ValueError if nothing is relevant: every measure is then undefined.
    """
    gains = dict(relevant) if isinstance(relevant, Mapping) else dict.fromkeys(relevant, 1)
    ideal = sorted((gain for gain in gains.values() if gain > 0), reverse=True)
    if not ideal:
        raise ValueError("no relevant memory: the measures of this query are undefined; count it as skipped")
    got = [max(gains.get(memory_id, 0), 0) for memory_id in dict.fromkeys(ranking)]
    counts = [int(gain > 0) for gain in got]
    rooms = {one: _room(one, len(got), tokens) for one in measures}
    return {
        str(one): _value(one, [got[at] for at in room], [counts[at] for at in room], ideal) for one, room in rooms.items()
    }


def covered(
    measures: Iterable[Measure],
    hits: Sequence[AbstractSet[int]],
    evidence: Sequence[AbstractSet[int]],
    tokens: Sequence[int] = (),
) -> dict[str, float]:
    """The same measures for hits that may each hold several pieces of evidence, or none of their own.

    ``hits``: the positions that each draws on, best first; ``evidence``: the positions of each relevant memory, one of which is enough.
    A hit gains what it is the first to cover; with hits of one position each this is ``measure``. A hit that covers several counts each
    at its own rank, so nDCG is cut at 1. Raises ValueError if there is no evidence.
    """
    if not evidence:
        raise ValueError("no relevant memory: the measures of this query are undefined; count it as skipped")
    found: dict[str, float] = {}
    for one in measures:
        left, got = list(evidence), list[int]()
        for place in _room(one, len(hits), tokens):
            still = [piece for piece in left if not piece & hits[place]]
            got.append(len(left) - len(still))
            left = still
        found[str(one)] = min(1.0, _value(one, got, got, [1] * len(evidence)))
    return found


def _room(one: Measure, hits: int, tokens: Sequence[int]) -> list[int]:
    """Places of the hits that count: those that fit in, where the cutoff is in tokens; else the first ``cutoff``."""
    if not one.tokens or one.cutoff is None:
        return list(range(hits))[: one.cutoff]
    if len(tokens) != hits:
        raise ValueError(f"{one}: {len(tokens)} sizes in tokens for {hits} hits")
    left, kept = one.cutoff, list[int]()
    for place, size in enumerate(tokens):
        if size <= left:
            kept.append(place)
            left -= size
    return kept


def _value(one: Measure, got: list[int], counts: list[int], ideal: list[int]) -> float:
    """``got``: gain of each hit within the cutoff; ``counts``: how many relevant ones are found there."""
    found = sum(counts)
    match one.name:
        case "recall":
            return found / len(ideal)
        case "recall_any":
            return float(found > 0)
        case "recall_all":
            return float(found == len(ideal))
        case "precision":
            return sum(count > 0 for count in counts) / (one.cutoff or 1)
        case "noise":
            return sum(count == 0 for count in counts) / max(1, len(counts))
        case "ndcg" | "ndcg_lme":
            late = 1 if one.name == "ndcg_lme" else 0
            return _dcg(got, late) / _dcg(ideal[: one.cutoff], late)
        case "mrr":
            return next((1 / rank for rank, gain in enumerate(got, 1) if gain > 0), 0.0)
    raise AssertionError(one)


def _dcg(gains: list[int], late: int) -> float:
    """`late` 1: the discount of rank r is that of rank r - 1, and rank 1 has none either."""
    return sum(gain / math.log2(max(rank + 1 - late, 2)) for rank, gain in enumerate(gains, 1))
