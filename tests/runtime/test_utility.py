"""The runtime with a scorer that was trained: the default system."""

import pytest

import hindsight
from hindsight.encoder.hashing import HashingEncoder
from hindsight.memory.doctor import examine
from hindsight.runtime.memory import Settings
from hindsight.types import DataError

TOLD = (
    "My dentist is Dr. Hale.",
    "We had pasta for lunch.",
    "The boiler shows error F28.",
    "My gate code is Zanzibar-8841.",
    "It rained all day.",
)


@pytest.fixture
def opened(trained, tmp_path):
    made = []

    def make(user="ann", **settings):
        scorer = trained / "runs" / "train" / "default" / "scorer"
        found = hindsight.open_memory(
            tmp_path / "store.db",
            user,
            scorer=scorer,
            encoder=HashingEncoder(32),
            settings=Settings(**settings),
            clock=lambda: 1.7e9,
        )
        made.append(found)
        return found

    yield make
    for one in made:
        one.close()


def fill(memory):
    for text in TOLD:
        memory.record_event(text)
        memory.record_event("Noted.", "assistant")
    memory.consolidate()


def ranking(memory, question="What is my gate code?"):
    return [(hit.memory_id, round(hit.score, 5)) for hit in memory.recall(question, k=20).hits]


def test_hits_have_a_utility_and_reasons_that_sum_to_the_score(opened):
    memory = opened()
    fill(memory)
    found = memory.recall("Who is my dentist?")
    assert len(found.hits) == 5
    for hit in found.hits:
        assert hit.utility is not None and 0 <= hit.utility <= 1
        assert sum(hit.why.values()) == pytest.approx(hit.score, abs=1e-4)


def test_a_reopened_memory_ranks_as_before(opened):
    memory = opened()
    fill(memory)
    before = ranking(memory)
    memory.close()
    assert ranking(opened()) == before


def test_what_was_said_in_one_process_is_ranked_in_another(opened):
    one, other = opened(), opened()
    fill(one)
    assert ranking(other) == ranking(one)
    other.record_event("My locker number is 12.")
    assert len(ranking(one)) == len(ranking(other)) == 11


def test_a_forgotten_memory_leaves_the_timeline_too(opened, tmp_path):
    memory = opened()
    fill(memory)
    code = next(one for one in memory.memories() if one.text == "User: My gate code is Zanzibar-8841.")
    memory.recall("gate code")
    memory.forget(code.memory_id)
    assert all("anzibar-8841" not in one.text for one in memory.recall("What is my gate code, 8841?", k=50).memories)
    assert all("anzibar-8841" not in one.text for one in memory._engine.policy._past.timeline.memories)
    assert b"anzibar-8841" not in b"".join(path.read_bytes() for path in tmp_path.glob("store.db*"))
    assert examine(tmp_path / "store.db").problems == ()


def test_a_threshold_leaves_out_what_is_unlikely_to_be_of_use(opened):
    memory = opened(threshold=0.99)
    fill(memory)
    found = memory.recall("Who is my dentist?")
    assert all(hit.utility >= 0.99 for hit in found.hits)


def test_another_encoder_than_the_scorers_is_refused(trained, tmp_path):
    scorer = trained / "runs" / "train" / "default" / "scorer"
    with pytest.raises(DataError):
        hindsight.open_memory(tmp_path / "store.db", "ann", scorer=scorer, encoder=HashingEncoder(64))
