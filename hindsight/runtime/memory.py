"""``record_event``, ``consolidate``, ``recall``, ``forget``, ``edit``, ``history``: one user's memory over a store and a policy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, Literal

from hindsight.features.cues import entities
from hindsight.memory.assemble import Assembled, Budget, assemble
from hindsight.memory.engine import Changes, Engine
from hindsight.memory.lifecycle import Lifecycle
from hindsight.memory.own import Erased, Version
from hindsight.memory.policy import Policy
from hindsight.memory.record import Record, Status
from hindsight.memory.route import Triggers, trigger
from hindsight.memory.store import Store
from hindsight.memory.traces import Rates, Shown, Trace, rates
from hindsight.memory.working import Tokens, Working
from hindsight.runtime.vectors import StoredVectors
from hindsight.text import terms
from hindsight.types import ConfigError, Hit, Memory, Query, Role, ToolCall, Turn, opaque

SYSTEMS = ("utility", "bionic", "reflective", "scheduler", "layered")
System = Literal["utility", "bionic", "reflective", "scheduler", "layered"]


@dataclass(frozen=True)
class Settings:
    """``system``: the policy. ``k`` memories a recall, of a utility from ``threshold`` on (utility alone). ``lifecycle`` None: nothing
    fades. ``merge``: on consolidation, what says the same as a newer memory goes into it."""

    system: System = "utility"
    k: int = 5
    threshold: float = 0.0
    triggers: Triggers = field(default_factory=Triggers)
    budget: Budget = field(default_factory=Budget)
    lifecycle: Lifecycle | None = None
    merge: bool = False

    def __post_init__(self) -> None:
        wrong = {
            f"system={self.system}: wanted one of {', '.join(SYSTEMS)}": self.system not in SYSTEMS,
            f"k={self.k}: wanted 1 or more": self.k < 1,
            f"threshold={self.threshold}: wanted from 0 to below 1": not 0 <= self.threshold < 1,
        }
        if problems := [problem for problem, holds in wrong.items() if holds]:
            raise ConfigError(problems)


@dataclass(frozen=True, slots=True)
class Recalled:
    """``trigger``: why it was recalled, "" where nothing asked for it, and then there are no hits. ``text``: what goes into the
    prompt, of ``tokens`` tokens; ``shown``: ids of the memories that are in it."""

    trigger: str
    hits: tuple[Hit, ...] = ()
    memories: tuple[Memory, ...] = ()
    text: str = ""
    shown: tuple[str, ...] = ()
    tokens: int = 0


class OpenMemory:
    """Made by ``hindsight.open_memory``. ``tokens`` counts a text's; ``clock`` gives Unix seconds.

    Use it from one thread at a time; several processes may have the same user's open.
    """

    def __init__(
        self, store: Store, user_id: str, policy: Policy, encoder: StoredVectors, settings: Settings, tokens: Tokens, clock: Callable[[], float]
    ) -> None:  # fmt: skip
        self.user_id, self.settings = user_id, settings
        self._store, self._own, self._encoder = store, store.user(user_id), encoder
        self._tokens, self._clock = tokens, clock
        encoder.load(self._own, self._own.records("active", "superseded", "archived"))
        self._engine = Engine(self._own, policy, encoder, settings.lifecycle, settings.merge)
        if len(self._engine.view):  # a policy makes its own of the past once: here, where vectors are at hand
            known = self._engine.view.records[-1].memory.text
            self._engine.recall(Query("", user_id, "", known, self._engine.next_position), 1)
        encoder.unload()
        self.working = Working(int(settings.budget.window - settings.budget.reply - settings.budget.memory), tokens)
        self._since = 0  # turns since the last recall
        self._shown: tuple[Record, ...] = ()

    # writing

    def record_event(
        self, text: str, role: Role = "user", *, speaker: str = "", session: str = "", time: str | None = None,
        calls: Sequence[ToolCall] = (),
    ) -> Changes:  # fmt: skip
        """What was said, faithfully, and what is remembered of it at once. Injected memories in it are not remembered again.

        ``time``: ISO 8601, the clock's where it is not given. ``session``: the last event's where it is not given.
        """
        self._engine.sync()  # before others have to wait for this write
        known = self._engine.view.turns
        at = time or datetime.fromtimestamp(self._clock(), timezone.utc).isoformat(timespec="seconds")
        whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # a lone surrogate has no UTF-8 form
        session = session or (known[-1].session if known else "1")
        with self._own.together():  # no other process takes the position
            turn = Turn(self._own.next_position(), session, speaker or role, role, whole, at, tuple(calls))
            changes = self._engine.record([turn])
        self.working.add(turn)
        self._since += 1
        if role == "assistant" and self._shown:
            self._cite(whole)
        return changes

    def consolidate(self) -> Changes:
        """Facts from what was said since the last time; batches that failed are tried again; what has faded is archived."""
        changes = self._engine.consolidate()
        self._encoder.save(self._own, self._engine.view.records)
        return changes

    # recalling

    def recall(self, text: str, *, k: int = 0, goal: str = "", force: bool = True) -> Recalled:
        """Memories for what is asked next, best first, and the text for the prompt. Without ``force`` only where a trigger says so."""
        now = self._clock()
        self._engine.sync()
        why = trigger(text, self.working.used, self._engine.view.terms, self._since, self.settings.triggers) or (
            "asked" if force else ""
        )
        position = self._engine.next_position
        if not why:
            self._own.trace(Trace(now, position))
            return Recalled("")
        at = datetime.fromtimestamp(now, timezone.utc).isoformat(timespec="seconds")
        query = Query(opaque("recall", position, text), self.user_id, "", text, position, goal, at)
        hits = self._engine.recall(query, k or self.settings.k)
        records = [self._engine.view.records[self._engine.view.row_of[hit.memory_id]] for hit in hits]
        ready = self.prompt(records)
        self._since, self._shown = 0, tuple(one for one in records if one.memory_id in ready.shown)
        shown = tuple(Shown(hit.memory_id, rank) for rank, hit in enumerate(hits, 1) if hit.memory_id in ready.shown)
        with self._own.together(flush=False):
            self._engine.read(query, hits)
            self._own.trace(Trace(now, position, why, len(hits), shown, tokens=ready.tokens))
        return Recalled(why, tuple(hits), tuple(one.memory for one in records), ready.text, ready.shown, ready.tokens)

    def prompt(self, records: Sequence[Record]) -> Assembled:
        """Background, history and the conversation in the token budget; the conversation wins."""
        return assemble(records, self.working.turns, self._tokens, self.settings.budget)

    # what the user may do with what is known

    def memories(self, *statuses: Status) -> list[Memory]:
        """Those with one of the statuses, active where none is given, oldest first."""
        return [one.memory for one in self._own.records(*statuses)]

    def edit(self, memory_id: str, text: str, why: str = "") -> Memory:
        """The old words stay in its history. Raises DataError where this user has no such memory."""
        found = self._own.edit(memory_id, text, self._clock(), why)
        self._engine.sync()
        return found.memory

    def archive(self, memory_id: str, why: str = "") -> None:
        """No longer recalled; ``restore`` brings it back."""
        self._own.archive([memory_id], self._clock(), why)
        self._engine.sync()

    def restore(self, memory_id: str, why: str = "") -> None:
        self._own.restore([memory_id], self._clock(), why)
        self._engine.sync()

    def forget(self, memory_id: str) -> Erased:
        """For good, with the events that it draws on and whatever else was drawn from those: no bytes are left."""
        erased = self._own.erase([memory_id], self._clock())
        self._engine.sync()
        gone = set(erased.events)
        self.working.turns = [turn for turn in self.working.turns if turn.position not in gone]
        self._shown = ()
        return erased

    def forget_all(self) -> Erased:
        """The user was never here."""
        erased = self._own.erase_all()
        self._engine = Engine(self._own, self._engine.policy, self._encoder, self.settings.lifecycle, self.settings.merge)
        self.working.clear()
        self._shown = ()
        return erased

    def history(self, memory_id: str) -> list[Version]:
        return self._own.history(memory_id)

    def export(self) -> dict[str, Any]:
        """All that is known of the user, as JSON has it."""
        return self._own.export()

    def rates(self) -> Rates:
        """How often it recalls, hits and is cited."""
        written = [one.at for one in self._own.logged() if one.kind == "written"]
        return rates(self._own.traces(), written)

    def close(self) -> None:
        """Again does nothing."""
        if self._store.closed:
            return
        self._engine.sync()
        self._encoder.save(self._own, self._engine.view.records)
        self._store.close()

    def __enter__(self) -> OpenMemory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _cite(self, reply: str) -> None:
        """A memory is cited where the reply names what it names, or says most of it, and the dialogue had not said it yet."""
        said = set(terms(reply))
        cited = [
            one.memory_id
            for one in self._shown
            if (own := set(terms(one.memory.text)))
            and (entities(one.memory.text) & entities(reply) or len(own & said) >= 0.5 * len(own))
        ]
        self._own.cite(cited)
        self._shown = ()
