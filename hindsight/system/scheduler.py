"""System S, scheduler: a memory service with a write gate, decay and confidence.

Written at 0.6 of 0.3 density + 0.3 task relevance + 0.25 confidence + 0.15 source weight. Score = 0.6 cosine + 0.2 * 0.5 ** (age / 7
days) + 0.2 confidence, and a bonus by type; three times k are fetched by cosine, k returned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from hindsight.memory.consolidate import by_rules
from hindsight.memory.gate import WRITE_AT, scheduler
from hindsight.memory.notes import best, notes
from hindsight.memory.record import Layer, Record
from hindsight.memory.route import layers
from hindsight.memory.view import View
from hindsight.miner.turns import Turns
from hindsight.system.weights import checked
from hindsight.types import Hit, Query, Turn

FETCH = 3


@dataclass(frozen=True)
class SchedulerConfig:
    """``bonus``: of the layer that the question asks for first. ``gate``: below it nothing is written; 0 writes all. ``facts`` off: no
    semantic layer. A weight of 0 takes its part out."""

    cosine: float = 0.6
    fresh: float = 0.2
    confidence: float = 0.2
    half_life: float = 7.0
    bonus: float = 0.05
    gate: float = WRITE_AT
    facts: bool = True

    def __post_init__(self) -> None:
        checked("scheduler", self)

    def build(self, user_id: str) -> Scheduler:
        return Scheduler(user_id, self)


@dataclass(frozen=True)
class Scheduler:
    user_id: str
    config: SchedulerConfig = field(default_factory=SchedulerConfig)
    miner: Turns = field(default_factory=Turns)
    name: ClassVar[str] = "scheduler"

    def written(self, turns: Sequence[Turn], known: View) -> list[Record]:
        made = notes(turns, self.user_id, self.miner, known)
        return [one for one in made if self._worth(one, known) >= self.config.gate]

    def consolidated(self, turns: Sequence[Turn], known: View) -> list[Record]:
        return by_rules(turns, self.user_id) if self.config.facts else []

    def recalled(self, known: View, query: Query, k: int) -> list[Hit]:
        rows = known.rows(query)
        if len(rows) == 0:
            return []
        near = known.similarity(rows, query.text)
        ids = [one.memory_id for one in known.of(rows)]
        fetched = sorted(range(len(rows)), key=lambda n: (-near[n], ids[n]))[: FETCH * k]
        rows, near = rows[fetched], near[fetched]
        wanted: Layer = layers(query.text)[0]
        records, ages = known.of(rows), known.age(rows, known.now(query))
        parts = {
            "cosine": self.config.cosine * near,
            "fresh": self.config.fresh * 0.5 ** (ages / self.config.half_life),
            "confidence": self.config.confidence * np.array([_sure(one) for one in records]),
            "type": self.config.bonus * np.array([one.layer == wanted for one in records], np.float64),
        }
        return best(known, query, rows, parts, k)

    def _worth(self, one: Record, known: View) -> float:
        """Task relevance: how near it is to the request that its session began with."""
        session = (
            turn.text for turn in known.turns if turn.session == one.memory.session and turn.role == "user" and turn.text
        )
        mine, first = (encoded.pooled for encoded in known.encoder.encode([one.memory.text, next(session, one.memory.text)]))
        return sum(scheduler(one.memory.text, max(0.0, float(mine @ first)), _sure(one), one.origin).values())


def _sure(one: Record) -> float:
    return 0.5 if one.memory.confidence is None else one.memory.confidence
