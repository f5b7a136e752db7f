"""The candidates and the rows beside them, so that a window of a few turns costs as much as a row does."""

from __future__ import annotations

import numpy as np

from hindsight.features.timeline import Timeline
from hindsight.types import Floats, Ints


class Field:
    """``rows``: the candidates, ascending, without the ``hidden`` ones (which lend nothing to a window either).

    ``take``: the candidates as an index into a timeline's columns, a slice where they are a run. ``field``: the candidates and
    the two rows on either side of each, in the same way; ``own``: the candidates' places in it.
    """

    def __init__(self, past: Timeline, rows: Ints, hidden: frozenset[int]) -> None:
        self.past, self.hidden = past, hidden
        self.rows = rows if not hidden else rows[~np.isin(rows, list(hidden))]
        self._beside: dict[int, tuple[Ints, Floats, Ints, Floats]] = {}
        self.take = _run(self.rows)
        self._low, self._high = 0, 0  # the field's ends
        self._place: Ints | None = None  # row -> place in the field, -1 outside; None where the field is a run
        self.field: slice | Ints = slice(0, 0)
        if len(self.rows):
            self._low, self._high = max(0, int(self.rows[0]) - 2), min(len(past), int(self.rows[-1]) + 3)
            self.field = slice(self._low, self._high)
            if self._high - self._low > 64 + 2 * len(self.rows):  # far apart: only they and their neighbours
                near = np.unique(np.concatenate([self.rows + step for step in (-2, -1, 0, 1, 2)]))
                self.field = near[(near >= 0) & (near < len(past))]
                self._place = np.full(len(past), -1, np.int64)
                self._place[self.field] = np.arange(len(self.field))
        self.own = _run(self.places(self.rows))

    def places(self, rows: Ints) -> Ints:
        """Of rows in the field, -1 for those outside."""
        if self._place is not None:
            return self._place[rows]
        return np.where((rows >= self._low) & (rows < self._high), rows - self._low, -1)

    @property
    def width(self) -> int:
        """Rows of the field."""
        return self._high - self._low if isinstance(self.field, slice) else len(self.field)

    def neighbour(self, offset: int) -> tuple[Ints, Floats]:
        """(row of each candidate's neighbour, 1 where it is in the same session and not hidden). Else 0, and its own row."""
        return self._neighbour(offset)[:2]

    def _neighbour(self, offset: int) -> tuple[Ints, Floats, Ints, Floats]:
        """The same, with the neighbour's place among the candidates and 1 where it is one."""
        if offset not in self._beside:
            beside = self.rows + offset
            valid = (beside >= 0) & (beside < len(self.past))
            beside = np.where(valid, beside, self.rows)
            session = self.past.session.view
            valid &= session[beside] == session[self.take]
            if self.hidden:
                valid &= ~np.isin(beside, list(self.hidden))
            if isinstance(self.take, slice):
                place = np.clip(np.arange(offset, len(self.rows) + offset), 0, max(0, len(self.rows) - 1))
            else:
                place = np.minimum(np.searchsorted(self.rows, beside), max(0, len(self.rows) - 1))
            candidate = valid & (self.rows[place] == beside) if len(self.rows) else valid
            self._beside[offset] = beside, valid.astype(np.float32), place, candidate.astype(np.float32)
        return self._beside[offset]

    def shifted(self, values: Floats, offset: int) -> Floats:
        """A candidate's value at its neighbour; 0 where that is no candidate."""
        _, _, place, candidate = self._neighbour(offset)
        return (values[place] * candidate).astype(np.float32)

    def with_sides(self, values: Floats, far: float = 0.0) -> Floats:
        """(..., field) -> (..., candidates): the turn's value and its two neighbours' added up; ``far`` of the next two's."""
        found = values[..., self.own].astype(np.float32)
        for offset, share in ((-1, 1.0), (1, 1.0), (-2, far), (2, far)):
            if share:
                beside, valid = self.neighbour(offset)
                found += np.take(values, self.places(beside), axis=-1) * (valid * np.float32(share))
        return found


def _run(places: Ints) -> slice | Ints:
    """As a slice where they follow one another: indexing by it copies nothing."""
    if len(places) and places[-1] - places[0] == len(places) - 1:
        return slice(int(places[0]), int(places[-1]) + 1)
    return places
