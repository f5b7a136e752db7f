"""Why a memory scores as it does: what each group adds to the logit, and which features of the group speak loudest.

A group's contribution is exact. A feature's share of it is weight times value in ``linear``; in ``mlp``, where features act
together, it is what the group would lose with that feature alone at its training mean, and is marked as approximate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from hindsight.scorer.head import Head
from hindsight.types import Floats


@dataclass(frozen=True, slots=True)
class Share:
    """``value``: the raw feature. ``deviations``: how many standard deviations above its training mean. ``share``: log-odds."""

    feature: str
    value: float
    deviations: float
    share: float


@dataclass(frozen=True, slots=True)
class Reason:
    """``contribution``: what the group adds to the logit. ``exact``: all its shares, shown or not, sum to it."""

    group: str
    contribution: float
    exact: bool
    shares: tuple[Share, ...]

    def __str__(self) -> str:
        said = ", ".join(f"{one.feature} {one.share:+.2f} (value {one.value:.2f})" for one in self.shares)
        return f"{self.group} {self.contribution:+.2f}: {'' if self.exact else 'about '}{said}"


@torch.inference_mode()
def explain(head: Head, features: Floats, top: int = 3) -> list[tuple[Reason, ...]]:
    """(memories, columns) raw -> a memory's groups, strongest first, each with its ``top`` strongest features.

    The contributions and the head's ``shift`` sum to the logit.
    """
    raw = np.ascontiguousarray(features, np.float32)
    standard = head.standard(torch.from_numpy(raw))
    contributions = head.contributions(raw)
    shares = [part.shares(standard[:, places]) * head.slope for part, places in zip(head.each_part(), head.places)]

    def reason(row: int, group: int) -> Reason:
        loudest = shares[group][row].abs().argsort(descending=True, stable=True)[:top].tolist()
        named = [(head.places[group][i], float(shares[group][row, i])) for i in loudest]
        return Reason(
            head.groups[group],
            float(contributions[head.groups[group]][row]),
            head.each_part()[group].exact,
            tuple(Share(head.columns[at], float(raw[row, at]), float(standard[row, at]), share) for at, share in named),
        )

    return [
        tuple(sorted((reason(row, g) for g in range(len(head.groups))), key=lambda one: -abs(one.contribution)))
        for row in range(len(raw))
    ]
