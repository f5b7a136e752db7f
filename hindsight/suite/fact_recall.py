"""Questions in long dialogues, each at a known distance from the turn that answers it. Frozen: version 2. See data/README.md."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from hindsight.suite.gold import GOLD, LOGS, Row, Split, events
from hindsight.suite.past import Prefix, at_least_one
from hindsight.types import Case, Count, Query, opaque

FOLDER = Path(__file__).resolve().parents[2] / "data" / "recall"
WANTED = f"a folder with {', '.join(LOGS)} and {GOLD}: data/recall of a checkout, or suite.path="
VERSION = 2


class Asked(Row):
    """A line of gold. ``turn``: the question is asked before it. ``distance``: 0 where nothing answers."""

    question: str
    distance: int
    language: str
    round: int


@dataclass(frozen=True)
class FactRecall:
    """A question stands in no turn: it is asked at a moment of its user's stream. ``path``: the folder of logs and gold.

    ``split``: ``test``, or ``train``: other people of another world, with which it shares no wording, value or name; or ``all``.
    """

    path: Path = FOLDER
    split: Split = "test"
    name: ClassVar[str] = "fact_recall"
    unit: ClassVar[str] = "turn"

    @property
    def notes(self) -> tuple[str, ...]:
        return (
            f"version {VERSION}",
            f"split {self.split}, worlds apart",
            "roles indexed: user, assistant",
            "gold by construction",
        )

    def build(self) -> FactRecall:
        return self

    def cases(self, count: Count) -> Iterator[Case]:
        """By user, then ``asked_at``. Questions that nothing answers are skipped: a ranking can't be right about them."""
        return at_least_one(self._answerable(count), self.path, count, WANTED)

    def unanswerable(self) -> list[Case]:
        """Questions about what this user never told, with an empty ``relevant``: for abstention."""
        return [case for case in self._all(Count()) if not case.relevant]

    def _answerable(self, count: Count) -> Iterator[Case]:
        for case in self._all(count):
            if case.relevant:
                count.keep()
                yield case
            else:
                count.skip("nothing to find")

    def _all(self, count: Count) -> Iterator[Case]:
        for stream, at, relevant, _, row in events(self.path, self.split, "ask", count, Asked):
            query = Query(
                query_id=opaque("query", "fact_recall", str(VERSION), row.query_id),
                user_id=stream.user_id,
                dialogue_id=stream.dialogue_at(at),
                text=row.question,
                asked_at=at,
                time=stream.turns[at].time,
            )
            groups = (f"distance {row.distance}",) if row.distance else ()
            groups += (f"language {row.language}", f"round {row.round}")
            yield Case(query, Prefix(stream.turns, at), relevant, row.type, tuple(row.answers), groups=groups)
