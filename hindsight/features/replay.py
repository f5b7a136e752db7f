"""Walks a log forward: at each moment the timeline holds exactly what came before."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from hindsight.features.moment import Moment
from hindsight.features.timeline import Timeline
from hindsight.types import Encoder, Ints, Memory, Query, Turn


def replay(
    turns: Sequence[Turn], memories: Sequence[Memory], encoder: Encoder, moments: Sequence[int]
) -> Iterator[tuple[int, Timeline]]:
    """(place in ``moments``, the user's past before that position), in the order of the moments' positions.

    A turn's memory is known when the turn has been said. Any other (an episode) only when the next session has begun: where it
    ends may hang on any later turn of its own. The timeline is one and the same object throughout: use it before the next step.
    """
    past = Timeline(encoder)
    ordered = sorted(memories, key=lambda m: (m.sources[-1], m.memory_id))
    known_at = [memory.sources[-1] for memory in ordered]
    if any(memory.kind != "turn" for memory in ordered):
        over = _session_over(turns)
        known_at = [at if m.kind == "turn" else over[at] for m, at in zip(ordered, known_at)]
    encoder.encode([m.text for m in ordered])  # one batch now, cache hits later
    next_turn = next_memory = 0
    for place in sorted(range(len(moments)), key=lambda i: moments[i]):
        until_turn, until_memory = next_turn, next_memory
        while until_turn < len(turns) and turns[until_turn].position < moments[place]:
            until_turn += 1
        while until_memory < len(ordered) and known_at[until_memory] < moments[place]:
            until_memory += 1
        past.observe(turns[next_turn:until_turn], ordered[next_memory:until_memory])
        next_turn, next_memory = until_turn, until_memory
        yield place, past


def _session_over(turns: Sequence[Turn]) -> dict[int, float]:
    """Position of a turn -> that of the first turn after its run of one session; infinite in the last one."""
    over: dict[int, float] = {}
    after, session = math.inf, ""
    for later, turn in zip([None, *reversed(turns)], reversed(turns)):
        if later is not None and turn.session != session:
            after = later.position
        session = turn.session
        over[turn.position] = after
    return over


def pool(past: Timeline, query: Query) -> Ints:
    """Rows that may be recalled: all that end before the context that the model sees anyway, and before ``asked_at``."""
    limit = min((query.asked_at, *query.context))
    return np.arange(int(np.searchsorted(past.source.view, limit)), dtype=np.int64)


def hidden_rows(past: Timeline, hidden: Sequence[int]) -> frozenset[int]:
    """Rows whose last source is one of these positions."""
    source = past.source.view
    spans = ((np.searchsorted(source, at), np.searchsorted(source, at, side="right")) for at in hidden)
    return frozenset(row for first, last in spans for row in range(int(first), int(last)))


def moment(past: Timeline, query: Query, hidden: Sequence[int] = ()) -> Moment:
    """The whole pool as candidates."""
    return Moment(past, query, pool(past, query), hidden_rows(past, hidden))
