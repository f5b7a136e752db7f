"""The records of one user as arrays: what a system ranks."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone

import numpy as np
import numpy.typing as npt

from hindsight.features.postings import Column
from hindsight.memory.record import Record
from hindsight.text import terms
from hindsight.types import Encoder, Floats, Ints, Query, Turn

DAY = 86400.0
Doubles = npt.NDArray[np.float64]


class View:
    """Rows are records in the order in which they became known. Only active ones are ranked; the others are kept for what they say
    of them: what was superseded by what.

    The encoder is asked once a text: give one that remembers."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder
        self.turns: list[Turn] = []  # what was said, in order
        self.records: list[Record] = []
        self.made = 0  # goes up where rows were taken out, or a text was changed: what was made from them must be made anew
        self.row_of: dict[str, int] = {}  # by memory_id
        self.pooled = Column(encoder.dimension)
        self.source = Column(dtype=np.int64)  # last source position
        self.active = Column(dtype=np.bool_)
        self.terms: set[str] = set()  # of all texts, those of inactive records too
        self.turn_at: dict[int, str] = {}  # position -> memory_id of the turn's own memory
        self._about: dict[str, dict[str, None]] = {}  # what a fact is of -> memory_ids, in order
        self._after: dict[str, str] = {}  # memory_id -> its successor

    def __len__(self) -> int:
        return len(self.records)

    def update(self, changed: Sequence[Record], gone: Sequence[str] = ()) -> None:
        """``changed``: records as they are now, new ones among them; ``gone``: ids of those erased."""
        fresh = [one for one in changed if one.memory_id not in self.row_of]
        for one in changed:
            if (row := self.row_of.get(one.memory_id)) is not None:
                if one.memory.text != self.records[row].memory.text:
                    self.pooled.view[row] = self.encoder.encode([one.memory.text])[0].pooled
                    self.made += 1
                self.records[row] = one
                self.active.view[row] = one.status == "active"
        for one, encoded in zip(fresh, self.encoder.encode([one.memory.text for one in fresh]) if fresh else ()):
            self.row_of[one.memory_id] = len(self.records)
            self.records.append(one)
            self.pooled.append(encoded.pooled)
            self.source.append(max(one.memory.sources, default=-1))
            self.active.append(one.status == "active")
        for one in changed:
            self._note(one)
        if gone:
            self._without(frozenset(gone))

    def _note(self, one: Record) -> None:
        self.terms.update(terms(one.memory.text))
        if one.memory.kind == "turn":
            self.turn_at[one.memory.sources[-1]] = one.memory_id
        if one.about:
            self._about.setdefault(one.about, {})[one.memory_id] = None
        if one.successor:
            self._after[one.memory_id] = one.successor
        else:
            self._after.pop(one.memory_id, None)

    def _without(self, gone: frozenset[str]) -> None:
        """Nothing of what was erased stays here either."""
        kept = [row for row, one in enumerate(self.records) if one.memory_id not in gone]
        left = View(self.encoder)
        left.turns, left.made = self.turns, self.made + 1
        left.records = [self.records[row] for row in kept]
        left.row_of = {one.memory_id: row for row, one in enumerate(left.records)}
        for mine, theirs in ((left.pooled, self.pooled), (left.source, self.source), (left.active, self.active)):
            mine.extend(theirs.view[kept])
        for one in left.records:
            left._note(one)
        self.__dict__.update(left.__dict__)

    def rows(self, query: Query | None = None) -> Ints:
        """Active rows, ascending; for a query those drawn from before ``asked_at`` and before what the model sees anyway."""
        kept = self.active.view
        if query is not None:
            kept = kept & (self.source.view < min((query.asked_at, *query.context)))
        return np.flatnonzero(kept)

    def of(self, rows: Ints) -> list[Record]:
        return [self.records[row] for row in rows.tolist()]

    def about(self, about: str) -> list[Record]:
        """The active facts of one thing, in the order in which they became known."""
        known = (self.records[self.row_of[memory_id]] for memory_id in self._about.get(about, ()))
        return [one for one in known if one.status == "active"]

    def successors(self) -> dict[str, str]:
        """memory_id -> that of what came after: of what was superseded, and of the turns from which such facts were drawn."""
        found = dict(self._after)
        for old, new in self._after.items():
            if new in self.row_of:
                before, after = (self.turn_at.get(self.records[self.row_of[one]].memory.sources[-1]) for one in (old, new))
                if before and after and before != after:
                    found.setdefault(before, after)
        return found

    def now(self, query: Query) -> float:
        """When a query is asked, Unix seconds: else the time of what was written last."""
        return seconds(query.time) or max((one.written for one in self.records), default=0.0)

    def similarity(self, rows: Ints, text: str) -> Floats:
        """(rows,) cosine to a text. Row by row: the same whatever the other rows are."""
        return (self.pooled.view[rows] * self.encoder.encode([text])[0].pooled).sum(axis=1)

    def age(self, rows: Ints, now: float) -> Doubles:
        """(rows,) days since each was written."""
        return np.array([days(one.written, now) for one in self.of(rows)], np.float64)

    def unread(self, rows: Ints, now: float) -> Doubles:
        """(rows,) days since each was recalled last, or written, where it never was."""
        return np.array([days(one.written if one.read is None else one.read, now) for one in self.of(rows)], np.float64)


def days(then: float, now: float) -> float:
    """0 where either is unknown (0), and for what lies ahead."""
    return max(0.0, now - then) / DAY if then and now else 0.0


def seconds(time: str | None) -> float:
    """Unix seconds of an ISO time, one without a zone taken as UTC so that all compare; 0 where it is unknown."""
    try:
        found = datetime.fromisoformat((time or "").replace("Z", "+00:00"))
    except ValueError:
        return 0.0
    return found.replace(tzinfo=found.tzinfo or timezone.utc).timestamp()
