"""The fixture is a day of an open memory; what is told of it must be what was done."""

import itertools

import pytest

import hindsight
from hindsight.encoder.hashing import HashingEncoder
from hindsight.memory.store import open_store
from hindsight.replay.kept import tell
from hindsight.runtime.memory import Settings


def facts(memory, words):
    return next(one.memory_id for one in memory.memories() if one.kind == "fact" and words in one.text)


@pytest.fixture
def path(tmp_path):
    """0-3 a session of facts, consolidated; a recall before 4; 4-5 a new value, consolidated; nothing recalled before 6."""
    clock = itertools.count(1_700_000_000, 60)
    at = tmp_path / "store.db"
    settings = Settings("bionic", k=2)
    with hindsight.open_memory(
        at, "ann", encoder=HashingEncoder(32), settings=settings, clock=lambda: float(next(clock))
    ) as memory:
        for n, text in enumerate(("My gate code is 8841.", "Noted.", "My dentist is Dr. Hale.", "Thanks.")):
            memory.record_event(text, ("user", "assistant")[n % 2], session="1")
        memory.consolidate()
        memory.recall("What was the gate code?")
        memory.record_event("Actually, my gate code is 5512 now.", session="2")
        memory.record_event("Noted, 5512.", "assistant")
        memory.consolidate()
        memory.recall("hm", force=False)
        memory.record_event("hm")
    return at


def told(path):
    with open_store(path) as store, store.reading():
        return tell(store.user("ann"))


def reopened(path):
    return hindsight.open_memory(
        path, "ann", encoder=HashingEncoder(32), settings=Settings("bionic", k=2), clock=lambda: 1_800_000_000.0
    )


def changes(story, position):
    return [
        (one.what, story.records[one.note].memory.text if one.note in story.records else None)
        for one in story.steps[position].changes
    ]


def test_recalls_and_changes_stand_at_their_turns(path):
    story = told(path)
    assert [step.position for step in story.steps] == list(range(7)) and story.ended == 7
    assert changes(story, 3) == [
        ("written", "Assistant: Thanks."),
        ("written", "user: gate code: 8841"),
        ("written", "user: dentist: dr. hale"),
    ]
    (recall,) = story.steps[4].recalls
    assert recall.trigger and len(recall.hits) == 2 and all(hit.score and hit.why == {} for hit in recall.hits)
    assert changes(story, 5)[1:] == [("written", "user: gate code: 5512"), ("superseded", "user: gate code: 8841")]
    assert [one.trigger for one in story.steps[6].recalls] == [""]
    assert [step.kept for step in story.steps][3:6] == [(6, 0, 0), (7, 0, 0), (8, 1, 0)]


def test_a_recall_after_the_last_turn_has_a_step_of_its_own(path):
    with reopened(path) as memory:
        memory.recall("And the dentist?")
    last = told(path).steps[-1]
    assert last.turn is None and last.position == 7 and last.recalls[0].hits


def test_edits_keep_the_old_words_and_archived_ones_come_back(path):
    with reopened(path) as memory:
        memory.edit(facts(memory, "5512"), "user: gate code: 5513", "a slip")
        memory.archive(facts(memory, "hale"), "moved away")
        memory.restore(memory.memories("archived")[0].memory_id)
    story = told(path)
    edited, archived, restored = story.steps[6].changes[1:]
    assert [story.records[one].memory.text[-4:] for one in (edited.note, edited.by)] == ["5512", "5513"]
    assert (edited.why, archived.what, archived.why, restored.what) == ("a slip", "archived", "moved away", "restored")
    written = story.steps[5].changes[1]
    assert story.records[written.note].memory.text == "user: gate code: 5512"


def test_what_was_forgotten_is_told_without_its_words(path):
    with reopened(path) as memory:
        memory.forget(facts(memory, "hale"))
    story = told(path)
    assert story.steps[2].turn is None and story.steps[1].turn is not None
    gone = [one for step in story.steps for one in step.changes if one.what == "forgotten"]
    assert len(gone) == 2 and not any(one.note in story.records for one in gone)
    assert "hale" not in repr(story).lower()
    assert story.steps[-1].kept == (7, 1, 0)


def test_reading_changes_nothing(path):
    before = path.read_bytes()
    assert told(path) == told(path)
    assert path.read_bytes() == before
