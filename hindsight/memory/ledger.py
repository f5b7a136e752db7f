"""What was decided of one user's memory and what is still to do: audit log, traces, batches, vectors. Every method is one transaction."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

from hindsight.io import to_json
from hindsight.memory.forms import trace_of
from hindsight.memory.rows import Rows
from hindsight.memory.traces import Trace
from hindsight.types import DataError


class Database(Protocol):
    """What is asked of a store. ``salt``: what ids of erased memories are hashed with; ``wipe``: takes what was deleted out of its log."""

    @property
    def salt(self) -> bytes: ...

    def reading(self) -> AbstractContextManager[sqlite3.Connection]: ...

    def writing(self, flush: bool = True) -> AbstractContextManager[sqlite3.Connection]: ...

    def wipe(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Logged:
    """``detail``: numbers and words of ours, never what a user said."""

    at: float
    kind: str
    memory_ids: tuple[str, ...]
    detail: Mapping[str, Any]


class Ledger:
    """One user's."""

    def __init__(self, store: Database, user_id: str) -> None:
        self.user_id, self._store = user_id, store

    @contextmanager
    def together(self, flush: bool = True) -> Iterator[None]:
        """All calls within are one transaction. ``flush``: as store.py."""
        with self._store.writing(flush):
            yield

    def log(self, kind: str, memory_ids: Sequence[str], detail: Mapping[str, Any], at: float = 0.0) -> None:
        with self._writing() as (rows, _):
            self._log(rows, at, kind, memory_ids, detail)

    def logged(self) -> list[Logged]:
        """Oldest first."""
        with self._reading() as rows:
            found = rows.select("audit", "at, kind, memory_ids, detail", order="number")
            return [Logged(at, kind, tuple(json.loads(ids)), json.loads(detail)) for at, kind, ids, detail in found]

    def trace(self, trace: Trace) -> None:
        with self._writing(flush=False) as (rows, _):
            rows.insert("traces", [{"number": rows.next("traces"), "at": trace.at, "trace": to_json(trace)}])

    def traces(self) -> list[Trace]:
        """Oldest first."""
        with self._reading() as rows:
            return [trace_of(body) for (body,) in rows.select("traces", "trace", order="number")]

    def cite(self, memory_ids: Sequence[str]) -> None:
        """The reply to the last recall used these."""
        with self._writing(flush=False) as (rows, _):
            last = rows.select("traces", "number, trace", order="number DESC LIMIT 1")
            for number, body in last:
                cited = to_json(replace(trace_of(body), cited=tuple(memory_ids)))
                rows.update("traces", {"trace": cited}, "number = ?", (number,))

    # consolidation

    def batch(self, start: int, stop: int) -> None:
        """These events are to be consolidated. Raises DataError where a batch begins there already."""
        with self._writing() as (rows, _):
            if rows.select("batches", "start", "start < ? AND stop > ?", (stop, start)):
                raise DataError(f"batch {start} to {stop}", "events of another batch", "each event in one batch")
            rows.insert("batches", [{"start": start, "stop": stop}])

    def batched(self) -> int:
        """The first position that is in no batch yet."""
        with self._reading() as rows:
            return rows.select("batches", "coalesce(max(stop), 0)")[0][0]

    def pending(self) -> list[tuple[int, int]]:
        """(start, stop) of the batches that are not consolidated yet, oldest first."""
        with self._reading() as rows:
            return [(start, stop) for start, stop in rows.select("batches", "start, stop", "NOT settled", order="start")]

    def tries(self, start: int) -> int:
        """How often the batch that begins there has failed."""
        with self._reading() as rows:
            return (rows.select("batches", "tries", "start = ?", (start,)) or [(0,)])[0][0]

    @contextmanager
    def settling(self, start: int) -> Iterator[None]:
        """What is written within, and that the batch is consolidated: all or nothing."""
        with self._writing() as (rows, _):
            yield
            rows.update("batches", {"settled": 1, "why": ""}, "start = ?", (start,))

    def failed(self, start: int, why: str) -> None:
        """The batch stays pending."""
        with self._writing() as (rows, _):
            rows.update("batches", {"tries": self.tries(start) + 1, "why": why}, "start = ?", (start,))

    # vectors

    def put_vectors(self, fingerprint: str, vectors: Mapping[str, bytes]) -> None:
        """memory_id -> its vectors as bytes. Raises DataError on a memory that is not there."""
        with self._writing() as (rows, _):
            for memory_id in vectors:
                if not rows.select("memories", "1", "memory_id = ?", (memory_id,)):
                    raise DataError("memory", memory_id, "the id of a memory of this user")
            body = [{"memory_id": one, "fingerprint": fingerprint, "body": vector} for one, vector in vectors.items()]
            rows.insert("vectors", body, replace=True)

    def vectors(self, fingerprint: str) -> dict[str, bytes]:
        """memory_id -> bytes, of this encoder alone."""
        with self._reading() as rows:
            return dict(rows.select("vectors", "memory_id, body", "fingerprint = ?", (fingerprint,)))

    def vectored(self, fingerprint: str) -> frozenset[str]:
        """Ids of the memories that have vectors of this encoder."""
        with self._reading() as rows:
            return frozenset(row[0] for row in rows.select("vectors", "memory_id", "fingerprint = ?", (fingerprint,)))

    # within a transaction

    @contextmanager
    def _reading(self) -> Iterator[Rows]:
        with self._store.reading() as database:
            yield Rows(database, self.user_id)

    @contextmanager
    def _writing(self, flush: bool = True) -> Iterator[tuple[Rows, int]]:
        """(rows, the number of this change)."""
        with self._store.writing(flush) as database:
            rows = Rows(database, self.user_id)
            change = (rows.select("users", "change") or [(0,)])[0][0] + 1
            if not rows.update("users", {"change": change}, "1"):
                rows.insert("users", [{"change": change}])
            yield rows, change

    def _log(self, rows: Rows, at: float, kind: str, ids: Sequence[str], detail: Mapping[str, Any]) -> None:
        row = {"at": at, "kind": kind, "memory_ids": to_json(list(ids)), "detail": to_json(dict(detail))}
        rows.insert("audit", [{"number": rows.next("audit"), **row}])
