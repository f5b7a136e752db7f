"""Intervals and tests over questions that are not independent: everything resamples *clusters* (users), never questions.

The interval is the plain percentile bootstrap of the mean over questions: clusters are drawn with replacement, each with
all its questions. With few clusters it is too narrow: a "95 %" interval holds the truth about 90 % of the time with 10
clusters, 84 % with 5 (simulated in the tests; it lacks the t quantile and a factor (C - 1) / C in the variance).
So every answer carries its number of clusters, a single cluster has no interval (None), and p is never below 2^(1 - C),
the least that any two-sided test of C clusters' signs can give.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

Doubles = npt.NDArray[np.float64]

LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its 95 % interval; `low` and `high` are None with fewer than two clusters."""

    mean: float
    low: float | None
    high: float | None
    clusters: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """Mean of a minus mean of b, its 95 % interval, and the two-sided p of no difference."""

    difference: float
    low: float | None
    high: float | None
    p: float
    clusters: int


@dataclass(frozen=True, slots=True)
class McNemar:
    """Of paired yes-or-no answers: how often only a, or only b, was right; two-sided exact p."""

    only_a: int
    only_b: int
    p: float


def resampled_means(columns: Doubles, clusters: Sequence[Hashable], rounds: int = 10000, seed: int = 0) -> Doubles:
    """(questions, columns) -> (rounds, columns): means over questions, clusters drawn with replacement.

    All columns see the same draws, so their differences are paired. Only sums by cluster are touched: the cost is
    rounds x clusters x columns, whatever the number of questions.
    """
    if columns.ndim != 2 or not len(columns) or len(columns) != len(clusters):
        raise ValueError(f"wanted (questions, columns) and a cluster each, got {columns.shape} and {len(clusters)} clusters")
    if not np.isfinite(columns).all():
        raise ValueError("a value is NaN or infinite")
    places: dict[Hashable, int] = {}
    place = np.array([places.setdefault(cluster, len(places)) for cluster in clusters])
    sums = np.zeros((len(places), columns.shape[1]))
    np.add.at(sums, place, columns)
    sizes = np.bincount(place).astype(np.float64)
    draw = np.random.default_rng(seed)
    means = np.empty((rounds, columns.shape[1]))
    step = max(1, 4_000_000 // len(places))
    for start in range(0, rounds, step):
        size = min(step, rounds - start)
        weights = draw.multinomial(len(places), np.full(len(places), 1 / len(places)), size=size).astype(np.float64)
        means[start : start + size] = (weights @ sums) / (weights @ sizes)[:, None]
    return means


def interval(draws: Doubles, mean: float, clusters: int) -> Interval:
    """Percentile interval of one column of `resampled_means`."""
    if clusters < 2:
        return Interval(mean, None, None, clusters)
    low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(mean, float(low), float(high), clusters)


def comparison(draws: Doubles, difference: float, clusters: int) -> Comparison:
    """As `interval`, with p = twice the smaller share of draws on either side of 0, never below 2^(1 - clusters)."""
    around = interval(draws, difference, clusters)
    tail = min(int((draws <= 0).sum()), int((draws >= 0).sum()))
    p = max(2 * (tail + 1) / (len(draws) + 1), 2.0 ** (1 - clusters))
    return Comparison(difference, around.low, around.high, min(1.0, p), clusters)


def cluster_interval(
    values: Sequence[float] | Doubles, clusters: Sequence[Hashable], rounds: int = 10000, seed: int = 0
) -> Interval:
    """One system's mean over questions. Raises ValueError on no values, unequal lengths or NaN."""
    column = np.asarray(values, np.float64)
    draws = resampled_means(column[:, None], clusters, rounds, seed)
    return interval(draws[:, 0], float(column.mean()), len(set(clusters)))


def paired_bootstrap(
    a: Sequence[float] | Doubles,
    b: Sequence[float] | Doubles,
    clusters: Sequence[Hashable],
    rounds: int = 10000,
    seed: int = 0,
) -> Comparison:
    """Mean of a - b over the same questions. Raises ValueError on no values, unequal lengths or NaN."""
    if len(a) != len(b):
        raise ValueError(f"not paired: {len(a)} and {len(b)} values")
    column = np.asarray(a, np.float64) - np.asarray(b, np.float64)
    draws = resampled_means(column[:, None], clusters, rounds, seed)
    return comparison(draws[:, 0], float(column.mean()), len(set(clusters)))


def holm(ps: Sequence[float]) -> list[float]:
    """Holm-adjusted p of each test of a family, in the given order (Holm 1979)."""
    adjusted = [0.0] * len(ps)
    so_far = 0.0
    for done, place in enumerate(sorted(range(len(ps)), key=lambda i: ps[i])):
        so_far = max(so_far, min(1.0, (len(ps) - done) * ps[place]))
        adjusted[place] = so_far
    return adjusted


def mcnemar(a: Sequence[bool], b: Sequence[bool]) -> McNemar:
    """Exact test of paired right / wrong answers. No clusters: for those, use `paired_bootstrap` on 0 and 1."""
    if len(a) != len(b):
        raise ValueError(f"not paired: {len(a)} and {len(b)} answers")
    only_a = sum(bool(x) and not y for x, y in zip(a, b))
    only_b = sum(bool(y) and not x for x, y in zip(a, b))
    discordant = only_a + only_b
    p = float(stats.binomtest(only_a, discordant, 0.5).pvalue) if discordant else 1.0
    return McNemar(only_a, only_b, p)
