"""What the labelers share that read a teacher's candidates again: which teacher, which of its queries, and what came next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256

from hindsight.labeler import gated, values
from hindsight.labeler.moments import moments
from hindsight.types import Turn

TEACHERS: dict[str, type[gated.Gated] | type[values.Values]] = {"gated": gated.Gated, "values": values.Values}
Teacher = gated.Gated | values.Values


def teacher(name: str, future: str, seed: int, least_pool: int) -> Teacher:
    """Under the same future; ``least_pool`` 0 is its own."""
    own = TEACHERS[name](future=future, seed=seed)  # pyright: ignore[reportArgumentType]  # both take the same three
    return replace(own, least_pool=least_pool) if least_pool else own


def chosen(salt: str, query_id: str, share: float) -> bool:
    """Whether a query is of the share that is read again, by a hash: a larger share holds a smaller one."""
    return int(sha256(f"{salt} {query_id}".encode()).hexdigest()[:8], 16) < share * 16**8


def futures(taught: Teacher, turns: Sequence[Turn]) -> dict[int, Turn]:
    """Position at which something is asked -> the turn that is read as what came next: the teacher's own. None where it is hidden."""
    if taught.future == "hidden":
        return {}
    if isinstance(taught, gated.Gated):
        return gated._futures(turns, taught.future, taught.seed)
    places = [place for place, _ in moments(turns, "", taught.context)]
    taken = values._futures([turns[place] for place in places], taught.future, taught.seed)
    return {turns[place].position: turn for place, turn in zip(places, taken)}
