"""A memory policy made a system: each user has a store of their own, in memory alone, and what was said goes in as it was said.

A session's events are consolidated when the next one begins, as a service does at night.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hindsight.memory.engine import Engine
from hindsight.memory.policy import Policy
from hindsight.memory.store import open_store
from hindsight.system.baselines import at_least_one
from hindsight.types import Encoder, Hit, Memory, Query, Turn


class Lived:
    """``policy``: made for a user's id."""

    def __init__(self, name: str, policy: Callable[[str], Policy], encoder: Encoder) -> None:
        self.name, self._policy, self._encoder = name, policy, encoder
        self._store = open_store(":memory:")
        self._engines: dict[str, Engine] = {}

    def observe(self, user_id: str, turns: Sequence[Turn]) -> None:
        """One by one, as they were said: what a gate thinks of a turn must not hang on what came with it."""
        engine = self._engine(user_id)
        for turn in turns:
            if engine.view.turns and engine.view.turns[-1].session != turn.session:
                engine.consolidate()
            engine.record([turn])

    def recall(self, query: Query, k: int) -> list[Hit]:
        at_least_one(k)
        engine = self._engine(query.user_id)
        engine.sync()
        hits = engine.recall(query, k)
        engine.read(query, hits)
        return hits

    def memories(self, query: Query, hits: Sequence[Hit]) -> list[Memory]:
        engine = self._engine(query.user_id)
        return [engine.memory(hit.memory_id) for hit in hits]

    def _engine(self, user_id: str) -> Engine:
        if user_id not in self._engines:
            self._engines[user_id] = Engine(self._store.user(user_id), self._policy(user_id), self._encoder)
        return self._engines[user_id]
