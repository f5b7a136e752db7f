"""Strength and floor of the bias, learned from what was said next: the later turn is the label, its likelihood the measure.

    fitted = tune_bias(model, examples, held_out)
    biased(model, spans, scores, Injection(strength=fitted.strength, floor=fitted.floor))

The model stays as it is. The gradient goes through its attention to two numbers; held-out examples choose among the steps, the
start included, so what comes out is never worse on them than what went in.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from hindsight.inject.attention import biased
from hindsight.inject.bias import Injection, log_bias, relative
from hindsight.inject.prompt import Prompt, batched
from hindsight.types import ConfigError, DataError

STRONGEST = 4.0  # wrong scores do harm, so strength has an end
LOWEST = 0.01


@dataclass(frozen=True, slots=True)
class Example:
    """A prompt with memories, their utilities, and the tokens of the turn that came next."""

    prompt: Prompt
    scores: tuple[float, ...]
    later: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Tuned:
    """``before``, ``after``: nats a token of the held-out later turns at the start and at what was chosen. ``curve``: (strength, floor,
    nats a token held out) after each pass."""

    strength: float
    floor: float
    before: float
    after: float
    curve: tuple[tuple[float, float, float], ...]


def tune_bias(
    model: Any,
    examples: Sequence[Example],
    held_out: Sequence[Example],
    passes: int = 10,
    rate: float = 0.1,
    batch: int = 8,
    start: Injection | None = None,
) -> Tuned:
    """Adam over log strength and the floor's logit, from ``start``'s, whose layers and queries are kept.

    Examples of one dialogue belong on one side. Raises DataError on none, or a later turn without tokens; ConfigError on a start
    whose formula is not ``log`` or whose strength is 0.
    """
    start = start or Injection()
    if start.formula != "log" or start.strength <= 0 or start.floor >= 1:
        raise ConfigError([f"{start}: wanted formula=log, a strength above 0 and a floor below 1 to start from"])
    if not examples or not held_out or not all(one.later for one in (*examples, *held_out)):
        raise DataError(
            "examples",
            f"{len(examples)}, and {len(held_out)} held out",
            "some of both, with a later turn of one token or more",
        )
    known = torch.tensor([math.log(start.strength), math.log(start.floor / (1 - start.floor))], device=model.device)
    known.requires_grad_()
    adam = torch.optim.Adam([known], lr=rate)
    frozen = [weight for weight in model.parameters() if weight.requires_grad]
    for weight in frozen:
        weight.requires_grad_(False)
    try:
        curve = [(start.strength, start.floor, _nats(model, held_out, known, start, batch))]
        for _ in range(passes):
            for first in range(0, len(examples), batch):
                some = examples[first : first + batch]
                tokens = sum(len(one.later) for one in some)
                adam.zero_grad()
                likelihoods(model, some, *_of(known), start, backward=1 / tokens)
                adam.step()
                with torch.no_grad():
                    known[0].clamp_(max=math.log(STRONGEST))
                    known[1].clamp_(min=math.log(LOWEST / (1 - LOWEST)))
            strength, floor = (value.item() for value in _of(known.detach()))
            curve.append((strength, floor, _nats(model, held_out, known, start, batch)))
    finally:
        for weight in frozen:
            weight.requires_grad_(True)
    best = min(curve, key=lambda one: one[2])
    return Tuned(best[0], best[1], curve[0][2], best[2], tuple(curve))


def likelihoods(
    model: Any,
    examples: Sequence[Example],
    strength: float | Tensor = 1.0,
    floor: float | Tensor = 0.05,
    injection: Injection | None = None,
    backward: float = 0.0,
) -> Tensor:
    """(examples,) log p(later turn | prompt) in nats under a ``log`` bias, all in one batch. ``backward``: the weight with which minus
    their sum is sent back at once, inside the context, as gradient checkpointing wants it."""
    injection = injection or Injection()
    batch = batched([one.prompt.followed(one.later) for one in examples], 0, "left", model.device)
    given = [torch.tensor(one.scores, device=model.device) for one in examples]
    rows = [log_bias(relative(scores) if injection.relative else scores, strength, floor) for scores in given]
    how = Injection(formula="logits", layers=injection.layers, queries=injection.queries, path=injection.path)
    longest = max(len(one.later) for one in examples)
    with biased(model, batch.spans, rows, how):
        logits = model(
            input_ids=batch.input_ids,
            attention_mask=batch.attention_mask,
            position_ids=batch.position_ids,
            use_cache=False,
            logits_to_keep=longest + 1,
        ).logits[:, :-1]
        shares = logits.float().log_softmax(-1).gather(-1, batch.input_ids[:, -longest:, None])[..., 0]
        wanted = torch.arange(longest, device=model.device) >= longest - torch.tensor(
            [[len(one.later)] for one in examples], device=model.device
        )
        found = (shares * wanted).sum(-1)
        if backward:
            (-found.sum() * backward).backward()
    return found.detach() if backward else found


def _of(known: Tensor) -> tuple[Tensor, Tensor]:
    return known[0].exp(), known[1].sigmoid()


@torch.no_grad()
def _nats(model: Any, examples: Sequence[Example], known: Tensor, start: Injection, batch: int) -> float:
    total = 0.0
    for first in range(0, len(examples), batch):
        total -= float(likelihoods(model, examples[first : first + batch], *_of(known), start).sum())
    return total / sum(len(one.later) for one in examples)
