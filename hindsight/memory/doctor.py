"""Is a store whole, and does everything in it agree? Reads it and changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from hindsight.memory.forms import RECORD, record_of
from hindsight.memory.record import LAYERS, ORIGINS, STATUSES, Record
from hindsight.memory.rows import Rows
from hindsight.memory.store import open_store
from hindsight.types import DataError


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """``problems``: one line each, none where all is well."""

    users: int
    events: int
    memories: int
    problems: tuple[str, ...]


def examine(path: Path) -> Diagnosis:
    """Raises DataError where there is no store."""
    if not path.exists():
        raise DataError(path, "no such file", "a store")
    with open_store(path) as store, store.reading() as database:
        problems = [f"file: {row[0]}" for row in database.execute("PRAGMA integrity_check") if row[0] != "ok"]
        users = store.users()
        events = memories = 0
        for user_id in users:
            rows = Rows(database, user_id)
            records = {row[0]: record_of(user_id, row) for row in rows.select("memories", RECORD)}
            events += len(rows.select("events", "position", "text IS NOT NULL"))
            memories += len(records)
            problems += [f"user {user_id}: {problem}" for problem in _user(rows, records)]
        for table in ("events", "memories", "versions", "vectors", "sources", "audit", "traces", "batches"):
            for (user_id,) in database.execute(f"SELECT DISTINCT user_id FROM {table} EXCEPT SELECT user_id FROM users"):
                problems.append(f"user {user_id}: rows in {table}, and no change number")
    return Diagnosis(len(users), events, memories, tuple(problems))


def _user(rows: Rows, records: dict[str, Record]) -> Iterator[str]:
    yield from _records(rows, records)
    yield from _links(records)
    for table in ("versions", "vectors", "sources"):
        for (memory_id,) in rows.select(table, "DISTINCT memory_id"):
            if memory_id not in records:
                yield f"{table} of memory {memory_id}, which is not there"
    change = rows.select("users", "change")[0][0]
    if ahead := rows.select("memories", "memory_id", "change > ?", (change,)):
        yield f"memory {ahead[0][0]} is ahead of the change number {change}"
    fingerprints = [row[0] for row in rows.select("vectors", "DISTINCT fingerprint")]
    if len(fingerprints) > 1:
        yield f"vectors of {len(fingerprints)} encoders: {', '.join(sorted(fingerprints))}; encode again with one"
    ends: list[tuple[int, int]] = rows.select("batches", "start, stop", order="start")
    for (_, stop), (start, _) in pairwise(ends):
        if start < stop:
            yield f"batches overlap at event {start}"


def _records(rows: Rows, records: dict[str, Record]) -> Iterator[str]:
    known = dict(rows.select("events", "position, text IS NOT NULL"))
    drawn: dict[str, set[int]] = {}
    for memory_id, position in rows.select("sources", "memory_id, position"):
        drawn.setdefault(memory_id, set()).add(position)
    latest = {
        memory_id: (version, text)
        for memory_id, version, text in rows.select("versions", "memory_id, version, text", order="number")
    }
    about: dict[str, str] = {}
    for memory_id, one in records.items():
        if drawn.get(memory_id, set()) != set(one.memory.sources):
            yield f"memory {memory_id}: its sources are listed otherwise"
        for position in one.memory.sources:
            if not known.get(position):
                yield f"memory {memory_id}: draws on event {position}, which {'was erased' if position in known else 'is not there'}"
        if latest.get(memory_id, (0, ""))[0] != one.version or latest[memory_id][1] != one.memory.text:
            yield f"memory {memory_id}: version {one.version} is not the last in its history"
        if one.status not in STATUSES or one.layer not in LAYERS or one.origin not in ORIGINS:
            yield f"memory {memory_id}: status {one.status}, layer {one.layer}, origin {one.origin}"
        if one.about and one.status == "active" and one.memory.kind == "fact":
            if one.about in about:
                yield f"memories {about[one.about]} and {memory_id}: two active facts of {one.about}"
            about[one.about] = memory_id


def _links(records: dict[str, Record]) -> Iterator[str]:
    for memory_id, one in records.items():
        seen, after = {memory_id}, one
        while after.successor:
            if after.successor not in records:
                yield f"memory {memory_id}: superseded by {after.successor}, which is not there"
                break
            if after.successor in seen:
                yield f"memory {memory_id}: superseded in a circle"
                break
            seen.add(after.successor)
            after = records[after.successor]
