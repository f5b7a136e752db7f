"""System B, bionic: episodes are written faithfully and consolidated to facts later; a recalled fact brings its events along.

Score = 0.4 similarity + 0.4 importance * exp(-rate * days since last access) + 0.2 access frequency; what the question points at on the
event chain (names, "last time") is favoured. Numbers of the source; see README, "Five memory systems".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from hindsight.features.cues import entities
from hindsight.memory.consolidate import Chat, by_model, by_rules
from hindsight.memory.notes import best, notes
from hindsight.memory.record import Record
from hindsight.memory.route import TRACE
from hindsight.memory.view import View
from hindsight.miner.turns import Turns
from hindsight.system.weights import checked
from hindsight.types import Hit, Query, Turn


@dataclass(frozen=True)
class BionicConfig:
    """``rate``: of forgetting, a day; ``structural``: what a hit on the event chain adds. ``facts`` off: no semantic layer. A weight of 0
    takes its part out."""

    similarity: float = 0.4
    importance: float = 0.4
    frequency: float = 0.2
    rate: float = math.log(2) / 10
    structural: float = 0.1
    facts: bool = True

    def __post_init__(self) -> None:
        checked("bionic", self)

    def build(self, user_id: str) -> Bionic:
        return Bionic(user_id, self)


@dataclass(frozen=True)
class Bionic:
    """``chat``: a model that consolidates, else the rules do."""

    user_id: str
    config: BionicConfig = field(default_factory=BionicConfig)
    chat: Chat | None = None
    miner: Turns = field(default_factory=Turns)
    name: ClassVar[str] = "bionic"

    def written(self, turns: Sequence[Turn], known: View) -> list[Record]:
        return notes(turns, self.user_id, self.miner, known)

    def consolidated(self, turns: Sequence[Turn], known: View) -> list[Record]:
        if not self.config.facts:
            return []
        return by_model(turns, self.user_id, self.chat) if self.chat else by_rules(turns, self.user_id)

    def recalled(self, known: View, query: Query, k: int) -> list[Hit]:
        rows = known.rows(query)
        if len(rows) == 0:
            return []
        now, records = known.now(query), known.of(rows)
        weight = np.array([(one.memory.importance or 3.0) / 5.0 for one in records])
        reads = np.array([one.reads for one in records], np.float64)
        names = entities(query.text)
        pointed = [
            bool(names & entities(one.memory.text)) or (bool(TRACE.search(query.text)) and one.layer == "episodic")
            for one in records
        ]
        parts = {
            "similarity": self.config.similarity * known.similarity(rows, query.text),
            "importance": self.config.importance * weight * np.exp(-self.config.rate * known.unread(rows, now)),
            "frequency": self.config.frequency * reads / max(1.0, float(reads.max())),
            "event chain": self.config.structural * np.array(pointed, np.float64),
        }
        return with_sources(known, best(known, query, rows, parts, k), k)


def with_sources(known: View, hits: Sequence[Hit], k: int) -> list[Hit]:
    """Behind each fact the turn that it was drawn from, if it is remembered; k of all."""
    found: dict[str, Hit] = {}
    for hit in hits:
        found.setdefault(hit.memory_id, hit)
        record = known.records[known.row_of[hit.memory_id]]
        turn = known.turn_at.get(record.memory.sources[-1]) if record.layer == "semantic" else None
        if turn and known.active.view[known.row_of[turn]]:
            found.setdefault(turn, Hit(hit.query_id, turn, hit.score, why={f"source of {record.about}": hit.score}))
    return list(found.values())[:k]
