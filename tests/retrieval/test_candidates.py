import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight.encoder.hashing import HashingEncoder
from hindsight.features.replay import pool
from hindsight.features.timeline import Timeline
from hindsight.miner.turns import Turns
from hindsight.retrieval.candidates import SHARES, CandidatesConfig
from hindsight.types import ConfigError, Turn
from tests.system.stream import query, turns

ENCODER = HashingEncoder(32)


def past_of(stream, encoder=ENCODER) -> Timeline:
    past = Timeline(encoder)
    past.observe(stream, Turns().mine(stream, "u", ""))
    return past


ASKED = query(
    "user: When is the piano lesson in Lisbon?\nassistant: The budget?", 200, context=(198, 199), goal="train to Porto"
)


@settings(max_examples=20, deadline=None)
@given(limit=st.integers(1, 220), seed=st.integers(0, 5))
def test_at_most_limit_ascending_from_the_pool_and_the_same_again(limit, seed):
    past = past_of(turns(200, seed))
    rows = pool(past, ASKED)
    found = CandidatesConfig(limit).build().rows(past, ASKED, rows)
    assert found.dtype == np.int64 and len(found) == len(set(found.tolist())) <= max(limit, 1)
    assert len(found) == min(limit, len(rows))  # what some channels cannot fill, others do
    assert (np.diff(found) > 0).all() and set(found.tolist()) <= set(rows.tolist())
    assert np.array_equal(found, CandidatesConfig(limit).build().rows(past_of(turns(200, seed)), ASKED, rows))
    if limit >= len(rows):
        assert np.array_equal(found, rows)


def test_what_was_asked_before_changes_nothing():
    stream = turns(200)
    memories = Turns().mine(stream, "u", "")
    past, candidates = Timeline(ENCODER), CandidatesConfig(50).build()
    for end in range(0, 200, 9):
        past.observe(stream[end : end + 9], memories[end : end + 9])
        earlier = query("rain in the garden", min(end + 9, 200))
        candidates.rows(past, earlier, pool(past, earlier))
    fresh = past_of(stream)
    assert np.array_equal(
        candidates.rows(past, ASKED, pool(past, ASKED)),
        CandidatesConfig(50).build().rows(fresh, ASKED, pool(fresh, ASKED)),
    )


def test_every_channel_brings_its_own():
    """One row that only this channel can find, far back among many that no channel wants."""
    noise = [Turn(i, f"s{i // 10}", "user", "user", f"filler{i} nothing") for i in range(400)]

    def with_(position, text):
        return [*noise[:position], Turn(position, f"s{position // 10}", "user", "user", text), *noise[position + 1 :]]

    def found(stream, asked):
        past = past_of(stream)
        return set(CandidatesConfig(40).build().rows(past, asked, pool(past, asked)).tolist())

    assert 5 in found(with_(5, "the zebra"), query("zebra", 400))  # bm25, dense
    assert {4, 6} <= found(with_(5, "the zebra"), query("zebra", 400))  # beside
    assert 5 in found(with_(5, "the zebra"), query("hello", 400, goal="zebra"))  # goal
    assert 5 in found(with_(5, "We met Anton."), query("hello", 400, goal="Call Anton"))  # entity or goal
    assert 5 in found(with_(5, "it starts at 8:30 pm"), query("hello", 400))  # type
    assert 399 in found(noise, query("hello", 400))  # recent
    assert 5 not in found(noise, query("hello", 400))


def test_same_session_beyond_the_newest():
    stream = [Turn(i, "now" if i in (3, 4) or i > 90 else f"s{i // 10}", "user", "user", f"filler{i}") for i in range(100)]
    past = past_of(stream)
    asked = query("hello", 100, context=(99,))
    rows = CandidatesConfig(40).build().channels(past, asked, pool(past, asked))["session"]
    assert rows.tolist() == [98, 97, 96, 95, 94, 93, 92, 91, 4, 3]


def test_beside_stays_in_the_session_and_the_pool():
    stream = [Turn(i, f"s{i // 2}", "user", "user", "zebra" if i in (3, 9) else f"filler{i}") for i in range(10)]
    past = past_of(stream)
    asked = query("zebra", 10)
    rows = CandidatesConfig(40).build().channels(past, asked, pool(past, asked))["beside"]
    assert set(rows[:2].tolist()) == {2, 8}


def test_the_limit_is_kept_to_and_checked():
    assert abs(sum(SHARES.values()) - 1) < 1e-9
    with pytest.raises(ConfigError, match="limit"):
        CandidatesConfig(0).build()
