"""Fits the switch between two heads: on each query, how much better does one of them explain what was used?

With g the gate, p(used) = g p_act(used) + (1 - g) p_ask(used), each a softmax over the candidates: a mixture of experts (Jacobs et al.
1991) whose experts stand. No label says which regime a query is of; the uses do, whichever labeler found them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from scipy import optimize, special

from hindsight.measure.calibration import summary
from hindsight.scorer.head import Doubles, logits
from hindsight.scorer.switch import TwoHeads
from hindsight.train.batches import Listed
from hindsight.types import DataError

RIDGE = 0.1  # of scaled columns: held-out queries are few
RARE = 0.4  # the least deviation that a column is divided by: a cue that one query in thirty shows must not decide alone


def fit_gate(switch: TwoHeads, queries: Sequence[tuple[Listed, float]]) -> dict[str, Any]:
    """``queries``: of users that neither head was fitted to, with weights. Sets the gate and returns what metrics may quote:

    ``differ``: share of queries where the better head explains the uses by more than a nat; ``right``: share of those where the
    gate chose it; ``act``: share of queries that it sends to *act*.
    """
    if not queries:
        raise DataError("switch", "no held-out query with a use", "more dialogues, of both kinds")
    needs = np.stack([one.features[0, switch.needs].astype(np.float64) for one, _ in queries])
    weight = np.array([w for _, w in queries])
    weight /= weight.sum()
    ahead = np.array([_loss(switch, one, "ask") - _loss(switch, one, "act") for one, _ in queries])  # above 0: act is better
    mean, deviation = needs.mean(axis=0), np.maximum(needs.std(axis=0), RARE)
    z = (needs - mean) / deviation

    def loss(at: Doubles) -> tuple[float, Doubles]:
        odds = z @ at[:-1] + at[-1]
        explained = np.logaddexp(np.minimum(0, odds) - np.log1p(np.exp(-np.abs(odds))) + ahead, -np.logaddexp(0, odds))
        away = (special.expit(odds) - special.expit(odds + ahead)) * weight
        penalty = RIDGE * float(at[:-1] @ at[:-1])
        return -float(weight @ explained) + penalty, np.append(away @ z + 2 * RIDGE * at[:-1], away.sum())

    fit = optimize.minimize(loss, np.zeros(z.shape[1] + 1), jac=True, method="L-BFGS-B", options={"maxiter": 500})
    with torch.no_grad():
        switch.gate.straight.weight.copy_(torch.from_numpy(fit.x[None, :-1]).float())
    switch.gate_mean.copy_(torch.from_numpy(mean).float())
    switch.gate_scale.copy_(torch.from_numpy(1 / deviation).float())
    switch.gate_bias.fill_(float(fit.x[-1]))
    act = special.expit(z @ fit.x[:-1] + fit.x[-1])
    differ = np.abs(ahead) > 1
    return {
        "queries": len(queries),
        "act": float(np.mean(act > 0.5)),
        "differ": float(differ.mean()),
        "right": float(np.mean((act > 0.5)[differ] == (ahead > 0)[differ])) if differ.any() else None,
    }


def sharpen(switch: TwoHeads, queries: Sequence[tuple[Listed, float]]) -> dict[str, Any]:
    """Makes the gate's probability that of *act being the better head*: its log-odds times a slope, so no decision changes.

    A share of a mixture is not that probability, and the ridge holds it near one half. Returns ``slope``, and ``ece``, ``brier`` and
    ``bins`` of each half of ``queries`` (every second one) under the slope of the other half.
    """
    odds = special.logit(
        [np.clip(float(switch.acting(one.features[:1].astype(np.float32))[0]), 1e-6, 1 - 1e-6) for one, _ in queries]
    )
    better = np.array([float(_loss(switch, one, "ask") > _loss(switch, one, "act")) for one, _ in queries])
    even = np.arange(len(queries)) % 2 == 0
    told = np.where(even, _slope(odds[~even], better[~even]) * odds, _slope(odds[even], better[even]) * odds)
    slope = _slope(odds, better)
    with torch.no_grad():
        switch.gate.straight.weight.mul_(slope)
        switch.gate_bias.mul_(slope)
    return {"slope": slope, **summary(special.expit(told), better)}


def _slope(odds: Doubles, better: Doubles) -> float:
    """The most likely one; 1 where nothing is known."""
    if not len(odds):
        return 1.0

    def loss(slope: float) -> float:
        return float(np.mean(np.logaddexp(0, slope * odds) - better * slope * odds))

    found: Any = optimize.minimize_scalar(loss, bounds=(0.1, 10.0), method="bounded")
    return float(found.x)


def responsibility(switch: TwoHeads, one: Listed) -> float:
    """How much of what was used *act* explains, given what the gate expects: the E-step of a mixture."""
    act = float(switch.acting(one.features[:1].astype(np.float32))[0])
    odds = special.logit(np.clip(act, 1e-6, 1 - 1e-6)) + _loss(switch, one, "ask") - _loss(switch, one, "act")
    return float(special.expit(odds))


def _loss(switch: TwoHeads, one: Listed, regime: str) -> float:
    """Cross-entropy of one head's softmax to the uses."""
    head, places = (switch.ask, switch.asked) if regime == "ask" else (switch.act, switch.acted)
    score = logits(head.contributions(one.features[:, places].astype(np.float32)))
    share = one.gain / one.gain.sum()
    return float(special.logsumexp(score) - share @ score)
