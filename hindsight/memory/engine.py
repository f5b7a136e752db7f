"""One user's memory at work: turns go in, memories are written, changed and recalled, and each decision is logged.

The policy decides what is remembered and how it is ranked; here is what holds for every policy: facts that are told anew supersede,
contradictions never merge, an old value never stands ahead of its successor, a batch is consolidated whole or not at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from hindsight.memory.conflict import WEAKENED, decide, in_order, last
from hindsight.memory.consolidate import Unconsolidated
from hindsight.memory.duplicates import duplicates
from hindsight.memory.facts import facts_of
from hindsight.memory.lifecycle import Lifecycle, expired, faded
from hindsight.memory.own import Own
from hindsight.memory.policy import Policy
from hindsight.memory.record import Record
from hindsight.memory.view import View, seconds
from hindsight.miner.wording import said
from hindsight.types import DataError, Encoder, Hit, Memory, Query, Turn


@dataclass(frozen=True, slots=True)
class Changes:
    """Ids. ``superseded``: old -> new. ``unconsolidated``: (start, stop, why) of the batches that are to be tried again."""

    written: tuple[str, ...] = ()
    superseded: Mapping[str, str] = field(default_factory=dict[str, str])
    archived: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    unconsolidated: tuple[tuple[int, int, str], ...] = ()

    def __add__(self, other: Changes) -> Changes:
        return Changes(
            self.written + other.written,
            {**self.superseded, **other.superseded},
            self.archived + other.archived,
            self.known + other.known,
            self.unconsolidated + other.unconsolidated,
        )


class Engine:
    """``lifecycle`` None: nothing fades. ``merge``: what says the same as a newer memory goes into it (duplicates.py). Times are the turns'
    own (``now`` is the last one's), so a replay does what the day did; a caller with a clock stamps its turns."""

    def __init__(
        self, own: Own, policy: Policy, encoder: Encoder, lifecycle: Lifecycle | None = None, merge: bool = False
    ) -> None:
        self.own, self.policy, self.lifecycle, self.merge = own, policy, lifecycle, merge
        self.view = View(encoder)
        self.change = -1
        self.now = 0.0
        self.sync()

    def sync(self) -> None:
        """Takes in what any process wrote since."""
        found = self.own.since(self.change)
        if found.erased:
            here = {one.memory_id for one in found.records}
            self.view.update(found.records, [one.memory_id for one in self.view.records if one.memory_id not in here])
            self.view.turns = self.own.events()
        elif found.change != self.change:
            self.view.update(found.records)
            self.view.turns += self.own.events(self.view.turns[-1].position + 1 if self.view.turns else 0)
        self.change = found.change

    def record(self, turns: Sequence[Turn]) -> Changes:
        """New turns, in order: faithfully as events, and as what the policy writes of them at once. Both or neither.

        What was written is encoded by the next ``sync``, when no other writer waits for this one.
        """
        self.sync()
        try:
            with self.own.together():
                self.own.append(turns)
                self.now = max([self.now, *(seconds(turn.time) for turn in turns)])
                last = self.view.turns[-1].position if self.view.turns else -1
                self.view.turns += [turn for turn in turns if turn.position > last]
                return self._keep(self.policy.written(turns, self.view), turns)
        except BaseException:  # what the view has taken in of it is not in the store
            self.view, self.change = View(self.view.encoder), -1
            raise

    def consolidate(self) -> Changes:
        """All events since the last time, and the batches that could not be done then; then what has faded is archived."""
        with self.own.together():
            start, stop = self.own.batched(), self.own.next_position()
            if start < stop:
                self.own.batch(start, stop)
        done = Changes()
        for first, stop in self.own.pending():
            self.sync()
            turns = self.own.events(first, stop)
            try:
                made = self.policy.consolidated(turns, self.view)
            except Unconsolidated as error:
                self.own.failed(first, str(error))
                done += Changes(unconsolidated=((first, stop, str(error)),))
                continue
            try:
                with self.own.settling(first):
                    done += self._keep(made, turns)
            except BaseException:
                self.view, self.change = View(self.view.encoder), -1
                raise
        self.sync()
        return done + self._merged() + self._fade()

    @property
    def next_position(self) -> int:
        """After the last event that is known here."""
        return self.view.turns[-1].position + 1 if self.view.turns else 0

    def recall(self, query: Query, k: int) -> list[Hit]:
        """Best first; none that is superseded ahead of what superseded it. Of what was known at the last ``sync``. Say with ``read`` what
        of it was given to somebody.

        Raises DataError on a moment that is past: what was said since has changed the memory, and can't be taken out of it.
        """
        if query.asked_at < self.next_position:
            wanted = f"a position after the last event's, {self.next_position - 1}"
            raise DataError("recall", f"asked_at={query.asked_at}", wanted)
        hits, after = self.policy.recalled(self.view, query, k), self.view.successors()
        return in_order([*hits, *self._newer(hits, after)], after)[:k]

    def _newer(self, hits: Sequence[Hit], after: Mapping[str, str]) -> list[Hit]:
        """What the newest value of each hit is, where that was not found itself: it stands where the old one did, for its reasons."""
        there = {hit.memory_id for hit in hits}
        found: dict[str, Hit] = {}
        for hit in hits:
            newest = last(hit.memory_id, after)
            row = self.view.row_of.get(newest)
            if newest not in there and row is not None and self.view.active.view[row]:
                found.setdefault(newest, replace(hit, memory_id=newest, similarity=None))
        return list(found.values())

    def read(self, query: Query, hits: Sequence[Hit]) -> None:
        """These count as recalled."""
        scores = {"scores": [round(hit.score, 6) for hit in hits]}
        self.own.read([hit.memory_id for hit in hits], seconds(query.time) or self.now, scores)

    def memory(self, memory_id: str) -> Memory:
        return self.view.records[self.view.row_of[memory_id]].memory

    def _keep(self, made: Sequence[Record], turns: Sequence[Turn]) -> Changes:
        """Each new record against those that are there. A fact that is known is not written twice."""
        facts = [(turn.position, fact) for turn in turns if turn.role == "user" for fact in facts_of(said(turn.text))]
        change = {(fact.about, position): fact.change for position, fact in facts}
        written: list[str] = []
        known: list[str] = []
        superseded: dict[str, str] = {}
        plain = [one for one in made if not one.about and one.memory_id not in self.view.row_of]
        if plain:
            self.own.write(plain, self.now)
            written += [one.memory_id for one in plain]
        for one in (one for one in made if one.about):
            self.sync()
            active = self.view.about(one.about)
            how = change.get((one.about, one.memory.sources[-1])) or "explicit"
            decision = decide(one, active, how, _weakened(active))
            if decision.what == "drop":
                known.append(decision.olds[0])
            elif decision.what == "replace":
                self.own.supersede(decision.olds, one, self.now, "another value")
                superseded |= dict.fromkeys(decision.olds, one.memory_id)
                written.append(one.memory_id)
            else:
                self.own.write([one], self.now)
                written.append(one.memory_id)
                if decision.what == "weaken":
                    self.own.write(
                        [_less_sure(old) for old in active if old.memory_id in decision.olds], self.now, "a vague change"
                    )
        gone = {fact.about: position for position, fact in facts if fact.change == "withdrawn"}
        return Changes(tuple(written), superseded, tuple(self._withdrawn(gone)), tuple(known))

    def _withdrawn(self, gone: Mapping[str, int]) -> list[str]:
        """What the user says holds no more is archived. ``gone``: what it was of -> the position of the turn that says so."""
        if gone:
            self.sync()
        ids = [old.memory_id for about, at in gone.items() for old in self.view.about(about) if old.memory.sources[-1] < at]
        if ids:
            self.own.archive(ids, self.now, "withdrawn")
        return ids

    def _merged(self) -> Changes:
        """The newer one draws on the sources of both; the older one is superseded by it."""
        pairs = duplicates(self.view.of(self.view.rows())) if self.merge else []
        for older, newer in pairs:
            known = self.view.records[self.view.row_of[newer.memory_id]]
            sources = tuple(sorted({*older.memory.sources, *known.memory.sources}))
            with self.own.together():
                self.own.write([replace(known, memory=replace(known.memory, sources=sources))], self.now, "said before")
                self.own.supersede([older.memory_id], known, self.now, "said again")
            self.sync()
        return Changes(superseded={older.memory_id: newer.memory_id for older, newer in pairs})

    def _fade(self) -> Changes:
        if self.lifecycle is None:
            return Changes()
        active = self.view.of(self.view.rows())
        gone = dict.fromkeys([*expired(active, self.now), *faded(active, self.now, self.lifecycle)])
        if gone:
            self.own.archive(list(gone), self.now, "faded")
            self.sync()
        return Changes(archived=tuple(gone))


def _weakened(active: Sequence[Record]) -> bool:
    return any(
        one.memory.confidence is not None and one.memory.confidence < 1 and one.memory.kind == "fact" for one in active
    )


def _less_sure(one: Record) -> Record:
    sure = 1.0 if one.memory.confidence is None else one.memory.confidence
    return replace(one, memory=replace(one.memory, confidence=WEAKENED * sure))
