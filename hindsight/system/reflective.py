"""System R, reflective: experience, not text. Every few events, and at once after a failure, it looks back: what was wanted, what came of
it, what to do next time. A recall asks three channels (meaning, the last day, goals and names) and merges them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from hindsight.features.cues import entities
from hindsight.memory.notes import best, notes
from hindsight.memory.record import Record
from hindsight.memory.view import DAY, View, seconds
from hindsight.miner.episodes import Episodes
from hindsight.miner.turns import Turns
from hindsight.system.weights import checked
from hindsight.text import terms
from hindsight.types import Hit, Memory, Query, Turn, opaque


@dataclass(frozen=True)
class ReflectiveConfig:
    """``window``: hours of the timeline channel. ``meaning``, ``recent``, ``goal``: what a channel's best hit scores, less by rank.
    ``reused``: what each earlier recall of a reflection adds. ``most``: reflections of a batch, 0 for none."""

    window: float = 24.0
    meaning: float = 1.0
    recent: float = 0.3
    goal: float = 0.6
    reused: float = 0.05
    most: int = 3

    def __post_init__(self) -> None:
        checked("reflective", self)

    def build(self, user_id: str) -> Reflective:
        return Reflective(user_id, self)


@dataclass(frozen=True)
class Reflective:
    user_id: str
    config: ReflectiveConfig = field(default_factory=ReflectiveConfig)
    miner: Turns = field(default_factory=Turns)
    episodes: Episodes = field(default_factory=Episodes)
    name: ClassVar[str] = "reflective"

    def written(self, turns: Sequence[Turn], known: View) -> list[Record]:
        return notes(turns, self.user_id, self.miner, known)

    def consolidated(self, turns: Sequence[Turn], known: View) -> list[Record]:
        """At most ``most`` reflections of a batch: failures first, then the newest."""
        found = self.episodes.mine(turns, self.user_id, "")
        found.sort(key=lambda one: (one.outcome != "failure", -one.sources[-1]))
        return [_reflection(one) for one in found[: self.config.most]]

    def recalled(self, known: View, query: Query, k: int) -> list[Hit]:
        rows = known.rows(query)
        if len(rows) == 0:
            return []
        records, now = known.of(rows), known.now(query)
        wanted, names = frozenset(terms(f"{query.text}\n{query.goal}")), entities(query.text) | entities(query.goal)
        overlap = np.array(
            [len(wanted & frozenset(terms(one.memory.goal or one.memory.text))) for one in records], np.float64
        )
        shared = np.array([len(names & entities(one.memory.text)) for one in records], np.float64)
        lately = known.age(rows, now) * DAY / 3600 <= self.config.window
        reads = np.array([one.reads if one.memory.kind == "reflection" else 0 for one in records], np.float64)
        parts = {
            "meaning": self.config.meaning * known.similarity(rows, query.text),
            "last hours": self.config.recent * (lately & (now > 0)),
            "goals and names": self.config.goal * (overlap + shared) / max(1.0, len(wanted) + len(names)),
            "reused": self.config.reused * np.minimum(reads, 5),
        }
        return best(known, query, rows, parts, k)


def _reflection(episode: Memory) -> Record:
    """What happened, how it came out, what to do next time."""
    came = {"success": "it worked", "failure": "it failed", "unknown": "it is not known how it came out"}[episode.outcome]
    advice = {
        "success": "do it like this again",
        "failure": "do not do it like this again",
        "unknown": "ask how it came out",
    }
    what = " ".join(filter(None, (episode.goal, episode.action and f"then {episode.action}", episode.feedback)))
    text = f"{what}; {came}; next time: {advice[episode.outcome]}"
    memory = replace(
        episode,
        memory_id=opaque("reflection", *episode.sources),
        kind="reflection",
        text=text,
        window=text,
        importance=4.0,
        confidence=0.5,
    )
    return Record(memory, "procedural", "inferred", written=seconds(episode.time))
