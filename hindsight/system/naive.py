"""The articles' "naive dialogue vectors": every turn's text in a vector store, by cosine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import faiss
import numpy as np

from hindsight.features.timeline import Timeline
from hindsight.system.baselines import at_least_one
from hindsight.system.past import Past
from hindsight.types import Hit, Query, Turn


@dataclass
class Naive:
    """What was said, without who said it. One flat index a user."""

    past: Past
    name: str = "naive"
    _index: dict[str, tuple[Timeline, faiss.IndexFlatIP]] = field(default_factory=dict, repr=False)

    def observe(self, user_id: str, turns: Sequence[Turn]) -> None:
        self.past.observe(user_id, turns)

    def recall(self, query: Query, k: int) -> list[Hit]:
        at_least_one(k)
        past, rows = self.past.pool(query)
        if len(rows) == 0:
            return []
        wanted = self.past.encoder.encode([query.text])[0].pooled[None]
        # the pool is a prefix of the index: enough are asked for that what lies beyond it can be left out
        index = self._grown(query.user_id, past)
        scores, found = index.search(wanted, min(index.ntotal, k + index.ntotal - len(rows)))
        pairs = [
            (float(score), past.memories[row].memory_id)
            for score, row in zip(scores[0], found[0].tolist())
            if row < len(rows)
        ]
        pairs.sort(key=lambda one: (-one[0], one[1]))
        return [Hit(query.query_id, memory_id, score, similarity=score) for score, memory_id in pairs[:k]]

    def _grown(self, user_id: str, past: Timeline) -> faiss.IndexFlatIP:
        known = self._index.get(user_id)
        if known is None or known[0] is not past:
            known = self._index[user_id] = (past, faiss.IndexFlatIP(past.encoder.dimension))
        index = known[1]
        fresh = past.memories[index.ntotal :]
        if fresh:
            said = [memory.text.partition(": ")[2] or memory.text for memory in fresh]
            index.add(np.stack([encoded.pooled for encoded in past.encoder.encode(said)]).astype(np.float32))
        return index
