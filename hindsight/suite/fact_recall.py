"""The bundled logs: people ask, weeks later and in other words, for what was told, changed or taken back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import BaseModel, ValidationError

from hindsight.io import read_json_lines
from hindsight.logs.native import NativeReader
from hindsight.suite.past import Prefix, Stream, at_least_one, streams
from hindsight.types import Case, Count, DataError, Dialogue, Query, opaque

BUNDLED = Path(__file__).resolve().parents[2] / "data" / "bundled"
LOGS, GOLD = "logs.jsonl", "gold.jsonl"
WANTED = f"a folder with {LOGS} and {GOLD}: data/bundled of a checkout, or suite.path="


class Row(BaseModel):
    """A line of gold.jsonl. ``turn`` and ``relevant`` count turns within a dialogue of the log, from 0."""

    query_id: str
    user_id: str
    session: str
    turn: int
    regime: Literal["ask", "act"]
    type: str
    answers: list[str]
    relevant: list[tuple[str, int]]
    split: Literal["train", "test"]


@dataclass(frozen=True)
class FactRecall:
    """A user's turn that asks is the query; it stands outside the past. ``path``: the folder of the bundled logs.

    ``split``: the questions of held-out users (``test``), of those whose logs are trained on (``train``), or ``all``.
    """

    path: Path = BUNDLED
    split: Literal["test", "train", "all"] = "test"
    name: ClassVar[str] = "fact_recall"
    unit: ClassVar[str] = "turn"

    @property
    def notes(self) -> tuple[str, ...]:
        return (f"split {self.split}, by user", "roles indexed: user, assistant", "gold by construction")

    def build(self) -> FactRecall:
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
        rows: dict[str, list[tuple[str, Row]]] = {}
        for place, row in read_gold(self.path / GOLD):
            if row.split != self.split and self.split != "all":
                count.note(f"question of split {row.split}: not read")
            elif row.regime != "ask":
                count.note("event of a task in progress: not read (suite=reuse)")
            else:
                rows.setdefault(opaque("user", row.user_id), []).append((place, row))
        for stream in streams(self._log()):
            asked = [
                (stream.position(r.user_id, r.session, r.turn, place), place, r) for place, r in rows.pop(stream.user_id, [])
            ]
            for at, place, row in sorted(asked, key=lambda one: one[0]):
                yield _case(stream, at, place, row)
        for left in rows.values():
            raise DataError(left[0][0], left[0][1].user_id, f"a user of {LOGS}")

    def _log(self) -> Iterator[Dialogue]:
        """Gold counts turns, so here a log that is not read whole is an error."""
        yield from NativeReader().read(self.path / LOGS, reading := Count())
        if reading.skipped or reading.notes:
            raise DataError(self.path / LOGS, reading, "the log as it was made, every turn of it")


def read_gold(path: Path) -> Iterator[tuple[str, Row]]:
    """(place, row). Raises DataError, naming the line, on anything that is not gold."""
    if not path.exists():
        raise DataError(path, "no such file", WANTED)
    for number, record in read_json_lines(path, count := Count()):
        try:
            yield f"{path}:{number}", Row.model_validate(record)
        except ValidationError as error:
            raise DataError(f"{path}:{number}", error, "a line of gold: see data/README.md") from error
    if count.skipped:
        raise DataError(path, count, "a whole file of gold")


def _case(stream: Stream, at: int, place: str, row: Row) -> Case:
    relevant = sorted({stream.position(row.user_id, dialogue, turn, place) for dialogue, turn in row.relevant})
    turn = stream.turns[at]
    if turn.role != "user" or (relevant and relevant[-1] >= at):
        raise DataError(place, f"turn {row.turn}, relevant {row.relevant}", "a user's turn, and relevant turns before it")
    query = Query(
        query_id=opaque("query", "fact_recall", row.query_id),
        user_id=stream.user_id,
        dialogue_id=stream.dialogue_at(at),
        text=turn.text,
        asked_at=at,
        time=turn.time,
    )
    return Case(query, Prefix(stream.turns, at), tuple(relevant), row.type, tuple(row.answers))
