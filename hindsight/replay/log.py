"""A log lived through: each turn is recorded as it comes, with a recall before each of the user's own, in a store in memory alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hindsight.memory.engine import Engine
from hindsight.memory.ledger import Logged
from hindsight.memory.lifecycle import Lifecycle
from hindsight.memory.policy import Policy
from hindsight.memory.store import open_store
from hindsight.replay.life import Life, wordings
from hindsight.replay.story import Change, Found, Recall, Step, Story
from hindsight.types import Encoder, Hit, Query, Turn, opaque

_TURN = "turn"  # our own mark in the audit log: what follows is of this turn


def live(
    turns: Sequence[Turn], user_id: str, policy: Policy, encoder: Encoder, k: int, every: int = 0, lifecycle: Lifecycle | None = None
) -> Story:  # fmt: skip
    """What happens at each turn, and is drawn from what was said before it alone. ``turns``: one user's stream. ``every``: turns
    after which what was said is consolidated; at the end of a session it always is."""
    hits: dict[int, list[Hit]] = {}
    known: dict[int, tuple[str, ...]] = {}
    with open_store(":memory:") as store:
        own = store.user(user_id)
        engine = Engine(own, policy, encoder, lifecycle)
        since = 0
        for turn, after in zip(turns, [*turns[1:], None]):
            own.log(_TURN, (), {"position": turn.position})
            if turn.role == "user" and turn.text.strip():
                hits[turn.position] = _recall(engine, user_id, turn, k)
            known[turn.position] = engine.record([turn]).known
            since += 1
            if after is None or after.session != turn.session or since == every:
                known[turn.position] += engine.consolidate().known
                since = 0
        life, steps = Life(), list[Step]()
        for turn, entries in zip(turns, _by_turn(own.logged())):
            changes = [change for entry in entries for change in life.read(entry)]
            changes += [Change("known", life.note(one)) for one in known[turn.position]]
            recalls = _told(hits[turn.position]) if turn.position in hits else ()
            steps.append(Step(turn.position, turn, recalls, tuple(changes), life.kept))
        return Story(tuple(steps), wordings(own), len(turns))


def _recall(engine: Engine, user_id: str, turn: Turn, k: int) -> list[Hit]:
    """As ``OpenMemory.recall`` asks for what is said next, and as it counts what it found."""
    engine.sync()
    query = Query(opaque("recall", turn.position, turn.text), user_id, "", turn.text, turn.position, time=turn.time)
    found = engine.recall(query, k)
    engine.read(query, found)
    return found


def _by_turn(logged: Sequence[Logged]) -> Iterator[list[Logged]]:
    own: list[Logged] | None = None
    for entry in logged:
        if entry.kind == _TURN:
            if own is not None:
                yield own
            own = []
        elif own is not None:
            own.append(entry)
    if own is not None:
        yield own


def _told(hits: Sequence[Hit]) -> tuple[Recall, ...]:
    """No memory of a log's replay is ever edited: each has its first wording."""
    return (
        Recall("asked", tuple(Found((hit.memory_id, 1), hit.score, hit.utility, hit.similarity, hit.why) for hit in hits)),
    )
