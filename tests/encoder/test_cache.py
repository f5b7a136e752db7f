import pickle
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from hindsight.encoder.cache import HEAD, CacheConfig, CachedEncoder, bytes_of, default_folder, pack, unpack
from hindsight.encoder.hashing import HashingEncoder
from hindsight.types import DataError, Encoded

TEXTS = [
    "red bicycle",
    "",
    "下周去北京",
    "🙂 party",
    "red bicycle",
    "broken \ud83d pair",
    *(f"plan {i}" for i in range(1200)),
]


@dataclass
class Counting:
    """Hashing, and how many texts it was asked for."""

    inner: HashingEncoder = field(default_factory=HashingEncoder)
    asked: int = 0
    fingerprint: str = "counting dimension=64"
    dimension: int = 64

    def encode(self, texts: Sequence[str]) -> list[Encoded]:
        self.asked += len(texts)
        return self.inner.encode(texts)


def _bytes(found: Sequence[Encoded]) -> list[bytes]:
    return [one.pooled.tobytes() + one.tokens.tobytes() + one.pieces.tobytes() for one in found]


def test_cold_warm_and_memory_give_the_same_bytes(tmp_path: Path):
    cold, warm, memory = Counting(), Counting(), Counting()
    first = CachedEncoder(cold, tmp_path).encode(TEXTS)
    assert _bytes(CachedEncoder(warm, tmp_path).encode(TEXTS)) == _bytes(first)
    alone = CachedEncoder(memory, None)
    assert _bytes(alone.encode(TEXTS)) == _bytes(alone.encode(TEXTS)) == _bytes(first)
    assert (cold.asked, warm.asked, memory.asked) == (len(set(TEXTS)), 0, len(set(TEXTS)))


def test_vectors_are_those_of_the_inner_encoder(tmp_path: Path):
    for found, wanted in zip(CachedEncoder(HashingEncoder(), tmp_path).encode(TEXTS), HashingEncoder().encode(TEXTS)):
        assert np.allclose(found.pooled, wanted.pooled, atol=1e-3)
        assert np.array_equal(found.tokens, wanted.tokens) and np.array_equal(found.pieces, wanted.pieces)
        assert np.linalg.norm(found.pooled) == pytest.approx(1 if len(wanted.tokens) else 0, abs=1e-6)


def test_a_fingerprint_has_its_own_file(tmp_path: Path):
    inner = Counting()
    CachedEncoder(inner, tmp_path).encode(["a plan"])
    other = Counting(fingerprint="counting prefix='query: '")
    CachedEncoder(other, tmp_path).encode(["a plan"])
    assert other.asked == 1 and len(list(tmp_path.glob("*.sqlite"))) == 2


@pytest.mark.parametrize(
    "harm",
    [
        lambda value: b"",
        lambda value: value[:-1],
        lambda value: bytes([9]) + value[1:],
        lambda value: value[:20] + bytes([value[20] ^ 1]) + value[21:],
        lambda value: pack(HashingEncoder(32).encode(["red bicycle"])[0]),
    ],
)
def test_a_corrupt_row_is_encoded_anew(tmp_path: Path, harm):
    first = CachedEncoder(Counting(), tmp_path)
    wanted = _bytes(first.encode(["red bicycle", "blue car"]))
    with sqlite3.connect(first.path) as database:
        for key, value in database.execute("SELECT key, value FROM vectors").fetchall():
            database.execute("UPDATE vectors SET value = ? WHERE key = ?", (harm(value), key))
    again, after = Counting(), Counting()
    assert _bytes(CachedEncoder(again, tmp_path).encode(["red bicycle", "blue car"])) == wanted
    assert again.asked == 2
    assert _bytes(CachedEncoder(after, tmp_path).encode(["red bicycle", "blue car"])) == wanted
    assert after.asked == 0


def test_a_file_that_is_no_database_is_named(tmp_path: Path):
    encoder = CachedEncoder(Counting(), tmp_path)
    assert encoder.path is not None
    encoder.path.write_bytes(b"not a database" * 1000)
    with pytest.raises(DataError, match=r"counting-.*sqlite.*a deleted one is made anew"):
        encoder.encode(["red bicycle"])


def test_a_folder_that_is_a_file_is_named(tmp_path: Path):
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match=r"file/.*sqlite"):
        CachedEncoder(Counting(), tmp_path / "file").encode(["red bicycle"])


def test_two_processes_write_at_once(tmp_path: Path):
    program = """if True:
        import sys
        from pathlib import Path
        from hindsight.encoder.cache import CachedEncoder
        from hindsight.encoder.hashing import HashingEncoder
        encoder = CachedEncoder(HashingEncoder(), Path(sys.argv[1]))
        for i in range(60):
            encoder.encode([f"plan {j}" for j in range(i * 5, i * 5 + 10)])
    """
    running = [subprocess.Popen([sys.executable, "-c", program, str(tmp_path)]) for _ in range(2)]
    assert [process.wait(timeout=60) for process in running] == [0, 0]
    reader = CachedEncoder(HashingEncoder(), tmp_path)
    reader.encode([f"plan {j}" for j in range(305)])
    assert (reader.hits, reader.misses) == (305, 0)


def test_what_was_committed_outlives_a_killed_process(tmp_path: Path):
    program = """if True:
        import os, sys
        from pathlib import Path
        from hindsight.encoder.cache import CachedEncoder
        from hindsight.encoder.hashing import HashingEncoder
        encoder = CachedEncoder(HashingEncoder(), Path(sys.argv[1]))
        encoder.encode(["red bicycle"])
        encoder._database().execute("INSERT INTO vectors VALUES (x'00', x'00')")
        os.kill(os.getpid(), 9)
    """
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False)
    reader = CachedEncoder(HashingEncoder(), tmp_path)
    reader.encode(["red bicycle"])
    assert (reader.hits, reader.misses) == (1, 0)
    assert reader._database().execute("SELECT count(*) FROM vectors").fetchone() == (1,)


def test_it_can_be_sent_to_another_process(tmp_path: Path):
    first = CachedEncoder(HashingEncoder(), tmp_path)
    first.encode(["red bicycle"])
    other = pickle.loads(pickle.dumps(first))
    assert _bytes(other.encode(["red bicycle"])) == _bytes(first.encode(["red bicycle"]))
    assert (other.hits, other.misses) == (1, 0)


def test_memory_is_bounded_least_recent_out():
    inner = Counting()
    size = bytes_of(HashingEncoder().encode(["plan"])[0])
    encoder = CachedEncoder(inner, None, memory_bytes=2 * size)
    for text in ("one1", "two2", "one1", "three3", "one1"):
        encoder.encode([text])
    assert inner.asked == 3
    encoder.encode(["two2"])
    assert inner.asked == 4


def test_shared_vectors_cannot_be_changed(tmp_path: Path):
    (found,) = CachedEncoder(HashingEncoder(), tmp_path).encode(["red bicycle"])
    for array in (found.pooled, found.tokens, found.pieces):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_where_it_lies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.delenv("HINDSIGHT_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_folder() == tmp_path / "hindsight"
    monkeypatch.setenv("HINDSIGHT_CACHE", str(tmp_path / "own"))
    assert CacheConfig().build(HashingEncoder()).path.parent == tmp_path / "own"  # pyright: ignore[reportOptionalMemberAccess]
    assert CacheConfig(str(tmp_path)).build(HashingEncoder()).path.parent == tmp_path  # pyright: ignore[reportOptionalMemberAccess]
    assert CacheConfig("").build(HashingEncoder()).path is None


@given(st.integers(0, 5), st.integers(1, 9), st.integers(1, 9), st.data())
def test_packing_round_trips(tokens: int, dimension: int, token_dimension: int, data: st.DataObject):
    pooled = data.draw(arrays.arrays(np.float32, dimension, elements=st.floats(-1, 1, width=16)))
    rows = data.draw(arrays.arrays(np.int8, (tokens, token_dimension)))
    pieces = data.draw(arrays.arrays(np.int32, tokens))
    found = unpack(pack(Encoded(pooled, rows, pieces)))
    norm = np.linalg.norm(pooled.astype(float))
    assert np.allclose(found.pooled, pooled / norm if norm > 1e-6 else found.pooled, atol=1e-5)
    assert np.array_equal(found.tokens, rows) and np.array_equal(found.pieces, pieces)
    assert len(pack(Encoded(pooled, rows, pieces))) == HEAD.size + bytes_of(Encoded(pooled, rows, pieces))
