import sqlite3

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hindsight.encoder.hashing import HashingEncoder
from hindsight.memory.doctor import examine
from hindsight.memory.route import Triggers
from hindsight.memory.store import open_store
from hindsight.runtime.memory import SYSTEMS, OpenMemory, Settings
from hindsight.runtime.open import open_memory
from hindsight.runtime.vectors import StoredVectors
from hindsight.scorer.formula import PRIOR
from hindsight.system.utility import Utility
from hindsight.text import tokens_about
from hindsight.types import ConfigError, DataError

PLAIN = [name for name in SYSTEMS if name != "utility"]  # these need no scorer


def test_what_was_said_is_recalled_after_opening_again(opened, tmp_path):
    memory = opened()
    for text in ("My dentist is Dr. Hale.", "The weather is lovely.", "We had pasta for lunch."):
        memory.record_event(text)
        memory.record_event("Noted.", "assistant")
    memory.consolidate()
    memory.close()
    again = opened()
    found = again.recall("Who is my dentist?", k=2)
    assert any("Dr. Hale" in one.text for one in found.memories)
    assert found.trigger and found.text.count("[memory ") == len(found.shown)
    assert examine(tmp_path / "store.db").problems == ()


def test_what_was_injected_is_never_remembered_again(opened):
    memory = opened()
    memory.record_event("My dentist is Dr. Hale.")
    memory.record_event("Thanks.", "assistant", session="2")
    memory.working.clear()  # another day
    injected = memory.recall("Who is my dentist?").text
    assert "Hale" in injected
    before = len(memory.memories())
    memory.record_event(f"{injected}\nWhat else do you know?", session="3")
    texts = [one.text for one in memory.memories()]
    assert len(texts) == before + 1
    assert texts[-1] == "User: What else do you know?"
    memory.consolidate()
    assert sum("hale" in one.text.lower() for one in memory.memories() if one.kind == "fact") == 1


@pytest.mark.parametrize("system", PLAIN)
def test_a_forgotten_memory_is_never_recalled_and_leaves_no_bytes(opened, tmp_path, system):
    memory = opened(system=system)
    secret = "Quetzalcoatl-4711"
    for n in range(30):
        memory.record_event(f"I keep note {n} in drawer {n} of the cupboard since May.")
    memory.record_event(f"My gate code is {secret} from now on.")
    memory.consolidate()
    memory.recall(f"gate code {secret}")
    known = [one for one in memory.memories() if secret.lower() in one.text.lower()]
    assert known
    gone = memory.forget(known[0].memory_id)
    assert {one.memory_id for one in known} <= set(gone.memories)
    for question in (f"gate code {secret}", "What is my gate code?", secret, "code"):
        assert all(secret.lower() not in one.text.lower() for one in memory.recall(question, k=50).memories)
        assert secret not in memory.recall(question).text
    left = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert secret.encode() not in left and secret.lower().encode() not in left
    memory.close()
    again = opened(system=system)
    assert all(secret.lower() not in one.text.lower() for one in again.recall("gate code", k=50).memories)


def test_the_new_value_stands_before_the_old(opened):
    memory = opened()
    memory.record_event("My gate code is 8841.")
    for n in range(5):
        memory.record_event(f"Something else number {n}.")
    memory.consolidate()
    memory.record_event("My gate code is 5512 now.")
    changes = memory.consolidate()
    assert len(changes.superseded) == 1
    texts = [one.text for one in memory.recall("My gate code is 8841", k=20).memories]
    said = [text for text in texts if text.startswith("User: My gate code")]
    assert said == [
        "User: My gate code is 5512 now.",
        "User: My gate code is 8841.",
    ]  # although the question is the old one word for word
    assert not any("8841" in one.text for one in memory.memories() if one.kind == "fact")
    assert [one.text for one in memory.memories("superseded")] == ["user: gate code: 8841"]


def test_two_values_in_one_batch(opened):
    memory = opened()
    memory.record_event("My gate code is 8841.")
    memory.record_event("Actually, my gate code is 5512 now.")
    assert len(memory.consolidate().superseded) == 1
    said = [one.text for one in memory.recall("My gate code is 8841.", k=9).memories if one.kind == "turn"]
    assert said[0] == "User: Actually, my gate code is 5512 now."
    assert memory.recall("My gate code is 8841.", k=1).memories[0].text.endswith("5512 now.")  # found through the old one


values = st.lists(
    st.tuples(st.sampled_from(("gate code", "locker number", "pin")), st.integers(1000, 1004)), min_size=2, max_size=12
)


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values, st.sampled_from(PLAIN))
def test_no_value_stands_before_what_superseded_it(tmp_path_factory, told, system):
    path = tmp_path_factory.mktemp("store") / "store.db"
    with open_memory(path, "ann", encoder=HashingEncoder(32), settings=Settings(system), clock=lambda: 1.7e9) as memory:
        for place, (what, value) in enumerate(told):
            memory.record_event(f"My {what} is {value} from now on.")
            if place % 3 != 1:  # several in a batch too
                memory.consolidate()
        memory.consolidate()
        for what, value in told:
            hits = memory.recall(f"My {what} is {value} from now on.", k=50).hits
            place = {hit.memory_id: n for n, hit in enumerate(hits)}
            after = memory._engine.view.successors()
            for old, new in after.items():
                if old in place and new in place:
                    assert place[new] < place[old]
            active = [one for one in memory._engine.view.of(memory._engine.view.rows()) if one.about]
            assert len({one.about for one in active}) == len(active)


def test_users_never_see_each_other(opened):
    """Adversarial questions: each holds another user's words, ids and name. 10,000 of them are asked by bench/isolation.py."""
    people = {name: opened(name) for name in ("ann", "bob", "ann' OR '1'='1")}
    for name, memory in people.items():
        for n in range(10):
            memory.record_event(f"My code {n} is {abs(hash(name)) % 1000}-{n} of <{name}>.")
        memory.consolidate()
    for name, memory in people.items():
        for other, theirs in people.items():
            if other != name:
                for one in theirs.memories():
                    found = memory.recall(f"{one.text} {one.memory_id} {other}", k=50)
                    assert all(hit.user_id == name for hit in found.memories)
                    with pytest.raises(DataError, match="of this user"):
                        memory.forget(one.memory_id)
                    with pytest.raises(DataError, match="of this user"):
                        memory.history(one.memory_id)


def test_two_processes_have_one_user_open(opened):
    one, other = opened(), opened()
    one.record_event("My dentist is Dr. Hale.")
    assert any("Hale" in memory.text for memory in other.recall("dentist").memories)
    other.record_event("And my doctor is Dr. Roy.")
    assert any("Roy" in memory.text for memory in one.recall("doctor").memories)
    hale = next(memory for memory in other.memories() if "Hale" in memory.text)
    other.forget(hale.memory_id)
    assert not any("Hale" in memory.text for memory in one.recall("dentist", k=50).memories)


def test_edit_archive_restore_and_history(opened):
    memory = opened()
    memory.record_event("My dentist is Dr. Hale.")
    one = memory.memories()[0]
    memory.edit(one.memory_id, "User: My dentist is Dr. Moss.", "wrong name")
    assert memory.recall("Moss").memories[0].text.endswith("Moss.")
    memory.archive(one.memory_id)
    assert memory.recall("dentist").hits == ()
    memory.restore(one.memory_id)
    assert memory.recall("dentist").memories
    assert [version.event for version in memory.history(one.memory_id)] == ["written", "edited", "archived", "restored"]


def test_it_recalls_when_something_asks_for_it(opened):
    memory = opened(triggers=Triggers(idle=3))
    memory.record_event("My dentist is Dr. Hale.")
    assert memory.recall("Fine weather.", force=False).trigger == ""
    assert memory.recall("What did I say last time?", force=False).trigger == "trace words"
    for _ in range(3):
        memory.record_event("Fine weather.")
    assert memory.recall("Nice.", force=False).trigger == "idle"
    rates = memory.rates()
    assert (rates.turns, rates.trigger) == (3, pytest.approx(2 / 3))


def test_a_reply_that_uses_a_memory_cites_it(opened):
    memory = opened()
    memory.record_event("My dentist is Dr. Hale.")
    memory.working.clear()
    memory.recall("Who is my dentist?")
    memory.record_event("It is Dr. Hale.", "assistant")
    assert memory.rates().citation == 1.0


def test_all_of_a_user_is_exported_and_all_can_be_erased(opened, tmp_path):
    memory = opened()
    memory.record_event("My dentist is Dr. Hale.")
    memory.recall("dentist")
    found = memory.export()
    assert found["events"][0]["text"] == "My dentist is Dr. Hale." and found["traces"]
    memory.forget_all()
    assert memory.memories() == [] and memory.recall("dentist").hits == ()
    assert b"Hale" not in b"".join(path.read_bytes() for path in tmp_path.iterdir())


def test_a_failure_in_the_middle_of_an_event_keeps_nothing_of_it(opened, monkeypatch):
    memory = opened()
    memory.record_event("My dentist is Dr. Hale.")
    with monkeypatch.context() as patch:
        patch.setattr(type(memory._engine.policy), "written", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            memory.record_event("My doctor is Dr. Roy.")
    assert [one.text for one in memory.memories()] == ["User: My dentist is Dr. Hale."]
    memory.record_event("My doctor is Dr. Roy.")
    assert len(memory.recall("doctor", k=9).hits) == 2


def test_vectors_are_kept_in_the_store(opened, tmp_path, monkeypatch):
    memory = opened()
    memory.record_event("My dentist is Dr. Hale.")
    memory.close()
    encoded = []
    real = HashingEncoder.encode
    monkeypatch.setattr(HashingEncoder, "encode", lambda self, texts: encoded.extend(texts) or real(self, texts))
    opened()
    assert encoded == []
    with sqlite3.connect(tmp_path / "store.db") as database:
        database.execute("UPDATE vectors SET body = x'00'")
    opened()
    assert encoded == ["User: My dentist is Dr. Hale."]  # made anew


def test_what_a_policy_makes_of_the_past_is_made_on_opening_from_the_stores_vectors(tmp_path, monkeypatch):
    def opened():
        policy, vectors = Utility("ann", PRIOR), StoredVectors(HashingEncoder(32))
        return OpenMemory(open_store(tmp_path / "a.db"), "ann", policy, vectors, Settings(), tokens_about, lambda: 1.7e9)

    with opened() as memory:
        memory.record_event("My dentist is Dr. Hale.")
    encoded = []
    real = HashingEncoder.encode
    monkeypatch.setattr(HashingEncoder, "encode", lambda self, texts: encoded.extend(texts) or real(self, texts))
    with opened() as memory:
        assert memory.recall("Who looks after my teeth?").hits
    assert encoded == ["Who looks after my teeth?"]


def test_settings_are_refused_all_at_once():
    with pytest.raises(ConfigError) as raised:
        Settings("none", 0, 2.0)  # pyright: ignore[reportArgumentType]
    assert len(raised.value.problems) == 3
