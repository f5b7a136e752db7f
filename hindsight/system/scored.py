"""A scorer made a system: candidates -> features -> contributions -> hits that say why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hindsight.features import matrix
from hindsight.features.moment import Moment
from hindsight.retrieval.candidates import Candidates
from hindsight.retrieval.order import best
from hindsight.scorer.head import logits, probability
from hindsight.system.baselines import at_least_one
from hindsight.system.past import Past
from hindsight.types import ConfigError, Hit, Query, Scorer, Turn


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

    def recall(self, query: Query, k: int) -> list[Hit]:
        """Features are standardised over the candidates, as in training. ``similarity`` is the cosine to the query's text."""
        at_least_one(k)
        past, pool = self.past.pool(query)
        rows = self.candidates.rows(past, query, pool)
        if len(rows) == 0:
            return []
        moment = Moment(past, query, rows)
        parts = self.scorer.contributions(matrix.compute(moment, self.scorer.columns))
        logit = logits(parts)
        utility = probability(logit) if self.calibrated else None
        places = best(past, rows, logit, k)
        if utility is not None:
            places = places[utility[places] >= self.threshold]
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
