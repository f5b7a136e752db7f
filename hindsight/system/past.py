"""What has been observed of each user, shared by all systems of an evaluation, so that all rank the same memories.

``observe`` only takes note. A timeline is brought to a query's moment when it is asked for: it holds exactly the turns before
``asked_at``, whatever was observed since. Asking in order of positions is cheap; an earlier moment is built anew.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from hindsight.features.replay import pool
from hindsight.features.timeline import Timeline
from hindsight.miner.turns import Turns
from hindsight.types import DataError, Encoder, Ints, Memory, Miner, Query, Turn


class Past:
    """Users are strictly apart: nothing of one is ever read for another."""

    def __init__(self, miner: Miner, encoder: Encoder) -> None:
        self.miner, self.encoder = miner, encoder
        self._users: dict[str, _User] = {}

    def observe(self, user_id: str, turns: Sequence[Turn]) -> None:
        """New turns of one user, in order. The same turns may come again (each system passes them on).

        Raises DataError if another turn is known at a position, or if a position comes late.
        """
        self._user(user_id).observe(turns)

    def at(self, query: Query) -> Timeline:
        """The query's user's past before ``asked_at``. One growing object: use it before the next call for this user."""
        return self._user(query.user_id).at(query.asked_at)

    def pool(self, query: Query) -> tuple[Timeline, Ints]:
        """(the past, rows that may be recalled, ascending)."""
        past = self.at(query)
        return past, pool(past, query)

    def memories(self, query: Query) -> list[Memory]:
        """Those that may be recalled, oldest first."""
        past, rows = self.pool(query)
        return [past.memories[row] for row in rows.tolist()]

    def _user(self, user_id: str) -> _User:
        if user_id not in self._users:
            self._users[user_id] = _User(user_id, self.miner, self.encoder)
        return self._users[user_id]


class _User:
    def __init__(self, user_id: str, miner: Miner, encoder: Encoder) -> None:
        self.user_id, self.miner, self.encoder = user_id, miner, encoder
        self.turns: list[Turn] = []
        self.positions: list[int] = []
        # A turn's memory is settled when the turn has been said; any other (an episode) when its session has ended.
        self.at_once = isinstance(miner, Turns)
        self._restart()

    def _restart(self) -> None:
        self.past = Timeline(self.encoder)
        self.seen = 0  # turns that the timeline has observed
        self.mined = 0  # turns whose memories it holds

    def observe(self, turns: Sequence[Turn]) -> None:
        for turn in turns:
            place = bisect_left(self.positions, turn.position)
            if place == len(self.positions):
                self.turns.append(turn)
                self.positions.append(turn.position)
            elif self.turns[place] != turn:
                got = f"another turn at position {turn.position}, or one that comes late"
                raise DataError(f"user {self.user_id}", got, "each user's turns once, in order of position")

    def at(self, position: int) -> Timeline:
        until = bisect_left(self.positions, position)
        if until < self.seen:
            self._restart()
        if until > self.seen:
            settled = until if self.at_once else self._session_start(until)
            start = self._session_start(self.mined + 1) if self.mined else 0
            memories = self.miner.mine(self.turns[start:settled], self.user_id, "") if settled > self.mined else []
            first = self.turns[self.mined].position if settled > self.mined else 0
            self.past.observe(self.turns[self.seen : until], [m for m in memories if m.sources[-1] >= first])
            self.seen, self.mined = until, max(self.mined, settled)
        return self.past

    def _session_start(self, until: int) -> int:
        """Place of the first turn of the run of one session that holds turn ``until - 1``."""
        place = until - 1
        while place > 0 and self.turns[place - 1].session == self.turns[until - 1].session:
            place -= 1
        return max(place, 0)
