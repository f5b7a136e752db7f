"""System U, utility: the trained scorer over what was said, in the memory runtime.

Every turn is written; a closed goal becomes an episode where ``episodes`` is on. The scorer's features are those of training: a
timeline that holds the past alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from hindsight.features.postings import Column
from hindsight.features.timeline import Timeline
from hindsight.memory.consolidate import by_rules
from hindsight.memory.notes import notes
from hindsight.memory.record import Record
from hindsight.memory.view import View
from hindsight.miner.turns import Turns
from hindsight.retrieval.candidates import Candidates, CandidatesConfig
from hindsight.system.scored import ranked
from hindsight.types import Hit, Ints, Query, Scorer, Turn

SCORED = 500  # memories a recall


class _Past:
    """A timeline of the view's turns, and for each of its rows the view's."""

    def __init__(self, known: View) -> None:
        self.timeline, self.row, self.made = Timeline(known.encoder), Column(dtype=np.int64), known.made
        self.rows = self.turns = 0  # of the view, that were looked at
        self.follow(known)

    def follow(self, known: View) -> bool:
        """Takes in what is new. False where the view has lost or changed something, or a turn comes late: then all is made anew."""
        fresh = [row for row in range(self.rows, len(known)) if known.records[row].memory.kind == "turn"]
        order = sorted(fresh, key=lambda row: (int(known.source.view[row]), known.records[row].memory_id))
        late = bool(order) and self.timeline.source.size and known.source.view[order[0]] < self.timeline.source.view[-1]
        if self.made != known.made or late:
            return False
        self.timeline.observe(known.turns[self.turns :], [known.records[row].memory for row in order])
        self.row.extend(np.array(order, np.int64))
        self.rows, self.turns = len(known), len(known.turns)
        return True


@dataclass
class Utility:
    """``scorer``: calibrated. ``threshold``: memories whose utility is below it are not recalled."""

    user_id: str
    scorer: Scorer
    threshold: float = 0.0
    candidates: Candidates = field(default_factory=lambda: CandidatesConfig(SCORED).build())
    miner: Turns = field(default_factory=Turns)
    name: ClassVar[str] = "utility"
    _past: _Past | None = field(default=None, repr=False)

    def written(self, turns: Sequence[Turn], known: View) -> list[Record]:
        return notes(turns, self.user_id, self.miner, known)

    def consolidated(self, turns: Sequence[Turn], known: View) -> list[Record]:
        return by_rules(turns, self.user_id)

    def recalled(self, known: View, query: Query, k: int) -> list[Hit]:
        past, pool = self._pool(known, query)
        return ranked(self.scorer, past, query, self.candidates.rows(past, query, pool), k, True, self.threshold)

    def _pool(self, known: View, query: Query) -> tuple[Timeline, Ints]:
        """(the past, rows of it that may be recalled)."""
        if self._past is None or not self._past.follow(known):
            self._past = _Past(known)
        past = self._past.timeline
        before = past.source.view < min((query.asked_at, *query.context))
        return past, np.flatnonzero(before & known.active.view[self._past.row.view])
