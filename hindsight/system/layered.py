"""System L, layered: working, episodic and semantic tiers. What is written passes a gate; a fact needs three mentions to be distilled,
or an explicit statement; facts do not decay and stand first.

Score = similarity, decay, importance, layer and recent use, weighted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from hindsight.memory.consolidate import by_rules
from hindsight.memory.facts import facts_of
from hindsight.memory.gate import layered
from hindsight.memory.notes import best, notes
from hindsight.memory.record import Record
from hindsight.memory.view import View
from hindsight.miner.turns import Turns
from hindsight.system.weights import checked
from hindsight.types import Hit, Query, Turn

MENTIONS = 3


@dataclass(frozen=True)
class LayeredConfig:
    """``gate``: below it nothing is written, 0 writes all. ``half_life``: days, of events alone. ``facts`` off: no semantic tier. The
    weights are of this implementation: the source names the parts, and gives no numbers."""

    similarity: float = 0.6
    fresh: float = 0.15
    importance: float = 0.1
    semantic: float = 0.1
    used: float = 0.05
    half_life: float = 10.0
    gate: float = 0.5
    facts: bool = True

    def __post_init__(self) -> None:
        checked("layered", self)

    def build(self, user_id: str) -> Layered:
        return Layered(user_id, self)


@dataclass(frozen=True)
class Layered:
    user_id: str
    config: LayeredConfig = field(default_factory=LayeredConfig)
    miner: Turns = field(default_factory=Turns)
    name: ClassVar[str] = "layered"

    def written(self, turns: Sequence[Turn], known: View) -> list[Record]:
        made = notes(turns, self.user_id, self.miner, known)
        return [one for one in made if sum(layered(one.memory.text, self._novelty(one, known)).values()) >= self.config.gate]

    def consolidated(self, turns: Sequence[Turn], known: View) -> list[Record]:
        """Facts that were told ``MENTIONS`` times by now, or said to have changed."""
        if not self.config.facts:
            return []
        told = Counter((fact.about, fact.value) for one in known.records for fact in facts_of(_own_words(one)))
        explicit = {
            fact.about for turn in turns if turn.role == "user" for fact in facts_of(turn.text) if fact.change == "explicit"
        }
        return [
            one for one in by_rules(turns, self.user_id) if told[one.about, one.value] >= MENTIONS or one.about in explicit
        ]

    def recalled(self, known: View, query: Query, k: int) -> list[Hit]:
        rows = known.rows(query)
        if len(rows) == 0:
            return []
        records, now = known.of(rows), known.now(query)
        lasting = np.array([one.layer == "semantic" for one in records])
        parts = {
            "similarity": self.config.similarity * known.similarity(rows, query.text),
            "fresh": self.config.fresh * np.where(lasting, 1.0, 0.5 ** (known.age(rows, now) / self.config.half_life)),
            "importance": self.config.importance * np.array([(one.memory.importance or 3.0) / 5.0 for one in records]),
            "layer": self.config.semantic * lasting.astype(np.float64),
            "used": self.config.used * np.array([min(one.reads, 3) / 3 for one in records]),
        }
        return best(known, query, rows, parts, k)

    def _novelty(self, one: Record, known: View) -> float:
        """One less the highest cosine to what is known."""
        rows = known.rows()
        return 1.0 if len(rows) == 0 else float(np.clip(1.0 - known.similarity(rows, one.memory.text).max(), 0.0, 1.0))


def _own_words(one: Record) -> str:
    memory = one.memory
    return memory.text.partition(": ")[2] if memory.kind == "turn" and memory.role == "user" else ""
