"""The moments of a log that an audit looks at, each with what came next and with what came next elsewhere: the placebo.

The placebo is a turn that answers another query of the same kind, by the same role and with the same tools: of a later session of the
same user, else of another user, else later in the same session. It lies in the query's future or in another's history, never among the
memories that may be credited. What its own query says already is no news, as it is none of the true future's; of several turns the
one is taken that says about as many new words: else a long turn would seem to show more than a short one.
"""

from __future__ import annotations

import hashlib
import random
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hindsight.labeler.moments import moments
from hindsight.miner.wording import said
from hindsight.text import terms, without
from hindsight.types import Count, Explains, Labelled, Mined, Query, Turn

APART = 8  # turns that a placebo of the same session lies ahead, at least
DRAWS = 32

Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Chosen:
    """A query without uses, the turn that came next, and one that came next elsewhere: ``other`` whole, ``news`` without the words of
    its own query."""

    asked: Labelled
    future: Turn
    other: Turn
    news: Turn


def explains(labeler: Any) -> bool:
    """Whether it shows its evidence; of others only the label is seen."""
    return hasattr(labeler, "asked") and hasattr(labeler, "explain")


def chosen(streams: Sequence[Mined], labeler: Explains, limit: int, count: Count) -> list[list[Chosen]]:
    """Of each stream, in order of ``asked_at``: ``limit`` moments of the whole log (0: all), drawn by a hash of their ids."""
    asked = [list(_asked(stream, labeler)) for stream in streams]
    drawn = _drawn((one.query for own in asked for one, _ in own), limit)
    pool = _Pool(streams, asked)
    found: list[list[Chosen]] = []
    for place, own in enumerate(asked):
        kept: list[Chosen] = []
        for one, future in own:
            if (one.query.user_id, one.query.query_id) not in drawn:
                continue
            rng = random.Random(f"other future:{one.query.query_id}")
            if (other := pool.another(place, one, future, rng)) is None:
                count.skip("no other future like its own")
            else:
                kept.append(Chosen(one, future, *other))
        found.append(sorted(kept, key=lambda c: (c.asked.query.asked_at, c.asked.query.query_id)))
    return found


def _asked(stream: Mined, labeler: Explains) -> Iterable[tuple[Labelled, Turn]]:
    at = {turn.position: turn for turn in stream.turns}
    if explains(labeler):
        return [(one, at[position]) for position, one in labeler.asked(stream.turns, stream.user_id)]
    found = moments(stream.turns, stream.user_id, 3, ("user", "assistant"))
    return [(Labelled(query, (), stream.turns[place].role), stream.turns[place]) for place, query in found]


def _drawn(queries: Iterable[Query], limit: int) -> set[tuple[str, str]]:
    ids = [(query.user_id, query.query_id) for query in queries]
    if limit and len(ids) > limit:
        ids = sorted(ids, key=lambda one: hashlib.sha256(str(one).encode()).hexdigest())[:limit]
    return set(ids)


def novel(query: Query, turn: Turn) -> int:
    """Distinct words of a turn that the query does not have."""
    return len(set(terms(said(turn.text))) - set(terms(query.text)))


class _Pool:
    """Futures by what they are like: for each key those of each stream, in order."""

    def __init__(self, streams: Sequence[Mined], asked: Sequence[Sequence[tuple[Labelled, Turn]]]) -> None:
        self.by: dict[Key, list[tuple[int, Turn, Query]]] = {}
        self.last: dict[tuple[int, str], int] = {}  # (stream, session) -> its last position
        for place, stream in enumerate(streams):
            for turn in stream.turns:
                self.last[place, turn.session] = turn.position
        for place, own in enumerate(asked):
            for one, turn in own:
                self.by.setdefault(_key(one, turn), []).append((place, turn, one.query))
        for known in self.by.values():
            known.sort(key=lambda one: (one[0], one[1].position))

    def another(self, place: int, one: Labelled, future: Turn, rng: random.Random) -> tuple[Turn, Turn] | None:
        known = self.by[_key(one, future)]

        def at(stream: int, position: int) -> int:
            return bisect_left(known, (stream, position), key=lambda row: (row[0], row[1].position))

        first, end = at(place, -1), at(place + 1, -1)
        later = range(at(place, self.last[place, future.session] + 1), end)
        others = [*range(first), *range(end, len(known))] if not later else []
        soon = range(at(place, future.position + APART), end)
        choices: Sequence[int] = later or others or soon
        if not choices:
            return None
        wanted = novel(one.query, future)
        drawn = [known[rng.choice(choices)][1:] for _ in range(DRAWS)]
        pairs = [(turn, replace(turn, text=without(said(turn.text), terms(own.text)))) for turn, own in drawn]
        more = [novel(one.query, news) - wanted for _, news in pairs]
        return pairs[min(range(DRAWS), key=lambda i: (abs(more[i]), -more[i]))]  # of two as near, what says more


def _key(one: Labelled, turn: Turn) -> Key:
    return one.kind, turn.role, tuple(sorted({call.name for call in turn.calls}))
