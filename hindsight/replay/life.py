"""The audit log read in order: what each of its entries did to a memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from hindsight.memory.ledger import Logged
from hindsight.memory.own import Own
from hindsight.memory.record import STATUSES, Record
from hindsight.replay.story import Change, Noted, What

_MARKS: dict[str, tuple[What, str]] = {"archived": ("archived", "archived"), "restored": ("restored", "active")}


@dataclass
class Life:
    """Each memory's status and version, as far as the log has been read."""

    status: dict[str, str] = field(default_factory=dict[str, str])
    version: dict[str, int] = field(default_factory=dict[str, int])

    def note(self, memory_id: str) -> Noted:
        return memory_id, self.version.get(memory_id, 1)

    @property
    def kept(self) -> tuple[int, int, int]:
        found = Counter(self.status.values())
        return found["active"], found["superseded"], found["archived"]

    def read(self, entry: Logged) -> list[Change]:
        """One entry more. What is no change of a memory (a recall) gives none."""
        ids, why = entry.memory_ids, str(entry.detail.get("why", ""))
        if entry.kind == "written":
            return [self._written(one, why) for one in ids]
        if entry.kind == "superseded" and ids:
            return self._superseded(ids[:-1], ids[-1], why)
        if entry.kind == "edited" and ids:
            old = self.note(ids[0])
            self.version[ids[0]] = int(entry.detail.get("version", old[1] + 1))
            return [Change("edited", old, self.note(ids[0]), why)]
        if entry.kind in _MARKS:
            what, status = _MARKS[entry.kind]
            self.status |= dict.fromkeys(ids, status)
            return [Change(what, self.note(one), why=why) for one in ids]
        if entry.kind == "erased":
            for one in ids:
                self.status.pop(one, None)
            return [Change("forgotten", self.note(one)) for one in ids]
        return []

    def _written(self, memory_id: str, why: str) -> Change:
        what: What = "changed" if memory_id in self.status else "written"
        self.status.setdefault(memory_id, "active")
        return Change(what, self.note(memory_id), why=why)

    def _superseded(self, olds: Sequence[str], new: str, why: str) -> list[Change]:
        made = [] if new in self.status else [self._written(new, "")]
        self.status |= dict.fromkeys(olds, "superseded")
        return [*made, *(Change("superseded", self.note(old), self.note(new), why) for old in olds)]


def wordings(own: Own) -> dict[Noted, Record]:
    """Every memory that is still there, once in each of its wordings."""
    found: dict[Noted, Record] = {}
    for one in own.records(*STATUSES):
        found[one.memory_id, one.version] = one
        for old in own.history(one.memory_id) if one.version > 1 else ():
            if old.version < one.version:
                found[one.memory_id, old.version] = replace(one, memory=replace(one.memory, text=old.text))
    return found
