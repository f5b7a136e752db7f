"""Where a log asks for memories of itself: before each turn that answers something in its session."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from hindsight.miner.wording import said, worded
from hindsight.types import Query, Role, Turn, opaque


def moments(
    turns: Sequence[Turn], user_id: str, context: int, roles: Container[Role] = ("assistant",)
) -> Iterator[tuple[int, Query]]:
    """(place in ``turns``, query) of every turn of these roles that is not the first of its session."""
    opened = 0
    for place, turn in enumerate(turns):
        if place and turns[place - 1].session != turn.session:
            opened = place
        if turn.role not in roles or opened == place:
            continue
        seen = turns[max(opened, place - context) : place]
        yield (
            place,
            Query(
                query_id=opaque("act", user_id, turn.position),
                user_id=user_id,
                dialogue_id="",
                text=transcript(seen),
                asked_at=turn.position,
                goal=transcript(turns[opened:place]),
                time=turn.time,
                context=tuple(t.position for t in seen),
            ),
        )


def transcript(turns: Sequence[Turn]) -> str:
    """A line a turn, ``Speaker: text``: what each one's memory says, so that its vectors are known already."""
    return "\n".join(" ".join(line.split()) for turn in turns if (line := worded(turn, said(turn.text))))
