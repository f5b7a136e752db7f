import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight.encoder.hashing import HashingEncoder
from hindsight.features.timeline import Timeline
from hindsight.miner.turns import Turns
from hindsight.retrieval.index import Index
from hindsight.types import DataError, Turn
from tests.system.stream import turns

ENCODER = HashingEncoder(32)


def past_of(stream, encoder=ENCODER) -> Timeline:
    past = Timeline(encoder)
    past.observe(stream, Turns().mine(stream, "u", ""))
    return past


def agrees(past, pool, vector, k, found) -> bool:
    """The k best scores of numpy; of rows with equal vectors the lower memory_id stands first, and in."""
    scores = dict(zip(pool.tolist(), (past.pooled.view[pool] @ vector).tolist()))
    best = sorted(scores.values(), reverse=True)[:k]
    alike: dict[bytes, list[int]] = {}
    for row in sorted(pool.tolist(), key=lambda row: past.memories[row].memory_id):
        alike.setdefault(past.pooled.view[row].tobytes(), []).append(row)
    return np.allclose([scores[row] for row in found], best, atol=1e-5) and all(
        [row for row in found if row in rows] == rows[: sum(row in rows for row in found)] for rows in alike.values()
    )


@settings(max_examples=30, deadline=None)
@given(k=st.integers(1, 70), keep=st.integers(1, 60), seed=st.integers(0, 9))
def test_nearest_is_numpys_ties_by_memory_id(k, keep, seed):
    stream = turns(60, seed)
    for i in range(0, 60, 3):  # many equal vectors
        stream[i] = Turn(i, f"s{i}", "user", "user", "the same red piano")
    past = past_of(stream)
    pool = np.sort(np.random.default_rng(seed).choice(60, keep, replace=False)).astype(np.int64)
    vector = ENCODER.encode(["red piano in Lisbon"])[0].pooled
    index = Index(ENCODER.fingerprint, 32)
    assert agrees(past, pool, vector, k, index.nearest(past, pool, vector, k).tolist())


def test_grows_with_the_past():
    stream = turns(50)
    memories = Turns().mine(stream, "u", "")
    past, index = Timeline(ENCODER), Index(ENCODER.fingerprint, 32)
    vector = ENCODER.encode(["red piano in Lisbon"])[0].pooled
    for end in (10, 30, 50):
        past.observe(stream[len(past) : end], memories[len(past) : end])
        rows = np.arange(end)
        assert agrees(past, rows, vector, 7, index.nearest(past, rows, vector, 7).tolist())


def test_vectors_of_another_encoder_are_refused():
    other = HashingEncoder(64)
    index = Index(ENCODER.fingerprint, 32)
    with pytest.raises(DataError, match="hashing dimension=64"):
        index.add(np.zeros((1, 64), np.float32), other.fingerprint)
    with pytest.raises(DataError, match="hashing dimension=64"):
        index.nearest(past_of(turns(5), other), np.arange(5), np.zeros(64, np.float32), 2)
