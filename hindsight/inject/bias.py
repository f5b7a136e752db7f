"""Scores -> what is added to the attention logits, and the token spans that it is added to.

A bias b on a key multiplies its weight before the softmax's normalisation by exp(b), so ``log`` at strength 1 reads: a memory of
half the utility has half the pull. The floor keeps a wrong score from muting a memory: with 0.05 the worst is log 0.05 = -3.0.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor

from hindsight.types import AttentionBias, ConfigError, DataError

Spans = Sequence[tuple[int, int]]  # of one prompt: [start, end) in tokens, one a memory
Formula = Literal["log", "linear", "share", "logits"]
Queries = Literal["all", "after"]
Path = Literal["mask", "head"]


@dataclass(frozen=True)
class Injection:
    """How scores act on attention.

    ``strength``: multiplies the bias. ``formula``: ``log``, strength * log(max(s, floor)); ``linear``, strength * (s - pivot);
    ``share``, see ``share_bias``, where ``target`` is the share; ``logits``: the scores are the bias. ``relative``: s is the score over
    the highest of the memories shown, since calibrated utilities are often small, and the floor would push them all down alike.
    ``layers``: those that are biased, None for all. ``queries``: ``all`` later tokens, or those ``after`` the last memory.
    ``path``: ``mask`` adds to the attention mask; ``head`` adds a dimension to queries and keys (attention.py).
    """

    strength: float = 1.0
    formula: Formula = "log"
    floor: float = 0.05
    pivot: float = 0.5
    target: float = 0.3
    relative: bool = True
    layers: tuple[int, ...] | None = None
    queries: Queries = "all"
    path: Path = "mask"

    def __post_init__(self) -> None:
        wrong = {
            f"strength={self.strength}: wanted a finite number, 0 or more": not 0 <= self.strength < math.inf,
            f"formula={self.formula}: wanted one of {', '.join(get_args(Formula))}": self.formula not in get_args(Formula),
            f"floor={self.floor}: wanted above 0, up to 1": not 0 < self.floor <= 1,
            f"pivot={self.pivot}: wanted 0 to 1": not 0 <= self.pivot <= 1,
            f"target={self.target}: wanted between 0 and 1": not 0 < self.target < 1,
            f"layers={self.layers}: wanted layers' numbers, from 0": any(n < 0 for n in self.layers or ()),
            f"queries={self.queries}: wanted all or after": self.queries not in get_args(Queries),
            f"path={self.path}: wanted mask or head": self.path not in get_args(Path),
            "formula=share with path=head: the share depends on the query, a dimension of the keys can't": (
                self.formula == "share" and self.path == "head"
            ),
        }
        if problems := [problem for problem, holds in wrong.items() if holds]:
            raise ConfigError(problems)


def relative(scores: Tensor) -> Tensor:
    """(memories,) -> the same, over the highest. All zero stays so."""
    return scores / scores.max().clamp(min=torch.finfo(scores.dtype).tiny) if len(scores) else scores


def log_bias(scores: Tensor, strength: float | Tensor = 1.0, floor: float | Tensor = 0.05) -> Tensor:
    """(memories,) in [0, 1] -> (memories,), never above 0."""
    return strength * torch.log(torch.maximum(scores, torch.as_tensor(floor, dtype=scores.dtype, device=scores.device)))


def linear_bias(scores: Tensor, strength: float | Tensor = 1.0, pivot: float = 0.5) -> Tensor:
    """(memories,) in [0, 1] -> (memories,): memories above ``pivot`` are raised, those below are lowered."""
    return strength * (scores - pivot)


def share_bias(mass: Tensor, weights: Tensor, target: float) -> Tensor:
    """The bias after which attention is divided among the memories as ``weights``, and all of them together have at least ``target``.

    ``mass``: (..., memories) share of attention on each without a bias, 0 where it is out of sight; ``weights``: (..., memories), 0
    or more. -> (..., memories), 0 where there is nothing to see. After SpotLight (Venkateswaran and Contractor 2025,
    arXiv 2505.12025), which raises one span to a share by log(target / share); here it is exact, and for many spans.
    """
    least = torch.finfo(mass.dtype).tiny
    seen = (mass > least) & (weights > 0)
    weights = torch.where(seen, weights, 0.0)
    weights = weights / weights.sum(-1, keepdim=True).clamp(min=least)
    together = mass.sum(-1, keepdim=True)
    wanted = torch.maximum(together, (1 - together) * target / (1 - target))  # the other keys keep their weights
    return torch.where(seen, (weights * wanted).clamp(min=least).log() - mass.clamp(min=least).log(), 0.0)


def logits_of(scores: Tensor, injection: Injection) -> Tensor:
    """(memories,) -> (memories,), with grad if the scores have it. Of ``share``: the weights by which attention is divided.

    Raises DataError on a score that is no number, or outside 0..1 where the formula wants a utility.
    """
    values = scores.detach()
    if values.isnan().any():
        raise DataError("scores", scores.tolist(), "numbers, none missing")
    if injection.formula == "logits":
        if (values == math.inf).any():
            raise DataError("scores", scores.tolist(), "logits below infinity")
        return scores * injection.strength if injection.strength != 1 else scores  # 0 * -inf is no number
    if len(values) and not 0 <= float(values.min()) <= float(values.max()) <= 1:
        raise DataError("scores", scores.tolist(), "utilities from 0 to 1")
    scores = relative(scores) if injection.relative else scores
    if injection.formula == "linear":
        return linear_bias(scores, injection.strength, injection.pivot)
    if injection.formula == "share":
        return torch.maximum(scores, scores.new_tensor(injection.floor))
    return log_bias(scores, injection.strength, injection.floor)


def attention_bias(spans: Spans, scores: Sequence[float], injection: Injection | None = None) -> AttentionBias:
    """One prompt's bias as plain values, for a log or for another engine. Raises as ``logits_of`` and ``check`` do."""
    injection = injection or Injection()
    if injection.formula == "share":
        raise ConfigError(["formula=share: it has no logits of its own, they depend on the query"])
    check(spans, len(scores), "spans")
    logits = logits_of(torch.tensor(scores, dtype=torch.float64), injection)
    return AttentionBias(tuple((int(a), int(b)) for a, b in spans), tuple(logits.tolist()))


def check(spans: Spans, scores: int, place: str) -> None:
    """Raises DataError unless there is one span a score, none is empty or before 0, and no two overlap."""
    if len(spans) != scores:
        raise DataError(place, f"{len(spans)} spans and {scores} scores", "one span a score")
    for start, end in spans:
        if not 0 <= start < end:
            raise DataError(place, (start, end), "spans [start, end) of one token or more, from 0")
    ordered = sorted(spans)
    for (start, end), following in itertools.pairwise(ordered):
        if following[0] < end:
            raise DataError(place, f"{(start, end)} and {tuple(following)}", "spans that do not overlap")
