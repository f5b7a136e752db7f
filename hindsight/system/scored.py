"""A scorer made a system: candidates -> features -> contributions -> hits that say why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hindsight.features import matrix
from hindsight.features.moment import Moment
from hindsight.features.timeline import Timeline
from hindsight.retrieval.candidates import Candidates
from hindsight.retrieval.order import best
from hindsight.scorer.head import logits, probability
from hindsight.scorer.switch import TwoHeads
from hindsight.system.baselines import at_least_one
from hindsight.system.past import Past
from hindsight.types import ConfigError, Hit, Ints, Query, Scorer, Turn


@dataclass(frozen=True)
class Scored:
    """``calibrated``: the scorer's logit is the log-odds of use, so hits have a utility. ``threshold``: hits whose utility
    is below it are dropped; 0 drops none."""

    name: str
    scorer: Scorer
    past: Past
    candidates: Candidates
    calibrated: bool = False
    threshold: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.threshold < 1:
            raise ConfigError([f"threshold={self.threshold}: wanted from 0 to below 1"])
        if self.threshold and not self.calibrated:
            raise ConfigError([f"system {self.name} has no utility to hold against threshold={self.threshold}"])

    def observe(self, user_id: str, turns: Sequence[Turn]) -> None:
        self.past.observe(user_id, turns)

    def reading(self, query: Query) -> tuple[float, dict[str, float]] | None:
        """(probability that the moment is of a task in progress, what each need column adds to its log-odds), where the scorer is
        a switch and there is something to recall."""
        past, pool = self.past.pool(query)
        rows = self.candidates.rows(past, query, pool)
        if not isinstance(self.scorer, TwoHeads) or len(rows) == 0:
            return None
        features = matrix.compute(Moment(past, query, rows), self.scorer.columns)[:1]
        reasons = {name: float(share[0]) for name, share in self.scorer.reasons(features).items()}
        return float(self.scorer.acting(features)[0]), reasons

    def recall(self, query: Query, k: int) -> list[Hit]:
        """Features are standardised over the candidates, as in training. ``similarity`` is the cosine to the query's text."""
        past, pool = self.past.pool(query)
        return ranked(self.scorer, past, query, self.candidates.rows(past, query, pool), k, self.calibrated, self.threshold)


def ranked(
    scorer: Scorer, past: Timeline, query: Query, rows: Ints, k: int, calibrated: bool = True, threshold: float = 0.0
) -> list[Hit]:
    """The best k of the candidates ``rows``, those below the threshold left out. Raises DataError on a k below 1."""
    at_least_one(k)
    if len(rows) == 0:
        return []
    moment = Moment(past, query, rows)
    parts = scorer.contributions(matrix.compute(moment, scorer.columns))
    logit = logits(parts)
    utility = probability(logit) if calibrated else None
    places = best(past, rows, logit, k)
    if utility is not None:
        places = places[utility[places] >= threshold]
    near = (past.pooled.view[rows[places]] * moment.encoded.pooled).sum(axis=1)  # row by row: the same for any k
    return [
        Hit(
            query.query_id,
            past.memories[rows[place]].memory_id,
            score=float(logit[place]),
            similarity=float(cosine),
            utility=None if utility is None else float(utility[place]),
            why={name: float(np.float64(part[place])) for name, part in parts.items()},
        )
        for place, cosine in zip(places.tolist(), near.tolist())
    ]
