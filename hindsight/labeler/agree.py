"""Several signals, none of them right for sure: how good is each, and what do they say together? By agreement alone, without gold.

The model of Dawid and Skene (1979), as in Snorkel (Ratner et al. 2017): whether a memory was used is hidden; each signal says used, not
used, or nothing, and errs with two rates of its own. Expectation maximisation finds the rates under which what the signals say is
likeliest. A prior that each is better than chance keeps "used" from changing places with "not used". Signals that err together (two
that count the same words) would count twice: a signal's say is divided by how much its errors are those of the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Doubles = npt.NDArray[np.float64]
Votes = npt.NDArray[np.int8]  # (pairs, signals): 1 used, -1 not used, 0 says nothing

HIT, FALSE = 0.7, 0.1  # what is believed of a signal of which nothing is known
STRENGTH = 20.0  # pairs that a belief is worth
USED = (20.0, 980.0)  # pseudo-counts: used, not used
ROUNDS, STILL = 200, 1e-7


@dataclass(frozen=True, slots=True)
class Rates:
    """``hit``: share of the used that a signal calls used when it speaks; ``false``: of the not used; ``say``: 0 to 1, its
    independence; (signals,) each. ``used``: share of all pairs."""

    hit: Doubles
    false: Doubles
    say: Doubles
    used: float

    @property
    def weight(self) -> Doubles:
        """(signals,) how many nats a signal's two answers lie apart."""
        yes, no = self._nats()
        return yes - no

    def _nats(self) -> tuple[Doubles, Doubles]:
        return self.say * np.log(self.hit / self.false), self.say * np.log((1 - self.hit) / (1 - self.false))

    def posterior(self, votes: Votes) -> Doubles:
        """(pairs,) the chance that each was used. A pair of which no signal speaks has the base rate."""
        yes, no = self._nats()
        logit = np.log(self.used / (1 - self.used)) + (votes > 0) @ yes + (votes < 0) @ no
        return 1 / (1 + np.exp(-np.clip(logit, -500, 500)))


def prior(believed: Sequence[tuple[float, float]]) -> Rates:
    """``believed``: hit and false of each signal, before anything is seen."""
    hit, false = np.array(believed, np.float64).reshape(-1, 2).T
    return Rates(hit, false, np.ones(len(hit)), USED[0] / sum(USED))


def fit(votes: Votes, believed: Sequence[tuple[float, float]] = (), strength: float = STRENGTH) -> Rates:
    """The rates of each signal. Pairs and signals may come in any order; those of which nobody speaks change nothing."""
    votes = votes[np.abs(votes).sum(axis=1) > 0]
    said, yes = votes != 0, votes > 0
    rates = start = prior(believed or [(HIT, FALSE)] * votes.shape[1])
    for _ in range(ROUNDS if len(votes) else 0):
        p = rates.posterior(votes)
        of_used, of_other = p @ said, (1 - p) @ said
        hit = (p @ yes + strength * start.hit) / (of_used + strength)
        false = ((1 - p) @ yes + strength * start.false) / (of_other + strength)
        used = float((p.sum() + USED[0]) / (len(p) + sum(USED)))
        new = Rates(hit, np.minimum(false, hit), _independence(p, said, yes, hit, false), used)
        moved = max(
            np.abs(new.hit - rates.hit).max(), np.abs(new.false - rates.false).max(), np.abs(new.say - rates.say).max()
        )
        rates = new
        if moved < STILL:
            break
    return rates


def _independence(
    p: Doubles, said: npt.NDArray[np.bool_], yes: npt.NDArray[np.bool_], hit: Doubles, false: Doubles
) -> Doubles:
    """(signals,) 1 / (1 + the correlations of a signal's errors with each other's, where both speak; negative ones count nothing)."""
    errors = np.where(said, yes - (p[:, None] * hit + (1 - p[:, None]) * false), 0.0)
    both = errors.T @ errors
    spread = np.square(errors).T @ said.astype(np.float64)  # [s, t]: of s, where t speaks too
    together = both / np.sqrt(np.maximum(spread * spread.T, 1e-12))
    np.fill_diagonal(together, 1.0)
    return 1 / np.clip(together, 0.0, 1.0).sum(axis=1)
