"""Vectors kept on disk by the encoder's fingerprint and the text's hash, so that a text is encoded once.

One SQLite file a fingerprint. SQLite's log makes a torn write vanish and lets several processes read and write at once.
A value is one byte string, little-endian, and whatever comes out went through it, warm or cold:

    version u8 | bytes a piece u8 | dimension u16 | token dimension u16 | tokens u32 | crc32 of the rest u32
    pooled float16 (dimension) | tokens int8 (tokens, token dimension) | pieces u16 or i32 (tokens)
"""

from __future__ import annotations

import os
import re
import sqlite3
import struct
import threading
import time
import zlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from hindsight.types import DataError, Encoded, Encoder

VERSION = 1
HEAD = struct.Struct("<BBHHII")
KEYS_AT_ONCE = 500
MISSES_AT_ONCE = 8192  # committed together: what an interrupted run loses at most


@dataclass(frozen=True)
class CacheConfig:
    """``folder``: "auto" is HINDSIGHT_CACHE or the user's cache folder; empty keeps vectors in memory alone."""

    folder: str = "auto"
    megabytes: int = 256

    def build(self, inner: Encoder) -> CachedEncoder:
        folder = default_folder() if self.folder == "auto" else Path(self.folder) if self.folder else None
        return CachedEncoder(inner, folder, self.megabytes << 20)


def default_folder() -> Path:
    if here := os.environ.get("HINDSIGHT_CACHE"):
        return Path(here)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hindsight"


class CachedEncoder:
    """``folder`` None: in memory alone. ``memory_bytes`` bounds the vectors held in memory, least recently used out first.

    Arrays are read-only, since they are shared.
    """

    def __init__(self, inner: Encoder, folder: Path | None, memory_bytes: int = 256 << 20) -> None:
        self.inner, self.folder, self.memory_bytes = inner, folder, memory_bytes
        self.fingerprint, self.dimension = inner.fingerprint, inner.dimension
        slug = re.sub(r"[^A-Za-z0-9]+", "-", self.fingerprint.split(" ")[0])
        key = sha256(self.fingerprint.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        self.path = folder / f"{slug}-{key}.sqlite" if folder is not None else None
        self.hits = self.misses = 0  # distinct texts a call
        self._recent: OrderedDict[bytes, Encoded] = OrderedDict()
        self._held = 0
        self._lock = threading.Lock()
        self._open: tuple[int, sqlite3.Connection] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process gets the file, not the connection or what is held in memory."""
        return CachedEncoder, (self.inner, self.folder, self.memory_bytes)

    def encode(self, texts: Sequence[str]) -> list[Encoded]:
        """In the order of ``texts``. A row that does not unpack is encoded anew and replaced."""
        keys = [sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
        wanted = dict(zip(keys, texts))
        with self._lock:
            found = self._look_up(list(wanted))
        missing = [key for key in wanted if key not in found]
        self.hits, self.misses = self.hits + len(found), self.misses + len(missing)
        for start in range(0, len(missing), MISSES_AT_ONCE):
            part = missing[start : start + MISSES_AT_ONCE]
            packed = [pack(encoded) for encoded in self.inner.encode([wanted[key] for key in part])]
            found.update(zip(part, map(unpack, packed)))
            with self._lock:
                self._store(list(zip(part, packed)))
        with self._lock:
            self._remember(found)
        return [found[key] for key in keys]

    def _look_up(self, keys: Sequence[bytes]) -> dict[bytes, Encoded]:
        found = {key: self._recent[key] for key in keys if key in self._recent}
        rest = [key for key in keys if key not in found]
        if self.path is None or not rest:
            return found
        try:
            for start in range(0, len(rest), KEYS_AT_ONCE):
                part = rest[start : start + KEYS_AT_ONCE]
                marks = ",".join("?" * len(part))
                for key, value in self._database().execute(f"SELECT key, value FROM vectors WHERE key IN ({marks})", part):
                    try:
                        encoded = unpack(value)
                    except DataError:
                        continue
                    if encoded.pooled.size == self.dimension:
                        found[key] = encoded
        except (sqlite3.DatabaseError, OSError) as error:
            raise DataError(self.path, error, "a cache of vectors that can be read (a deleted one is made anew)") from error
        return found

    def _store(self, rows: Sequence[tuple[bytes, bytes]]) -> None:
        if self.path is None:
            return
        try:
            with self._database() as transaction:
                transaction.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)
        except (sqlite3.DatabaseError, OSError) as error:
            raise DataError(self.path, error, "a cache of vectors that can be written") from error

    def _remember(self, found: dict[bytes, Encoded]) -> None:
        for key, encoded in found.items():
            if key not in self._recent:
                self._held += bytes_of(encoded)
            self._recent[key] = encoded
            self._recent.move_to_end(key)
        while self._held > self.memory_bytes and self._recent:
            self._held -= bytes_of(self._recent.popitem(last=False)[1])

    def _database(self) -> sqlite3.Connection:
        """One connection a process: SQLite's must not cross a fork."""
        assert self.path is not None
        if self._open is None or self._open[0] != os.getpid():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            database = sqlite3.connect(self.path, timeout=60, check_same_thread=False)
            use_log(database)
            database.execute("PRAGMA synchronous=NORMAL")
            database.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, value BLOB NOT NULL)")
            self._open = os.getpid(), database
        return self._open[1]


def use_log(database: sqlite3.Connection) -> None:
    """Two processes that both make a file collide here, and SQLite's own timeout does not cover this step."""
    for tries in range(600, -1, -1):
        try:
            database.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError:
            if not tries:
                raise
            time.sleep(0.05)


def bytes_of(encoded: Encoded) -> int:
    """State that a memory costs: pooled and token vectors as stored (float16 and int8), pieces by their width."""
    return encoded.pooled.size * 2 + encoded.tokens.size + encoded.pieces.size * _width(encoded)


def pack(encoded: Encoded) -> bytes:
    width = _width(encoded)
    pooled = encoded.pooled.astype("<f2").tobytes()
    pieces = encoded.pieces.astype("<u2" if width == 2 else "<i4").tobytes()
    body = pooled + np.ascontiguousarray(encoded.tokens).tobytes() + pieces
    count, token_dimension = encoded.tokens.shape
    return HEAD.pack(VERSION, width, encoded.pooled.size, token_dimension, count, zlib.crc32(body)) + body


def unpack(value: bytes) -> Encoded:
    """Inverse of ``pack``, up to float16. Raises DataError on a foreign version, a wrong length or a wrong checksum."""
    if len(value) < HEAD.size or value[0] != VERSION:
        raise DataError("vectors", f"{len(value)} bytes, version {value[:1].hex()}", f"packed vectors of version {VERSION}")
    _, width, dimension, token_dimension, count, check = HEAD.unpack_from(value)
    ends = np.cumsum([HEAD.size, dimension * 2, count * token_dimension, count * width]).tolist()
    if len(value) != ends[-1] or zlib.crc32(value[HEAD.size :]) != check:
        raise DataError("vectors", f"{len(value)} bytes", f"{ends[-1]} bytes with their checksum")
    pooled = np.frombuffer(value, "<f2", dimension, ends[0]).astype(np.float32)
    pooled /= max(float(np.linalg.norm(pooled)), 1e-12)
    pooled.flags.writeable = False
    tokens = np.frombuffer(value, np.int8, count * token_dimension, ends[1]).reshape(count, token_dimension)
    pieces = np.frombuffer(value, "<u2" if width == 2 else "<i4", count, ends[2]).astype(np.int32)
    pieces.flags.writeable = False
    return Encoded(pooled, tokens, pieces)


def _width(encoded: Encoded) -> int:
    pieces = encoded.pieces
    return 2 if not pieces.size or (pieces.min() >= 0 and pieces.max() < 1 << 16) else 4
