"""From a logit to a probability, and how far such a probability can be believed. numpy and scipy only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt
from scipy import optimize, special, stats

Doubles = npt.NDArray[np.float64]
Values = Sequence[float] | npt.NDArray[np.floating]
Truths = Sequence[bool] | Sequence[int] | npt.NDArray[np.bool_] | npt.NDArray[np.integer]


@dataclass(frozen=True, slots=True)
class Platt:
    """probability = sigmoid(scale * logit + shift)."""

    scale: float
    shift: float

    def probability(self, logits: Values) -> Doubles:
        """(n,) -> (n,)."""
        return special.expit(self.scale * np.asarray(logits, np.float64) + self.shift)


@dataclass(frozen=True, slots=True)
class Bin:
    """`n` predictions in [low, high], their mean and the mean of what came."""

    low: float
    high: float
    n: int
    predicted: float
    observed: float


@dataclass(frozen=True, slots=True)
class Decision:
    """How "score >= threshold" agrees with gold."""

    threshold: float
    precision: float
    recall: float
    f1: float


def platt(logits: Values, targets: Values) -> Platt:
    """Least cross-entropy fit to targets in [0, 1], hard or soft (Platt 1999).

    Platt's own shrinkage of the targets, by one count on either side, keeps the scale finite when a threshold parts
    them perfectly. Logits that are all equal get scale 0: they say nothing, and the probability is the base rate.
    """
    x, y = _paired(logits, targets)
    _within_unit(y)
    used, unused = y.sum(), (1 - y).sum()
    y = y * (used + 1) / (used + 2) + (1 - y) / (unused + 2)
    centre, spread = x.mean(), x.std()
    if not spread > 1e-12 * max(1.0, abs(centre)):
        return Platt(0.0, float(special.logit(y.mean())))
    z = (x - centre) / spread  # so that one step size suits any logits

    def loss(at: Doubles) -> tuple[float, Doubles]:
        logit = at[0] * z + at[1]
        slope = special.expit(logit) - y
        return float(np.mean(np.logaddexp(0, logit) - y * logit)), np.array([np.mean(slope * z), np.mean(slope)])

    start = np.array([0.0, special.logit(y.mean())])
    fit = optimize.minimize(loss, start, jac=True, method="BFGS", options={"gtol": 1e-9})
    scale = float(fit.x[0] / spread)
    return Platt(scale, float(fit.x[1] - scale * centre))


@dataclass(frozen=True, slots=True)
class Logistic:
    """probability = sigmoid(columns @ weights + bias)."""

    weights: Doubles
    bias: float

    def probability(self, columns: npt.NDArray[np.floating]) -> Doubles:
        """(n, k) -> (n,)."""
        return special.expit(columns @ self.weights + self.bias)


def logistic(
    columns: npt.NDArray[np.floating], targets: Values, ridge: float = 1e-3, counts: Values | None = None
) -> Logistic:
    """(n, k), (n,) in [0, 1] -> least cross-entropy, with ``ridge`` times the squared weights of standardised columns.

    ``counts``: how much each row weighs, 1 by default. A constant column gets weight 0.
    """
    x, y = np.asarray(columns, np.float64), np.asarray(targets, np.float64)
    many = np.ones(len(y)) if counts is None else np.asarray(counts, np.float64)
    many = many / many.sum()
    centre, spread = x.mean(axis=0), x.std(axis=0)
    scale = np.where(spread > 1e-9, 1 / np.maximum(spread, 1e-9), 0.0)
    z = (x - centre) * scale

    def loss(at: Doubles) -> tuple[float, Doubles]:
        logit = z @ at[:-1] + at[-1]
        away = (special.expit(logit) - y) * many
        value = float(many @ (np.logaddexp(0, logit) - y * logit)) + ridge * float(at[:-1] @ at[:-1])
        return value, np.append(away @ z + 2 * ridge * at[:-1], away.sum())

    fit = optimize.minimize(loss, np.zeros(x.shape[1] + 1), jac=True, method="L-BFGS-B", options={"maxiter": 500})
    weights = fit.x[:-1] * scale
    return Logistic(weights, float(fit.x[-1] - weights @ centre))


def reliability(probabilities: Values, targets: Values, bins: int = 10) -> list[Bin]:
    """Bins of about equal count, in rising order: use is rare, and bins of equal width would put nearly all in the first.

    Equal probabilities share a bin, so there may be fewer than `bins`.
    """
    p, y = _paired(probabilities, targets)
    _within_unit(p)
    edges = np.unique(np.quantile(p, np.linspace(0, 1, bins + 1)[1:-1], method="lower"))
    place = np.searchsorted(edges, p, side="left")
    groups = [place == i for i in np.unique(place)]
    return [Bin(float(p[g].min()), float(p[g].max()), int(g.sum()), float(p[g].mean()), float(y[g].mean())) for g in groups]


def ece(probabilities: Values, targets: Values, bins: int = 10) -> float:
    """Expected calibration error: mean of |predicted - observed| over `reliability`'s bins, weighted by count."""
    found = reliability(probabilities, targets, bins)
    return sum(b.n * abs(b.predicted - b.observed) for b in found) / sum(b.n for b in found)


def brier(probabilities: Values, targets: Values) -> float:
    """Mean squared difference."""
    p, y = _paired(probabilities, targets)
    return float(np.mean((p - y) ** 2))


def summary(probabilities: Values, targets: Values, bins: int = 10) -> dict[str, object]:
    """n, Brier, ECE and the reliability bins, as `calibration` in metrics.json holds them under the name of the targets."""
    found = reliability(probabilities, targets, bins)
    return {
        "n": sum(one.n for one in found),
        "brier": round(brier(probabilities, targets), 6),
        "ece": round(ece(probabilities, targets, bins), 6),
        "bins": [asdict(one) for one in found],
    }


def kept_at(probabilities: Values, targets: Values, threshold: float) -> dict[str, float | int | None]:
    """What "probability >= threshold" keeps: how many, the mean target of those (precision, None of none), and the share of all
    targets that they hold (recall, None where there is no target)."""
    p, y = _paired(probabilities, targets)
    chosen = p >= threshold
    n, total = int(chosen.sum()), float(y.sum())
    right = float(y[chosen].sum())
    return {"n": n, "precision": right / n if n else None, "recall": right / total if total else None}


def threshold_for(probabilities: Values, targets: Values, precision: float) -> float | None:
    """The lowest threshold at which the mean target of what is kept reaches ``precision``; None where none does."""
    p, y = _paired(probabilities, targets)
    order = np.argsort(-p, kind="stable")
    reached = np.cumsum(y[order]) / np.arange(1, len(p) + 1) >= precision
    last_of_tie = np.append(p[order][1:] != p[order][:-1], True)
    places = np.flatnonzero(reached & last_of_tie)
    return float(p[order][places[-1]]) if len(places) else None


def auc(scores: Values, gold: Truths) -> float:
    """Chance that a relevant one scores above an irrelevant one; a tie counts half. ValueError if gold is all alike."""
    s, g = _paired(scores, gold)
    positive = g > 0
    n, m = int(positive.sum()), int((~positive).sum())
    if not n or not m:
        raise ValueError("gold is all alike: AUC is undefined")
    return float((stats.rankdata(s)[positive].sum() - n * (n + 1) / 2) / (n * m))


def decide(scores: Values, gold: Truths, threshold: float) -> Decision:
    """Precision, recall and F1 of "score >= threshold"; precision is 0 if nothing reaches it. ValueError without gold."""
    s, g = _paired(scores, gold)
    if not (g > 0).any():
        raise ValueError("nothing is relevant: recall is undefined")
    chosen = s >= threshold
    right = int((chosen & (g > 0)).sum())
    precision, recall = right / max(1, int(chosen.sum())), right / int((g > 0).sum())
    return Decision(float(threshold), precision, recall, 2 * right / int(chosen.sum() + (g > 0).sum()))


def best_threshold(scores: Values, gold: Truths) -> float:
    """The score whose use as a threshold gives the best F1; of equals, the highest."""
    s, g = _paired(scores, gold)
    if not (g > 0).any():
        raise ValueError("nothing is relevant: F1 is undefined")
    order = np.argsort(-s, kind="stable")
    right = np.cumsum(g[order] > 0)
    f1 = 2 * right / (np.arange(1, len(s) + 1) + right[-1])
    last_of_tie = np.append(s[order][1:] != s[order][:-1], True)
    return float(s[order][np.argmax(np.where(last_of_tie, f1, -1.0))])


def held_out_decision(scores: Values, gold: Truths, chosen_on: Truths) -> Decision:
    """Threshold chosen where `chosen_on` is true (split it by user), measured on the rest: never on what chose it."""
    s, g = _paired(scores, gold)
    first, used = np.asarray(chosen_on, bool), g > 0
    if first.shape != s.shape:
        raise ValueError(f"{len(s)} scores and {len(first)} marks")
    return decide(s[~first], used[~first], best_threshold(s[first], used[first]))


def _paired(a: Values, b: Values | Truths) -> tuple[Doubles, Doubles]:
    x, y = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if x.ndim != 1 or x.shape != y.shape or not len(x):
        raise ValueError(f"wanted two equal rows of numbers, got {x.shape} and {y.shape}")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise ValueError("a value is NaN or infinite")
    return x, y


def _within_unit(values: Doubles) -> None:
    if values.min() < 0 or values.max() > 1:
        raise ValueError("a probability or target is outside [0, 1]")
