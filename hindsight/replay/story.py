"""The nouns of a replay: one user's dialogue, and at each turn what was recalled and what became of the memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from hindsight.memory.record import Record
from hindsight.types import Turn

# known: told again, and not written twice; changed: written anew, as an old fact that is less sure now
What = Literal["written", "known", "superseded", "archived", "changed", "edited", "restored", "forgotten"]
Noted = tuple[str, int]  # memory_id, version: a memory in the words that it had then


@dataclass(frozen=True, slots=True)
class Found:
    """One recalled memory. ``score``, ``utility`` and ``similarity`` are None, and ``why`` is empty, where they are not known.
    ``shown``: it was put into the prompt, ``cited``: the reply used it; None where nobody kept it."""

    note: Noted
    score: float | None = None
    utility: float | None = None
    similarity: float | None = None
    why: Mapping[str, float] = field(default_factory=dict[str, float])
    shown: bool | None = None
    cited: bool | None = None


@dataclass(frozen=True, slots=True)
class Recall:
    """``trigger``: what set it off, "" where nothing did, and then nothing was recalled."""

    trigger: str
    hits: tuple[Found, ...] = ()


@dataclass(frozen=True, slots=True)
class Change:
    """What became of one memory. ``by``: what superseded it, or the same in its new words. ``why``: as the audit log has it."""

    what: What
    note: Noted
    by: Noted | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """``recalls`` came before the turn was known, ``changes`` after it and before the next one. ``turn`` None: its words were
    erased, or it is not said yet (``position`` after the last). ``kept``: how many memories are active, superseded and archived
    then."""

    position: int
    turn: Turn | None
    recalls: tuple[Recall, ...] = ()
    changes: tuple[Change, ...] = ()
    kept: tuple[int, int, int] = (0, 0, 0)


@dataclass(frozen=True, slots=True)
class Story:
    """``records``: each memory in each of its wordings; those that were erased are in none. ``ended``: the position after the
    last turn."""

    steps: tuple[Step, ...]
    records: Mapping[Noted, Record]
    ended: int
