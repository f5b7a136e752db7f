"""What the policies share: turns as memories, and a ranking with its reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from hindsight.memory.gate import importance
from hindsight.memory.record import Origin, Record, origin_of
from hindsight.memory.view import View, seconds
from hindsight.miner.turns import Turns
from hindsight.types import Hit, Ints, Query, Turn

# Of who says it: system S.
CONFIDENCE: Mapping[Origin, float] = {"user": 1.0, "tool": 0.8, "knowledge": 0.8, "assistant": 0.5, "inferred": 0.5}
BACK = 20  # turns of the session that the miner reads again


def notes(turns: Sequence[Turn], user_id: str, miner: Turns, known: View) -> list[Record]:
    """A memory each turn that says or calls something, as the miner has it: with its importance, and who says so.

    The miner reads what stands before in the session too: it knows an echo of an injected memory by it. So the same memories come of
    turns one by one as of all at once.
    """
    first = turns[0].position
    before = [
        one for one in known.turns[-(BACK + len(turns)) :] if one.position < first and one.session == turns[0].session
    ][-BACK:]
    mined = [memory for memory in miner.mine([*before, *turns], user_id, "") if memory.sources[-1] >= first]
    return [
        Record(
            # no window: it would hold its neighbours' words, and keep them when those are erased
            replace(
                memory,
                window=memory.text,
                born=memory.sources[-1],
                importance=importance(memory.text),
                confidence=CONFIDENCE[origin_of(memory.role)],
            ),
            "episodic",
            origin_of(memory.role),
            written=seconds(memory.time),
        )
        for memory in mined
    ]


def best(known: View, query: Query, rows: Ints, parts: Mapping[str, npt.NDArray[np.floating]], k: int) -> list[Hit]:
    """The k rows with the highest sums of their parts, ties by memory_id; the parts are each hit's ``why``."""
    if len(rows) == 0:
        return []
    scores = np.sum([np.asarray(part, np.float64) for part in parts.values()], axis=0)
    ids = [known.records[row].memory_id for row in rows.tolist()]
    order = sorted(range(len(ids)), key=lambda n: (-scores[n], ids[n]))[:k]
    near = known.similarity(rows[order], query.text)
    return [
        Hit(
            query.query_id,
            ids[n],
            float(scores[n]),
            float(cosine),
            why={name: float(part[n]) for name, part in parts.items()},
        )
        for n, cosine in zip(order, near.tolist())
    ]
