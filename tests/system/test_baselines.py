import numpy as np
import pytest

from hindsight.encoder.hashing import HashingEncoder
from hindsight.miner.turns import Turns
from hindsight.system import baselines
from hindsight.system.past import Past
from hindsight.types import DataError, Turn
from tests.system.stream import query, turns

ENCODER = HashingEncoder(64)
ALL = (baselines.random, baselines.recent, baselines.bm25, baselines.dense, baselines.rrf)


def past_of(stream) -> Past:
    past = Past(Turns(), ENCODER)
    past.observe("u", stream)
    return past


@pytest.mark.parametrize("make", ALL)
def test_best_first_own_pool_and_ties_by_memory_id(make):
    past = past_of(turns(60))
    asked = query("Lisbon museum ticket?", 60, context=(58, 59))
    hits = make(past).recall(asked, 1000)
    assert {hit.memory_id for hit in hits} == {memory.memory_id for memory in past.memories(asked)}
    assert hits == sorted(hits, key=lambda hit: (-hit.score, hit.memory_id))
    assert hits[:5] == make(past).recall(asked, 5)
    assert all(hit.query_id == asked.query_id and hit.utility is None for hit in hits)


@pytest.mark.parametrize("make", ALL)
def test_nothing_known_gives_nothing(make):
    assert make(Past(Turns(), ENCODER)).recall(query("tea", 0), 10) == []


@pytest.mark.parametrize("make", ALL)
def test_k_below_one_is_refused(make):
    with pytest.raises(DataError, match="k from 1"):
        make(past_of(turns(10))).recall(query("tea", 10), 0)


def test_bm25_by_hand():
    said = ["red piano", "blue piano", "red red garden", "rain"]
    past = past_of([Turn(i, "s", f"n{i}", "user", text) for i, text in enumerate(said)])
    memory_id = {m.sources[0]: m.memory_id for m in past.memories(query("", 4))}
    got = {hit.memory_id: hit.score for hit in baselines.bm25(past).recall(query("red", 4), 4)}
    idf = np.log(1 + (4 - 2 + 0.5) / (2 + 0.5))
    mean = (3 + 3 + 4 + 2) / 4  # the speaker's name is a term
    wanted = {0: idf * 1 / (1 + 1.2 * (0.25 + 0.75 * 3 / mean)), 2: idf * 2 / (2 + 1.2 * (0.25 + 0.75 * 4 / mean))}
    for position in range(4):
        assert got[memory_id[position]] == pytest.approx(wanted.get(position, 0.0), rel=1e-5)


def test_random_differs_by_query_and_seed_and_repeats():
    past = past_of(turns(40))

    def order(text, seed=0):
        return [hit.memory_id for hit in baselines.random(past, seed).recall(query(text, 40), 40)]

    assert order("a") == order("a") and order("a") != order("b") and order("a") != order("a", 1)


def test_recent_is_newest_first():
    past = past_of(turns(10))
    ids = [m.memory_id for m in past.memories(query("", 10))]
    assert [hit.memory_id for hit in baselines.recent(past).recall(query("", 10), 10)] == ids[::-1]


def test_rrf_by_hand():
    past = past_of(turns(30))
    asked = query("Lisbon museum ticket?", 30)
    rank = [{hit.memory_id: i for i, hit in enumerate(make(past).recall(asked, 30), 1)} for make in ALL[2:4]]
    for hit in baselines.rrf(past).recall(asked, 30):
        assert hit.score == pytest.approx(sum(1 / (60 + one[hit.memory_id]) for one in rank))
