"""Do several signals say the same of one query's candidates? And which candidates do gains favour for what they look like?

All of one query at a time, then summed up: rank correlation (Spearman), the same best, the same few, and agreement beyond chance on
who is credited (Cohen 1960 for a pair; Krippendorff's nominal alpha, 2011, for all, where a silent signal is a missing coder).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

Doubles = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

TOP = 8


def speaks(values: npt.ArrayLike) -> bool:
    """A signal that is the same for all candidates says nothing."""
    found = np.asarray(values, np.float64)
    return bool(found.size and found.max() > found.min())


def credited(values: npt.ArrayLike, top: int = TOP) -> Mask:
    """(n,) the best ``top`` of those above the lowest; equal ones go by place."""
    found = np.asarray(values, np.float64)
    mask = np.zeros(len(found), bool)
    best = np.argsort(-found, kind="stable")[:top]
    mask[best] = found[best] > found.min(initial=np.inf)
    return mask


def shared(a: Mask, b: Mask) -> float:
    """Share of the smaller set that is in the other one; 0 where either is empty."""
    least = min(int(a.sum()), int(b.sum()))
    return int((a & b).sum()) / least if least else 0.0


def ranked(values: npt.ArrayLike) -> Doubles:
    """(n,) ranks, centred and of length 1, so that a product of two is Spearman's correlation; zeros where all are equal."""
    _, place, counts = np.unique(np.asarray(values, np.float64), return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[place]  # ties share their mean rank
    ranks -= ranks.mean()
    length = float(np.linalg.norm(ranks))
    return ranks / length if length > 1e-9 else np.zeros(len(ranks))


@dataclass(frozen=True, slots=True)
class Pair:
    """Two signals on one query. ``both``, ``first``, ``second``, ``neither``: candidates credited by whom."""

    rank: float
    top1: float
    top: float
    both: int
    first: int
    second: int
    neither: int


@dataclass(frozen=True, slots=True)
class Coded:
    """One query's candidates as units of Krippendorff's alpha: values given, values that say "credited", disagreement."""

    values: int
    yes: int
    apart: float


def pairs(signals: Mapping[str, npt.ArrayLike]) -> dict[tuple[str, str], Pair]:
    """Each pair of signals that both speak, in the order of ``signals``."""
    heard = {name: np.asarray(values, np.float64) for name, values in signals.items() if speaks(values)}
    ranks = {name: ranked(values) for name, values in heard.items()}
    masks = {name: credited(values) for name, values in heard.items()}
    found: dict[tuple[str, str], Pair] = {}
    for a, b in combinations(heard, 2):
        one, two = masks[a], masks[b]
        counts = (one & two, one & ~two, ~one & two, ~one & ~two)
        same = float(heard[a].argmax() == heard[b].argmax())
        found[a, b] = Pair(float(ranks[a] @ ranks[b]), same, shared(one, two), *(int(c.sum()) for c in counts))
    return found


def coded(signals: Mapping[str, npt.ArrayLike]) -> Coded:
    """For ``alpha``. Fewer than two signals that speak: no value can be paired."""
    masks = [credited(values) for values in signals.values() if speaks(values)]
    if len(masks) < 2:
        return Coded(0, 0, 0.0)
    coders, votes = len(masks), np.sum(masks, axis=0)
    apart = float((2 * votes * (coders - votes)).sum()) / (coders - 1)
    return Coded(coders * len(votes), int(votes.sum()), apart)


def kappa(found: Sequence[Pair]) -> float | None:
    """Cohen's, over all candidates of all queries; None where chance alone would agree on everything."""
    both, first, second, neither = (
        sum(getattr(one, name) for one in found) for name in ("both", "first", "second", "neither")
    )
    n = both + first + second + neither
    if not n:
        return None
    a, b = (both + first) / n, (both + second) / n
    chance = a * b + (1 - a) * (1 - b)
    return ((both + neither) / n - chance) / (1 - chance) if chance < 1 else None


def alpha(found: Sequence[Coded]) -> float | None:
    """Krippendorff's, nominal; None where nothing, or everything, is credited."""
    values, yes = sum(one.values for one in found), sum(one.yes for one in found)
    expected = 2 * yes * (values - yes) / (values - 1) if values > 1 else 0.0
    return 1 - sum(one.apart for one in found) / expected if expected else None


@dataclass(frozen=True, slots=True)
class Lean:
    """Gains against one attribute of the candidates. ``shift``: mean under the gains minus mean of the pool, in the pool's standard
    deviations; ``rank``: Spearman's correlation of gain and attribute."""

    pool: float
    label: float
    shift: float
    rank: float


def lean(gain: npt.ArrayLike, attribute: npt.ArrayLike) -> Lean:
    """(n,), (n,). ValueError where no gain is above 0."""
    weight, values = np.asarray(gain, np.float64), np.asarray(attribute, np.float64)
    if not weight.sum() > 0:
        raise ValueError("no gain")
    mean, spread = float(values.mean()), float(values.std())
    label = float((weight / weight.sum()) @ values)
    return Lean(mean, label, (label - mean) / spread if spread > 1e-9 else 0.0, float(ranked(weight) @ ranked(values)))


def in_place(a: npt.ArrayLike, b: npt.ArrayLike) -> float:
    """Share of one label's gain that another leaves where it is: 1 the same label, 0 no memory in common (or ``b`` is empty)."""
    one, two = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if not one.sum() > 0:
        raise ValueError("no gain")
    return float(np.minimum(one / one.sum(), two / two.sum()).sum()) if two.sum() > 0 else 0.0
