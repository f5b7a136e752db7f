"""Dialogues -> one stream a user: the only place where positions are made comparable across dialogues."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from hindsight.logs.raw import time_order
from hindsight.types import Dialogue


def by_user(dialogues: Iterable[Dialogue]) -> Iterator[tuple[str, list[Dialogue]]]:
    """(user_id, their dialogues in stream order), users in order of first sight. Holds all dialogues: users may interleave.

    A user's dialogues are ordered by (first known time, place in the log); one without any time keeps its place after the
    one before it. Positions then run 0, 1, 2, ... through all turns of the user.
    """
    users: dict[str, list[Dialogue]] = {}
    for dialogue in dialogues:
        users.setdefault(dialogue.user_id, []).append(dialogue)
    for user in list(users):
        own = users.pop(user)
        starts = [next((turn.time for turn in dialogue.turns if turn.time), None) for dialogue in own]
        stream, position = [], 0
        for place in time_order(starts):
            turns = tuple(replace(turn, position=position + i) for i, turn in enumerate(own[place].turns))
            position += len(turns)
            stream.append(replace(own[place], turns=turns))
        yield user, stream
