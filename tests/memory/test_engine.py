import pytest

from hindsight.encoder.hashing import HashingEncoder
from hindsight.memory.consolidate import Unconsolidated, by_rules
from hindsight.memory.engine import Engine
from hindsight.memory.lifecycle import Lifecycle
from hindsight.memory.store import open_store
from hindsight.system.bionic import Bionic
from tests.memory.records import turn
from tests.system.stream import query


@pytest.fixture
def own():
    with open_store(":memory:") as store:
        yield store.user("ann")


class Flaky(Bionic):
    """Its model is away until it is not."""

    away = True

    def consolidated(self, turns, known):
        if Flaky.away:
            raise Unconsolidated("HTTP 503")
        return by_rules(turns, self.user_id)


def test_a_batch_that_fails_is_tried_again(own):
    engine = Engine(own, Flaky("ann"), HashingEncoder(16))
    Flaky.away = True
    engine.record([turn(0, "My gate code is 8841.")])
    assert engine.consolidate().unconsolidated == ((0, 1, "HTTP 503"),)
    assert (own.pending(), own.tries(0)) == ([(0, 1)], 1)
    engine.record([turn(1, "My locker number is 12.")])
    Flaky.away = False
    done = engine.consolidate()
    assert done.unconsolidated == () and len(done.written) == 2
    assert own.pending() == []
    assert engine.consolidate().written == ()  # nothing twice


def test_a_fact_that_is_withdrawn_is_archived(own):
    engine = Engine(own, Bionic("ann"), HashingEncoder(16))
    engine.record([turn(0, "I live in Oslo.")])
    engine.consolidate()
    done = engine.record([turn(1, "I don't live in Oslo any more.")])
    assert len(done.archived) == 1
    assert [one.memory.text for one in own.records("archived")] == ["user: home: oslo"]


def test_what_is_told_and_withdrawn_in_one_batch_is_archived(own):
    engine = Engine(own, Bionic("ann"), HashingEncoder(16))
    engine.record([turn(0, "I live in Oslo."), turn(1, "I don't live in Oslo any more."), turn(2, "I live in Rome.")])
    engine.consolidate()
    assert [one.value for one in own.records() if one.about] == ["rome"]
    assert [one.value for one in own.records("archived", "superseded")] == ["oslo"]


def test_each_value_of_a_batch_has_its_own_way_of_changing(own):
    engine = Engine(own, Bionic("ann"), HashingEncoder(16))
    engine.record(
        [turn(0, "My budget is 100 euros."), turn(1, "My budget is 90 euros now."), turn(2, "Lately my budget is 80 euros.")]
    )
    assert len(engine.consolidate().superseded) == 1  # the explicit change; the vague one only weakens
    assert sorted(one.value for one in own.records() if one.about) == ["80 euros", "90 euros"]


def test_what_is_told_again_is_not_written_again(own):
    engine = Engine(own, Bionic("ann"), HashingEncoder(16))
    for place in (0, 1):
        engine.record([turn(place, "I live in Oslo.", session=f"s{place}")])
        done = engine.consolidate()
    assert len(done.known) == 1 and done.written == ()


def test_a_vague_change_lowers_confidence_and_a_second_one_replaces(own):
    engine = Engine(own, Bionic("ann"), HashingEncoder(16))
    engine.record([turn(0, "My budget is 100 euros.")])
    engine.consolidate()
    engine.record([turn(1, "Lately my budget is 80 euros.")])
    engine.consolidate()
    facts = {one.value: one for one in own.records() if one.about}
    assert facts["100 euros"].memory.confidence == 0.5 and "80 euros" in facts
    engine.record([turn(2, "These days my budget is 70 euros.")])
    assert len(engine.consolidate().superseded) == 2


def test_what_fades_is_archived(own):
    engine = Engine(own, Bionic("ann"), HashingEncoder(16), Lifecycle(half_life=1, unread=10))
    engine.record([turn(0, "Nice weather.", time="2024-01-01T00:00:00")])
    engine.record([turn(1, "Nice rain.", time="2024-03-01T00:00:00")])
    assert len(engine.consolidate().archived) == 1
    assert [hit.memory_id for hit in engine.recall(query("Nice", 2, "ann"), 9)] == [own.records()[0].memory_id]


def test_every_decision_is_logged_without_a_word_of_the_user(own):
    engine = Engine(own, Bionic("ann"), HashingEncoder(16))
    engine.record([turn(0, "My gate code is 8841.")])
    engine.consolidate()
    engine.record([turn(1, "My gate code is 5512 now.")])
    engine.consolidate()
    asked = query("code", 2, "ann")
    engine.read(asked, engine.recall(asked, 3))
    kinds = [one.kind for one in own.logged()]
    assert {"written", "superseded", "recalled"} <= set(kinds)
    assert "8841" not in str(own.logged()) and "gate" not in str(own.logged())
