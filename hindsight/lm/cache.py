"""Likelihoods kept on disk by the model's fingerprint and the texts' hash, so that none is computed twice and a stopped run goes on.

One SQLite file a fingerprint; what one call computed is committed together, so an interrupted run loses one call at most.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from hindsight.encoder.cache import KEYS_AT_ONCE, use_log
from hindsight.lm.local import Likelihood, LocalModel
from hindsight.types import DataError


class CachedLm:
    """``folder`` None: nothing is kept. ``hits`` and ``misses`` count texts."""

    def __init__(self, inner: LocalModel, folder: Path | None) -> None:
        self.inner, self.fingerprint = inner, inner.fingerprint
        key = sha256(self.fingerprint.encode()).hexdigest()[:16]
        self.path = folder / f"lm-{key}.sqlite" if folder is not None else None
        self.hits = self.misses = 0
        self._open: tuple[int, sqlite3.Connection] | None = None

    def likelihoods(self, prefix: str, middles: Sequence[str], target: str) -> list[Likelihood]:
        """As the model's own. Each distinct middle is computed once."""
        keys = {middle: _key(prefix, middle, target) for middle in middles}
        found = self._look_up(keys)
        missing = [middle for middle in keys if middle not in found]
        self.hits, self.misses = self.hits + len(found), self.misses + len(missing)
        if missing:
            new = dict(zip(missing, self.inner.likelihoods(prefix, missing, target)))
            self._store([(keys[middle], one.total, one.tokens) for middle, one in new.items()])
            found |= new
        return [found[middle] for middle in middles]

    def _look_up(self, keys: dict[str, bytes]) -> dict[str, Likelihood]:
        if self.path is None:
            return {}
        of_key = {key: middle for middle, key in keys.items()}
        found: dict[str, Likelihood] = {}
        listed = list(of_key)
        try:
            for start in range(0, len(listed), KEYS_AT_ONCE):
                part = listed[start : start + KEYS_AT_ONCE]
                marks = ",".join("?" * len(part))
                asked = f"SELECT key, total, tokens FROM likelihoods WHERE key IN ({marks})"
                for key, total, tokens in self._database().execute(asked, part):
                    found[of_key[key]] = Likelihood(total, tokens)
        except (sqlite3.DatabaseError, OSError) as error:
            raise DataError(
                self.path, error, "a cache of likelihoods that can be read (a deleted one is made anew)"
            ) from error
        return found

    def _store(self, rows: Sequence[tuple[bytes, float, int]]) -> None:
        if self.path is None:
            return
        try:
            with self._database() as transaction:
                transaction.executemany("INSERT OR REPLACE INTO likelihoods VALUES (?, ?, ?)", rows)
        except (sqlite3.DatabaseError, OSError) as error:
            raise DataError(self.path, error, "a cache of likelihoods that can be written") from error

    def _database(self) -> sqlite3.Connection:
        """One connection a process: SQLite's must not cross a fork."""
        assert self.path is not None
        if self._open is None or self._open[0] != os.getpid():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            database = sqlite3.connect(self.path, timeout=60)
            use_log(database)
            database.execute("PRAGMA synchronous=NORMAL")
            table = "likelihoods (key BLOB PRIMARY KEY, total REAL NOT NULL, tokens INTEGER NOT NULL)"
            database.execute(f"CREATE TABLE IF NOT EXISTS {table}")
            self._open = os.getpid(), database
        return self._open[1]


def _key(prefix: str, middle: str, target: str) -> bytes:
    return sha256(json.dumps([prefix, middle, target]).encode()).digest()
