"""The bundled logs: people ask, weeks later and in other words, for what was told, changed or taken back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from hindsight.suite.gold import FOLDER, WANTED, Split, events
from hindsight.suite.past import Prefix, at_least_one
from hindsight.types import Case, Count, Query, opaque


@dataclass(frozen=True)
class Bundled:
    """A user's turn that asks is the query; it stands outside the past. ``path``: the folder of the bundled logs.

    ``split``: the questions of held-out users (``test``), of those whose logs are trained on (``train``), or ``all``.
    """

    path: Path = FOLDER
    split: Split = "test"
    name: ClassVar[str] = "bundled"
    unit: ClassVar[str] = "turn"

    @property
    def notes(self) -> tuple[str, ...]:
        return (f"split {self.split}, by user", "roles indexed: user, assistant", "gold by construction")

    def build(self) -> Bundled:
        return self

    def cases(self, count: Count) -> Iterator[Case]:
        """By user, then ``asked_at``. Questions about what was never told are skipped: a ranking can't be right about them."""
        return at_least_one(self._answerable(count), self.path, count, WANTED)

    def unanswerable(self) -> list[Case]:
        """The questions about what was never told, with an empty ``relevant``: for abstention."""
        return [case for case in self._all(Count()) if not case.relevant]

    def _answerable(self, count: Count) -> Iterator[Case]:
        for case in self._all(count):
            if case.relevant:
                count.keep()
                yield case
            else:
                count.skip("nothing to find")

    def _all(self, count: Count) -> Iterator[Case]:
        for stream, at, relevant, _, row in events(self.path, self.split, "ask", count):
            turn = stream.turns[at]
            query = Query(
                query_id=opaque("query", "fact_recall", row.query_id),
                user_id=stream.user_id,
                dialogue_id=stream.dialogue_at(at),
                text=turn.text,
                asked_at=at,
                time=turn.time,
            )
            yield Case(query, Prefix(stream.turns, at), relevant, row.type, tuple(row.answers))
