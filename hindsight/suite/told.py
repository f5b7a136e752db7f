"""The values that the bundled people told, each where it was first said: what a question's rivals are, and who is absent.

``told.jsonl`` is gold like gold.jsonl: no system sees it. It says which values are of one attribute, so that a conflict is one by
construction, and a person that a question asks about can be replaced by one of whom the log says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import BaseModel, ValidationError

from hindsight.io import read_json_lines
from hindsight.suite.gold import Split, _log
from hindsight.suite.past import streams
from hindsight.text import script
from hindsight.types import Case, Count, DataError, opaque

TOLD = "told.jsonl"
WANTED = f"a folder with {TOLD}: what python -m data.generator writes"
NAMING = ("person", "rel")  # slots that say who somebody is, such as person1
NOW, BEFORE = (
    ("value", "gone"),
    ("value", "old"),
)  # of a fact: what is in force, or that it was taken back; what it was before


@dataclass(frozen=True)
class Told:
    """``position``: of the turn that first said it, in its user's stream."""

    attribute: str
    slot: str
    value: str
    position: int

    @property
    def names(self) -> bool:
        return self.slot.startswith(NAMING)


class _Row(BaseModel):
    user_id: str
    session: str
    turn: int
    attribute: str
    slot: str
    value: str


def read_told(folder: Path, split: Split) -> dict[str, tuple[Told, ...]]:
    """user_id -> what they told, in order. Raises DataError on a file that is missing, or of other logs."""
    if not (path := folder / TOLD).exists():
        raise DataError(path, "no such file", WANTED)
    known = {stream.user_id: stream for stream in streams(_log(folder, split))}
    found: dict[str, list[Told]] = {user_id: [] for user_id in known}
    for number, record in read_json_lines(path, Count()):
        place = f"{path}:{number}"
        try:
            row = _Row.model_validate(record)
        except ValidationError as error:
            raise DataError(place, error, "a line of told.jsonl: see data/README.md") from error
        if (user_id := opaque("user", row.user_id)) in known:
            at = known[user_id].position(row.user_id, row.session, row.turn, place)
            found[user_id].append(Told(row.attribute, row.slot, row.value, at))
    return {user_id: tuple(sorted(rows, key=lambda one: one.position)) for user_id, rows in found.items()}


def asked_about(case: Case, told: Sequence[Told]) -> set[tuple[str, str]]:
    """(attribute, slot) of the values that answer a question."""
    return {(one.attribute, one.slot) for one in told if one.position in case.relevant and one.value in case.answers}


def overwritten(case: Case, told: Sequence[Told]) -> tuple[str, ...]:
    """Values that were in force once, before those that answer the question."""
    about = asked_about(case, told)
    slots = {
        (attribute, slot) for attribute, now in about for slot in ((now,) if now not in NOW else BEFORE) if not _names(now)
    }
    return _values(one for one in told if (one.attribute, one.slot) in slots and _may(one, case))


def rivals(case: Case, told: Sequence[Told]) -> tuple[str, ...]:
    """Other values of the same attribute: those overwritten, and other people's."""
    about = asked_about(case, told)
    also = {(attribute, "other" if slot in NOW else "value") for attribute, slot in about if slot in (*NOW, "other")}
    others = _values(one for one in told if (one.attribute, one.slot) in also and _may(one, case))
    return tuple(dict.fromkeys([*overwritten(case, told), *others]))


def before(case: Case, told: Sequence[Told]) -> tuple[str, ...]:
    """All values that the user has told by then, but for people's names and those that the question itself says."""
    text = case.query.text.casefold()
    past = (one for one in told if one.position < case.query.asked_at and not one.names)
    return _values(one for one in past if one.value.casefold() not in text)


def absent(case: Case, told: Sequence[Told], names: Mapping[str, Sequence[str]], log: str) -> Case | None:
    """The same question about somebody of whom the log says nothing, where it names a person by what the user told of them.

    ``names``: slot -> what people are called in it, of all users. ``log``: the user's whole stream. None where the question names
    nobody, or is about the user too.
    """
    attributes = {attribute for attribute, _ in asked_about(case, told)}
    if case.kind == "multi":
        return None
    for one in told:
        if one.attribute in attributes and one.names and re.search(_word(one.value), case.query.text):
            own = script(one.value)
            stand_ins = [name for name in names.get(one.slot, ()) if script(name) == own and not re.search(_word(name), log)]
            for name in sorted(stand_ins, key=lambda name: opaque("absent", case.query.query_id, name)):
                text = re.sub(_word(one.value), lambda _, name=name: name, case.query.text)
                query = replace(case.query, query_id=opaque("absent", case.query.query_id), text=text)
                return replace(case, query=query, relevant=(), kind="absent", answers=())
    return None


def names_of(told: Iterable[Told]) -> dict[str, list[str]]:
    """Slot -> what people are called in it, in alphabetical order."""
    found: dict[str, set[str]] = {}
    for one in told:
        if one.names:
            found.setdefault(one.slot, set()).add(one.value)
    return {slot: sorted(values) for slot, values in found.items()}


def _names(slot: str) -> bool:
    return slot.startswith(NAMING)


def _may(one: Told, case: Case) -> bool:
    return one.position < case.query.asked_at and one.value not in case.answers


def _values(told: Iterable[Told]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.value for one in told))


def _word(text: str) -> str:
    """A pattern: whole words where the script has them, whatever the case."""
    edge = r"\b" if text.isascii() else ""
    return f"(?i){edge}{re.escape(text)}{edge}"
