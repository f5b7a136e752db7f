"""One user's part of a store. Every method is one transaction."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from hindsight.io import to_json
from hindsight.memory.erase import closure, remove
from hindsight.memory.forms import EVENT, RECORD, event_row, record_of, record_row, turns_of
from hindsight.memory.ledger import Ledger
from hindsight.memory.record import Record, Status
from hindsight.memory.rows import Rows
from hindsight.types import DataError, Turn


@dataclass(frozen=True, slots=True)
class Version:
    """What happened to a memory. ``event``: written, edited, superseded, archived, restored, changed."""

    version: int
    event: str
    text: str
    at: float
    why: str


@dataclass(frozen=True, slots=True)
class Erased:
    """``memories``: what was asked for, and whatever else was drawn from the same events; ``events``: positions."""

    memories: tuple[str, ...] = ()
    events: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Since:
    """``erased``: something is gone for good, and ``records`` are all there are."""

    change: int
    records: tuple[Record, ...]
    erased: bool = False


class Own(Ledger):
    """Made by ``store.user(user_id)``."""

    # events

    def append(self, turns: Sequence[Turn]) -> None:
        """Raises DataError where another turn stands at a position; the same turn may come again."""
        with self._writing() as (rows, _):
            for turn in turns:
                found = turns_of(rows.select("events", EVENT, "position = ?", (turn.position,)))
                if not found:
                    rows.insert("events", [event_row(turn)])
                elif found != [turn]:
                    raise DataError(f"event {turn.position}", "another turn at this position", "each position once")

    def next_position(self) -> int:
        with self._reading() as rows:
            return rows.next("events", "position")

    def events(self, start: int = 0, stop: int | None = None) -> list[Turn]:
        """Those that were not erased, in order, from ``start`` to before ``stop``."""
        until = 2**62 if stop is None else stop
        with self._reading() as rows:
            where = "position >= ? AND position < ? AND text IS NOT NULL"
            return turns_of(rows.select("events", EVENT, where, (start, until), "position"))

    # memories

    def write(self, records: Sequence[Record], at: float = 0.0, why: str = "") -> None:
        """New memories, or others in the place of those with the same id. Raises DataError on a memory of another user."""
        with self._writing() as (rows, change):
            for record in records:
                old = self._found(rows, record.memory_id)
                event = "written" if old is None else "changed"
                self._put(rows, change, record, event if old != record else "", at or record.written, why)
            self._log(rows, at, "written", [one.memory_id for one in records], {"why": why} if why else {})

    def supersede(self, old: Sequence[str], new: Record, at: float = 0.0, why: str = "") -> None:
        """``new`` is written where it is not there yet; the old ones stay, marked, with a link to it. Raises DataError on an unknown
        id, and where the links would go in a circle."""
        with self._writing() as (rows, change):
            known = self._found(rows, new.memory_id)
            if known is None:
                self._put(rows, change, new, "written", at or new.written, why)
            after, chain = known, {new.memory_id}
            while after is not None and after.successor:
                chain.add(after.successor)
                after = self._found(rows, after.successor)
            if circle := chain.intersection(old):
                raise DataError(
                    f"memory {sorted(circle)[0]}", f"superseded by {new.memory_id}", "a successor that it does not follow"
                )
            for memory_id in old:
                one = self._known(rows, memory_id)
                marked = replace(one, memory=replace(one.memory, status="superseded"), successor=new.memory_id)
                self._put(rows, change, marked, "superseded", at, why)
            self._log(rows, at, "superseded", [*old, new.memory_id], {"why": why} if why else {})

    def archive(self, ids: Sequence[str], at: float = 0.0, why: str = "") -> None:
        """No longer recalled, and still there."""
        self._mark(ids, "archived", "archived", at, why)

    def restore(self, ids: Sequence[str], at: float = 0.0, why: str = "") -> None:
        """Raises DataError on one that was superseded: that is for its successor to be."""
        with self._writing() as (rows, _):
            for one in (self._known(rows, memory_id) for memory_id in ids):
                if one.status == "superseded":
                    raise DataError(f"memory {one.memory_id}", "superseded", "an archived one, or an active one")
                others = (
                    rows.select("memories", RECORD, "about = ? AND status = 'active'", (one.about,)) if one.about else []
                )
                if one.memory.kind == "fact" and any(o.memory.kind == "fact" for o in self._records(others) if o != one):
                    raise DataError(
                        f"memory {one.memory_id}", f"another fact of {one.about} in force", "that one archived first"
                    )
            self._mark(ids, "active", "restored", at, why)

    def edit(self, memory_id: str, text: str, at: float = 0.0, why: str = "") -> Record:
        """The same memory in other words; the old ones stay in its history. Its vectors are dropped."""
        with self._writing() as (rows, change):
            one = self._known(rows, memory_id)
            edited = replace(one, memory=replace(one.memory, text=text, window=text), version=one.version + 1)
            self._put(rows, change, edited, "edited", at, why)
            rows.delete("vectors", "memory_id = ?", (memory_id,))
            self._log(rows, at, "edited", [memory_id], {"why": why, "version": edited.version})
            return edited

    def read(self, ids: Sequence[str], at: float = 0.0, detail: Mapping[str, Any] | None = None) -> None:
        """Each was recalled once more. ``detail``: for the audit log."""
        with self._writing(flush=False) as (rows, change):
            for memory_id in ids:
                one = self._known(rows, memory_id)
                seen = at if one.read is None else max(at, one.read)
                rows.update(
                    "memories", {"reads": one.reads + 1, "read": seen, "change": change}, "memory_id = ?", (memory_id,)
                )
            self._log(rows, at, "recalled", ids, detail or {})

    def records(self, *statuses: Status) -> list[Record]:
        """Those with one of the statuses, active where none is given, by their last source."""
        wanted = statuses or ("active",)
        with self._reading() as rows:
            where = f"status IN ({', '.join('?' * len(wanted))})"
            return self._records(rows.select("memories", RECORD, where, wanted, "last, memory_id"))

    def record(self, memory_id: str) -> Record:
        """Raises DataError where this user has none such."""
        with self._reading() as rows:
            return self._known(rows, memory_id)

    def since(self, change: int = -1) -> Since:
        """What is new or other than at a change number, whichever process wrote it."""
        with self._reading() as rows:
            now, erased = (rows.select("users", "change, erased") or [(0, 0)])[0]
            gone = erased > change >= 0
            found = rows.select("memories", RECORD, "change > ?", (-1 if gone else change,), "last, memory_id")
            return Since(now, tuple(self._records(found)), gone)

    def history(self, memory_id: str) -> list[Version]:
        """Oldest first. Raises DataError where this user has none such."""
        with self._reading() as rows:
            self._known(rows, memory_id)
            found = rows.select("versions", "version, event, text, at, why", "memory_id = ?", (memory_id,), "number")
            return [Version(*row) for row in found]

    # erasing, exporting

    def erase(self, ids: Sequence[str], at: float = 0.0) -> Erased:
        """For good: the memories, the events that they draw on, and all that was drawn from those. Nothing of their text is left in
        the file or its log. The audit log keeps that something was erased, under a salted hash."""
        with self._writing() as (rows, change):
            for memory_id in ids:
                self._known(rows, memory_id)
            memories, events = closure(rows, ids)
            marks = remove(rows, change, memories, events, self._store.salt)
            self._log(rows, at, "erased", marks, {"events": len(events)})
        self._store.wipe()
        return Erased(tuple(sorted(memories)), tuple(sorted(events)))

    def erase_all(self) -> Erased:
        """The user was never here: not even the audit log stays."""
        with self._writing() as (rows, _):
            memories = [row[0] for row in rows.select("memories", "memory_id")]
            events = [row[0] for row in rows.select("events", "position")]
            for table in ("events", "memories", "sources", "versions", "vectors", "batches", "audit", "traces", "users"):
                rows.delete(table)
        self._store.wipe()
        return Erased(tuple(sorted(memories)), tuple(sorted(events)))

    def export(self) -> dict[str, Any]:
        """All that is known of the user, as JSON has it."""
        with self._reading() as rows:
            every = self._records(rows.select("memories", RECORD, order="last, memory_id"))
            found = {
                "user_id": self.user_id,
                "events": [asdict(turn) for turn in self.events()],
                "memories": [asdict(one) | {"history": [asdict(v) for v in self.history(one.memory_id)]} for one in every],
                "audit": [asdict(one) for one in self.logged()],
                "traces": [asdict(one) for one in self.traces()],
            }
        return json.loads(to_json(found))

    # within a transaction

    def _records(self, found: Sequence[tuple[Any, ...]]) -> list[Record]:
        return [record_of(self.user_id, row) for row in found]

    def _found(self, rows: Rows, memory_id: str) -> Record | None:
        found = self._records(rows.select("memories", RECORD, "memory_id = ?", (memory_id,)))
        return found[0] if found else None

    def _known(self, rows: Rows, memory_id: str) -> Record:
        if (found := self._found(rows, memory_id)) is None:
            raise DataError("memory", memory_id, "the id of a memory of this user")
        return found

    def _put(self, rows: Rows, change: int, record: Record, event: str, at: float, why: str) -> None:
        """``event``: what its history says of it, "" for nothing."""
        memory = record.memory
        if memory.user_id != self.user_id:
            raise DataError(f"memory {record.memory_id}", "a memory of another user", "this user's")
        rows.insert("memories", [{**record_row(record), "change": change}], replace=True)
        rows.delete("sources", "memory_id = ?", (record.memory_id,))
        rows.insert("sources", [{"position": at, "memory_id": record.memory_id} for at in sorted(set(memory.sources))])
        if event:
            number = rows.next("versions", where="memory_id = ?", values=(record.memory_id,))
            told = {"version": record.version, "event": event, "text": memory.text, "at": at, "why": why}
            rows.insert("versions", [{"memory_id": record.memory_id, "number": number, **told}])

    def _mark(self, ids: Sequence[str], status: Status, event: str, at: float, why: str) -> None:
        with self._writing() as (rows, change):
            for memory_id in ids:
                one = self._known(rows, memory_id)
                self._put(rows, change, replace(one, memory=replace(one.memory, status=status)), event, at, why)
            self._log(rows, at, event, ids, {"why": why} if why else {})
