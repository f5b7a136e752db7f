"""Task dialogues joined into one user's history: eight a user, five of them sharing services (SCIENCE, "value reuse").

``concat`` keeps dialogues whole and in order; ``inter`` cuts them where the service changes and interleaves the pieces: each is
a session of its own, and no id tells which dialogue a session came from.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

from hindsight.types import Count, DataError, Dialogue, Turn, opaque

Order = Literal["concat", "inter", "both"]
SIZE, SHARING, SHORTEST = 8, 5, 4  # dialogues a history; of those sharing services; turns in a cut piece


@dataclass(frozen=True, slots=True)
class Annotated:
    """A turn with what its annotation says. Only suites read anything but ``turn``."""

    turn: Turn
    dialogue: int  # number of the source dialogue in the file or split
    service: str  # the last one annotated up to here
    frames: tuple[dict[str, Any], ...]


def joined(
    dialogues: list[tuple[list[Annotated], list[str]]], order: Order, wanted: int, seed: int, path: Path, count: Count
) -> Iterator[tuple[Dialogue, list[Annotated]]]:
    """``dialogues``: (turns, services) of each. -> (history, its turns with annotation); ``both`` gives every history twice,
    as two users. Fewer than ``wanted`` are noted; raises DataError where there is none."""
    rng, made = random.Random(11), 0
    for number, history in enumerate(_histories(dialogues, wanted, seed)):
        made += 1
        for one_order in ("concat", "inter"):
            pieces = _ordered(history, one_order, rng)
            if order in (one_order, "both"):
                turns = _renumbered(pieces, number, one_order)
                name = opaque("history", one_order, number)
                whole = tuple(one.turn for one in turns)
                yield Dialogue(name, opaque("user", name), whole, f"{path.name}:{number}"), turns
    if not made:
        raise DataError(
            path, f"{len(dialogues)} dialogues that make no history", f"{SIZE} or more, one of them of several services"
        )
    if made < wanted:
        count.note("history not made: too few dialogues are left", wanted - made)


def _histories(
    dialogues: list[tuple[list[Annotated], list[str]]], wanted: int, seed: int
) -> Iterator[list[list[Annotated]]]:
    """Around a dialogue of several services: those that share most with it, then any others; no dialogue twice."""
    rng = random.Random(seed)
    rng.shuffle(dialogues)
    by_service: dict[str, list[int]] = defaultdict(list)
    for place, (_, services) in enumerate(dialogues):
        for service in services:
            by_service[service].append(place)
    used: set[int] = set()
    made = 0
    for first in [place for place, (_, services) in enumerate(dialogues) if len(services) > 1]:
        if made >= wanted or len(dialogues) - len(used) < SIZE:
            return
        if first in used:
            continue
        chosen = [first]
        used.add(first)
        own = dialogues[first][1]
        sharing = [place for service in own for place in by_service[service] if place not in used]
        rng.shuffle(sharing)
        sharing.sort(key=lambda place: -len(set(own) & set(dialogues[place][1])) + rng.random() * 1.2)
        for place in sharing:
            if len(chosen) >= SHARING:
                break
            if place not in used:
                chosen.append(place)
                used.add(place)
        while len(chosen) < SIZE:
            place = rng.randrange(len(dialogues))
            if place not in used and (len(dialogues[place][1]) > 1 or rng.random() < 0.4):
                chosen.append(place)
                used.add(place)
        rng.shuffle(chosen)
        made += 1
        yield [dialogues[place][0] for place in chosen]


def _ordered(history: list[list[Annotated]], order: str, rng: random.Random) -> list[list[Annotated]]:
    if order == "concat":
        return history
    cut = [_cut(turns) for turns in history]
    whose = [number for number, pieces in enumerate(cut) for _ in pieces]
    for _ in range(30):  # two pieces of one dialogue side by side would not be an interruption
        rng.shuffle(whose)
        if all(a != b for a, b in pairwise(whose)):
            break
    streams = [iter(pieces) for pieces in cut]
    return [next(streams[number]) for number in whose]


def _cut(turns: list[Annotated]) -> list[list[Annotated]]:
    pieces: list[list[Annotated]] = []
    current: list[Annotated] = []
    for one in turns:
        if one.turn.role == "user" and len(current) >= SHORTEST and one.service != current[-1].service:
            pieces.append(current)
            current = []
        current.append(one)
    if len(current) < SHORTEST and pieces:
        pieces[-1] += current
    else:
        pieces.append(current)
    return pieces


def _renumbered(pieces: list[list[Annotated]], number: int, order: str) -> list[Annotated]:
    turns: list[Annotated] = []
    for session, piece in enumerate(pieces):
        name = opaque("session", order, number, session)
        for one in piece:
            turns.append(replace(one, turn=replace(one.turn, position=len(turns), session=name)))
    return turns
