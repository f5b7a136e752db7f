"""Logs with gold by their side, as bundled and fact_recall have them. See data/README.md."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import BaseModel, ValidationError

from hindsight.io import read_json_lines
from hindsight.logs.native import NativeReader
from hindsight.suite.past import Stream, streams
from hindsight.types import Count, DataError, Dialogue, opaque

FOLDER = Path(__file__).resolve().parents[2] / "data" / "bundled"
LOGS, GOLD = ("train.jsonl", "test.jsonl"), "gold.jsonl"
WANTED = f"a folder with {', '.join(LOGS)} and {GOLD}: data/bundled of a checkout, or suite.path="
Split = Literal["test", "train", "all"]
Asking = TypeVar("Asking", bound="Row")


class Row(BaseModel):
    """A line of gold."""

    query_id: str
    user_id: str
    session: str
    turn: int
    regime: Literal["ask", "act"]
    type: str
    answers: list[str]
    relevant: list[tuple[str, int]]
    split: Literal["train", "test"]


def read_gold(path: Path, kind: type[Asking]) -> Iterator[tuple[str, Asking]]:
    """(place, row). Raises DataError, naming the line, on anything that is not gold."""
    if not path.exists():
        raise DataError(path, "no such file", WANTED)
    for number, record in read_json_lines(path, count := Count()):
        try:
            yield f"{path}:{number}", kind.model_validate(record)
        except ValidationError as error:
            raise DataError(f"{path}:{number}", error, "a line of gold: see data/README.md") from error
    if count.skipped:
        raise DataError(path, count, "a whole file of gold")


def events(
    folder: Path, split: Split, regime: str, count: Count, kind: type[Asking] = Row
) -> Iterator[tuple[Stream, int, tuple[int, ...], str, Asking]]:
    """(stream, position of the user's turn that asks, relevant positions, place, row), by user, then position."""
    rows: dict[str, list[tuple[str, Asking]]] = {}
    for place, row in read_gold(folder / GOLD, kind):
        if row.split != split and split != "all":
            count.note(f"question of split {row.split}: not read")
        elif row.regime != regime:
            count.note(f"{row.regime}, not {regime}: not read")
        else:
            rows.setdefault(opaque("user", row.user_id), []).append((place, row))
    for stream in streams(_log(folder, split)):
        found: list[tuple[Stream, int, tuple[int, ...], str, Asking]] = []
        for place, row in rows.pop(stream.user_id, []):
            at = stream.position(row.user_id, row.session, row.turn, place)
            gold = tuple(sorted({stream.position(row.user_id, name, turn, place) for name, turn in row.relevant}))
            if stream.turns[at].role != "user" or (gold and gold[-1] >= at):
                raise DataError(
                    place, f"turn {row.turn}, relevant {row.relevant}", "a user's turn, and relevant turns before it"
                )
            found.append((stream, at, gold, place, row))
        yield from sorted(found, key=lambda one: one[1])
    for left in rows.values():
        raise DataError(left[0][0], left[0][1].user_id, f"a user of {' or '.join(LOGS)}")


def _log(folder: Path, split: Split) -> Iterator[Dialogue]:
    """Gold counts turns, so here a log that is not read whole is an error."""
    for name in LOGS:
        if split in ("all", name.split(".")[0]):
            yield from NativeReader().read(folder / name, reading := Count())
            if reading.skipped or reading.notes:
                raise DataError(folder / name, reading, "the log as it was made, every turn of it")
