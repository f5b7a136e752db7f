"""What the suites share: a past that is cut without a copy, turns found by their source ids, and one report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

from hindsight.logs.stream import by_user
from hindsight.types import Case, Count, DataError, Dialogue, Turn, opaque


class Prefix(Sequence[Turn]):
    """The first ``length`` turns of a user's stream. All cases of a user share the stream itself."""

    __slots__ = ("_length", "_stream")

    def __init__(self, stream: Sequence[Turn], length: int) -> None:
        self._stream, self._length = stream, min(length, len(stream))

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, key: int) -> Turn: ...
    @overload
    def __getitem__(self, key: slice) -> Sequence[Turn]: ...
    def __getitem__(self, key: int | slice) -> Turn | Sequence[Turn]:
        if isinstance(key, slice):
            start, stop, step = key.indices(self._length)
            if (start, step) == (0, 1):
                return Prefix(self._stream, stop)
            return [self._stream[i] for i in range(start, stop, step)]
        if not -self._length <= key < self._length:
            raise IndexError(f"turn {key} of {self._length}")
        return self._stream[key % self._length]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(a == b for a, b in zip(self, other))

    __hash__ = None  # pyright: ignore[reportAssignmentType]  # like a list


@dataclass(frozen=True)
class Stream:
    """One user's whole stream, and the positions of each dialogue's turns in it, for judgments that name turns by the log's ids."""

    user_id: str
    turns: tuple[Turn, ...]
    positions: dict[str, list[int]]  # dialogue_id -> of its turns, in order

    def dialogue_id(self, user: str, dialogue: str) -> str:
        """By the log's own ids. An opaque id, as artefacts hold it, stands for itself."""
        return dialogue if dialogue in self.positions else opaque("dialogue", user, dialogue)

    def position(self, user: str, dialogue: str, turn: int, place: str) -> int:
        """Of a dialogue's turn, counted from 0. Raises DataError where the log has none."""
        known = self.positions.get(self.dialogue_id(user, dialogue), [])
        if not 0 <= turn < len(known):
            got = f"user {user}, dialogue {dialogue}, turn {turn}"
            raise DataError(place, got, f"a turn of the log; it has {len(known)} turns of that dialogue")
        return known[turn]

    def dialogue_at(self, position: int) -> str:
        return next((name for name, known in self.positions.items() if position in known), "")


def streams(dialogues: Iterable[Dialogue]) -> Iterator[Stream]:
    """One a user, in order of first sight. Holds the whole log."""
    for user, own in by_user(dialogues):
        positions: dict[str, list[int]] = {}
        for dialogue in own:
            positions.setdefault(dialogue.dialogue_id, []).extend(turn.position for turn in dialogue.turns)
        yield Stream(user, tuple(turn for dialogue in own for turn in dialogue.turns), positions)


def places_of(keys: Iterable[Any], source: str, count: Count) -> dict[Any, int]:
    """Source id -> place of its turn. Of an id that stands twice the first turn counts, and it is noted."""
    found: dict[Any, int] = {}
    for place, key in enumerate(keys):
        if found.setdefault(key, place) != place and key:
            count.note("turn id stands twice: the first turn counts", place=f"{source}: {key}")
    return found


def report(reading: Count, count: Count) -> None:
    """What the reader left out or mended goes into the suite's own count, whose unit is the question."""
    skipped = ((reason, f"dialogue left out with its questions: {reason}", n) for reason, n in reading.skipped.items())
    noted = ((what, what, n) for what, n in reading.notes.items())
    for reason, what, n in (*skipped, *noted):
        known = reading.places.get(reason, [])
        for place in known:
            count.note(what, 1, place)
        count.note(what, n - len(known))


def at_least_one(cases: Iterator[Case], path: Path, count: Count, wanted: str) -> Iterator[Case]:
    """The same again; raises DataError at the end where there were none: an empty suite has no measure."""
    empty = True
    for case in cases:
        empty = False
        yield case
    if empty:
        raise DataError(path, f"no question that can be asked: {count}", wanted)
