"""The two ends of every table: everything that was said, and gold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hindsight.system.baselines import at_least_one
from hindsight.system.past import Past
from hindsight.types import Hit, Memory, Query, Turn, opaque


@dataclass(frozen=True)
class FullContext:
    """One memory that is all that was said: its evidence is always there, and its tokens are the point."""

    past: Past
    name: str = "full_context"

    def observe(self, user_id: str, turns: Sequence[Turn]) -> None:
        self.past.observe(user_id, turns)

    def recall(self, query: Query, k: int) -> list[Hit]:
        at_least_one(k)
        return [Hit(query.query_id, self._all(query).memory_id, 0.0)] if self.past.memories(query) else []

    def memories(self, query: Query, hits: Sequence[Hit]) -> list[Memory]:
        return [self._all(query) for _ in hits]

    def _all(self, query: Query) -> Memory:
        lines = self.past.memories(query)
        text, last = "\n".join(one.text for one in lines), lines[-1]
        sources = tuple(sorted({at for one in lines for at in one.sources}))
        memory_id = opaque("everything", last.memory_id)
        return Memory(
            memory_id,
            query.user_id,
            "",
            last.session,
            "chunk",
            "",
            "user",
            text,
            text,
            last.sources[-1],
            sources,
            time=last.time,
        )


@dataclass(frozen=True)
class Oracle:
    """Gold first, oldest first, then the newest: what no ranking can pass. ``gold``: query_id -> memory_ids; an evaluation fills it in for
    this system alone."""

    past: Past
    gold: dict[str, Sequence[str]] = field(default_factory=dict)
    name: str = "oracle"

    def observe(self, user_id: str, turns: Sequence[Turn]) -> None:
        self.past.observe(user_id, turns)

    def recall(self, query: Query, k: int) -> list[Hit]:
        at_least_one(k)
        wanted = set(self.gold.get(query.query_id, ()))
        pool = self.past.memories(query)
        chosen = [one for one in pool if one.memory_id in wanted] + [
            one for one in reversed(pool) if one.memory_id not in wanted
        ]
        return [Hit(query.query_id, one.memory_id, float(one.memory_id in wanted)) for one in chosen[:k]]
