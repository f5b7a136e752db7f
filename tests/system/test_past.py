from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight.encoder.hashing import HashingEncoder
from hindsight.features.postings import Column
from hindsight.features.replay import replay
from hindsight.miner.episodes import Episodes
from hindsight.miner.turns import Turns
from hindsight.system.past import Past
from hindsight.types import DataError
from tests.system.stream import query, turns

ENCODER = HashingEncoder(16)


def same(a, b) -> bool:
    """Two timelines hold the same rows and the same statistics."""
    columns = [name for name, value in vars(a).items() if isinstance(value, Column)]
    return (
        [m.memory_id for m in a.memories] == [m.memory_id for m in b.memories]
        and a.session_now == b.session_now
        and all(np.array_equal(getattr(a, name).view, getattr(b, name).view, equal_nan=True) for name in columns)
        and np.array_equal(*(one.postings.idf_mass(np.arange(len(one))) for one in (a, b)))
    )


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=8), st.integers(1, 9))
def test_any_way_of_observing_and_asking_gives_the_replayed_timeline(moments, session_of):
    stream = turns(40, session_of=session_of)
    past, known = Past(Turns(), ENCODER), 0
    for moment in moments:
        known = max(known, moment)
        past.observe("u", stream[:known])
        found = past.at(query("tea", moment))
        memories = Turns().mine(stream, "u", "")
        _, wanted = next(iter(replay(stream, memories, ENCODER, [moment])))
        assert same(found, wanted)


def test_turns_observed_at_or_after_the_moment_are_not_there():
    stream = turns(20)
    early, late = Past(Turns(), ENCODER), Past(Turns(), ENCODER)
    early.observe("u", stream[:10])
    poison = [replace(turn, text="POISON " + turn.text) for turn in stream[10:]]
    late.observe("u", [*stream[:10], *poison])
    assert same(early.at(query("tea", 10)), late.at(query("tea", 10)))


def test_users_are_apart():
    past = Past(Turns(), ENCODER)
    past.observe("u", turns(10))
    past.observe("v", turns(30, seed=1))
    alone = Past(Turns(), ENCODER)
    alone.observe("u", turns(10))
    assert same(past.at(query("tea", 10)), alone.at(query("tea", 10)))
    assert past.memories(query("tea", 99, user="nobody")) == []


def test_the_pool_ends_before_the_context():
    past = Past(Turns(), ENCODER)
    past.observe("u", turns(20))
    assert [m.sources[-1] for m in past.memories(query("tea", 20, context=(17, 18, 19)))] == list(range(17))


def test_another_turn_at_a_known_position_is_refused():
    past = Past(Turns(), ENCODER)
    past.observe("u", turns(10))
    with pytest.raises(DataError, match="position 3"):
        past.observe("u", [replace(turns(10)[3], text="something else")])
    past.observe("u", [replace(turns(1)[0], position=20)])
    with pytest.raises(DataError, match="comes late"):
        past.observe("u", [replace(turns(1)[0], position=15)])


def test_an_episode_comes_when_its_session_has_ended():
    stream = [replace(t, text="I want to book a train. " + t.text if t.role == "user" else t.text) for t in turns(21)]
    past = Past(Episodes(), ENCODER)
    past.observe("u", stream)
    for moment in range(1, 22):
        known = past.at(query("train", moment))
        ended = [t for t in stream[:moment] if t.session != stream[moment - 1].session]
        assert known.memories == Episodes().mine(ended, "u", "")
