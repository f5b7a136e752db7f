"""The store: one SQLite file that holds all users' events and memories, and is the truth. Indices are made from it.

Crash-safe: write-ahead log, ``synchronous=FULL``, one transaction a call. What a call has returned from is on the disk: it outlives
the process (kill -9) and the machine's power. Notes of what was recalled alone outlive the process only: a recall does not wait for the
disk, and a power cut may take the last of them. Several processes may write: a writer waits for another up to ``BUSY`` seconds.

A user's part is opened by ``store.user(user_id)``: the only door (own.py).
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path

from hindsight.memory.own import Own
from hindsight.types import DataError, HindsightError

APPLICATION = 0x48494E44  # "HIND", in the file's head
SCHEMA = 1
BUSY = 30.0  # seconds
WANTED = "a store, as hindsight.open_memory makes it, or a new name"


class StoreError(HindsightError):
    """The database cannot do it: a full disk, a file that may not be written, another process that holds it for too long."""


class Store:
    """``path``: of the file, or ":memory:". One connection, used by one thread at a time. Close it, or use it in a ``with``."""

    def __init__(self, path: Path | str) -> None:
        self.path = str(path)
        self.closed = False
        self._lock = threading.RLock()
        self._database = _connected(self.path)
        self.salt = self._salt()

    def user(self, user_id: str) -> Own:
        """Raises DataError on an empty id."""
        if not user_id:
            raise DataError("user_id", repr(user_id), "the id of the user whose memory this is")
        return Own(self, user_id)

    def users(self) -> list[str]:
        """Who is known: for operators and the doctor, never for a recall."""
        with self.reading() as database:
            return [row[0] for row in database.execute("SELECT user_id FROM users ORDER BY user_id")]

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One consistent state for all that is read within."""
        with self._lock, _told(self.path):
            if self._database.in_transaction:  # within a write
                yield self._database
                return
            self._database.execute("BEGIN")
            try:
                yield self._database
            finally:
                self._database.execute("ROLLBACK")

    @contextmanager
    def writing(self, flush: bool = True) -> Iterator[sqlite3.Connection]:
        """All of it or nothing; what has been left without an error is on the disk, or without ``flush`` with the system, which writes
        it soon: later flushes, and a checkpoint's, take it along."""
        with self._lock, _told(self.path):
            if self._database.in_transaction:  # part of a larger write
                yield self._database
                return
            self._database.execute(
                f"PRAGMA synchronous = {'FULL' if flush else 'NORMAL'}"
            )  # in force from the next BEGIN on
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield self._database
            except BaseException:
                self._database.execute("ROLLBACK")
                raise
            self._database.execute("COMMIT")

    def wipe(self) -> None:
        """Takes what was deleted out of the write-ahead log too. Raises StoreError where another process is reading an older state."""
        if self.path == ":memory:":
            return
        with self._lock, _told(self.path):
            busy, _, _ = self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if busy:
                raise StoreError(
                    f"{self.path}: erased, but another process still reads the log with the old pages; erase again later"
                )

    def close(self) -> None:
        with self._lock:
            self._database.close()
            self.closed = True

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _salt(self) -> bytes:
        """Of this file: what ids of erased memories are hashed with."""
        with self.writing() as database:
            database.execute("INSERT OR IGNORE INTO meta VALUES ('salt', ?)", (os.urandom(16).hex(),))
            return bytes.fromhex(database.execute("SELECT value FROM meta WHERE key = 'salt'").fetchone()[0])


def open_store(path: Path | str) -> Store:
    """A new file is made where there is none. Raises DataError where the file is no store or a newer version's, StoreError where
    it can't be opened."""
    return Store(path)


@contextmanager
def _told(path: str) -> Iterator[None]:
    try:
        yield
    except (sqlite3.OperationalError, sqlite3.DatabaseError) as error:
        if isinstance(error, sqlite3.IntegrityError):
            raise
        raise StoreError(f"{path}: {error}") from error


def _connected(path: str) -> sqlite3.Connection:
    with _told(path):
        if path != ":memory:" and not Path(path).parent.is_dir():
            raise DataError(path, "no such folder", "a file in a folder that exists")
        database = sqlite3.connect(path, timeout=BUSY, isolation_level=None, check_same_thread=False)
    try:
        _prepared(database, path)
    except BaseException:
        database.close()
        raise
    return database


def _prepared(database: sqlite3.Connection, path: str) -> None:
    try:
        application = database.execute("PRAGMA application_id").fetchone()[0]
        version = database.execute("PRAGMA user_version").fetchone()[0]
        tables = database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError):
            raise StoreError(f"{path}: {error}") from error
        raise DataError(path, error, WANTED) from error
    if tables and application != APPLICATION:
        raise DataError(path, "a database of something else", WANTED)
    if version > SCHEMA:
        raise DataError(
            path, f"schema {version}", f"schema {SCHEMA} or older: this file was written by a newer version of hindsight"
        )
    with _told(path):
        _log_ahead(database)
        database.execute("PRAGMA synchronous = FULL")
        database.execute("PRAGMA secure_delete = ON")  # what is deleted is overwritten with zeros
        if version < SCHEMA:
            _create(database)


def _log_ahead(database: sqlite3.Connection) -> None:
    """Where several processes make a file at once, SQLite refuses all but one at once, without waiting: so it is tried again."""
    until = time.monotonic() + BUSY
    while True:
        try:
            database.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError:
            if time.monotonic() > until:
                raise
            time.sleep(0.01)


def _create(database: sqlite3.Connection) -> None:
    database.execute("BEGIN IMMEDIATE")
    try:
        if database.execute("PRAGMA user_version").fetchone()[0] < SCHEMA:  # another process may have been first
            for statement in _statements(resources.files("hindsight.memory").joinpath("schema.sql").read_text("utf-8")):
                database.execute(statement)
            database.execute(f"PRAGMA application_id = {APPLICATION}")
            database.execute(f"PRAGMA user_version = {SCHEMA}")
        database.execute("COMMIT")
    except BaseException:
        database.execute("ROLLBACK")
        raise


def _statements(script: str) -> Iterator[str]:
    whole = ""
    for line in script.splitlines():
        whole += line + "\n"
        if sqlite3.complete_statement(whole):
            yield whole
            whole = ""
