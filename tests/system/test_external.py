import sys

import pytest

from hindsight.encoder.hashing import HashingEncoder
from hindsight.measure.trec import write_runs
from hindsight.miner.turns import Turns
from hindsight.system import external
from hindsight.system.past import Past
from hindsight.types import ConfigError, DataError, Hit
from tests.system.stream import query, turns


@pytest.fixture
def past():
    known = Past(Turns(), HashingEncoder(16))
    known.observe("u", turns(10))
    return known


class Oldest:
    def __init__(self, past):
        self.past = past

    def observe(self, user_id, turns):
        self.past.observe(user_id, turns)

    def recall(self, query, k):
        return [Hit(query.query_id, m.memory_id, -i) for i, m in enumerate(self.past.memories(query)[:k])]


class Bare:
    def observe(self, user_id, turns): ...
    def recall(self, query, k):
        return []


class Deaf:
    def recall(self, query, k):
        return []


class Greedy(Bare):
    def __init__(self, wanted):
        self.wanted = wanted


NOT_A_CLASS = 3


def test_a_run_is_looked_up_and_counted(past, tmp_path):
    asked = query("tea", 6)
    ids = [m.memory_id for m in past.memories(query("", 10))]
    scores = {"q6:tea": {ids[2]: 1.0, ids[0]: 3.0, ids[1]: 3.0, ids[9]: 9.0, "foreign": 5.0}}
    write_runs(tmp_path / "mine.trec", {"mine": scores})
    system = external.run(tmp_path / "mine.trec", past)
    assert system.name == "mine"
    assert [hit.memory_id for hit in system.recall(asked, 10)] == [*sorted(ids[:2]), ids[2]]
    assert len(system.recall(asked, 1)) == 1
    assert system.recall(query("other", 6), 10) == []
    assert system.count.seen == 3 and system.count.skipped == {"query is not in the run": 1}
    assert sum(system.count.notes.values()) == 4  # a later memory and a foreign one, twice


def test_a_file_that_is_no_run(past, tmp_path):
    (tmp_path / "x.trec").write_text("not a run\n")
    with pytest.raises(DataError, match=r"x\.trec:1"):
        external.run(tmp_path / "x.trec", past)


def test_a_class_of_ones_own(past):
    here = sys.modules[__name__]
    sys.modules["own_systems"] = here
    system = external.load("own_systems:Oldest", past)
    assert [hit.memory_id for hit in system.recall(query("", 10), 3)] == [m.memory_id for m in past.memories(query("", 10))][
        :3
    ]
    assert external.load("own_systems:Bare", past).recall(query("", 10), 3) == []


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("own_systems", "wanted module:Class"),
        ("no_such_module:X", "cannot import no_such_module"),
        ("own_systems:Nothing", "has no Nothing"),
        ("own_systems:NOT_A_CLASS", "is not a class"),
        ("own_systems:Deaf", "no method observe"),
        ("own_systems:Greedy", "cannot be made"),
    ],
)
def test_what_is_amiss_is_said(past, path, said):
    sys.modules["own_systems"] = sys.modules[__name__]
    with pytest.raises(ConfigError, match=said):
        external.load(path, past)
