from dataclasses import replace

import pytest

from hindsight.encoder.hashing import HashingEncoder
from hindsight.memory.lifecycle import Lifecycle
from hindsight.replay.log import live
from hindsight.replay.story import Story
from hindsight.scorer.load import load
from hindsight.system.bionic import Bionic
from hindsight.system.layered import Layered
from hindsight.system.reflective import Reflective
from hindsight.system.scheduler import Scheduler
from hindsight.system.utility import Utility
from tests.replay.told import lived, turns


def texts(story: Story, what: str) -> dict[int, list[str]]:
    """position -> the memories that this happened to, by their words, turns left out."""
    found: dict[int, list[str]] = {}
    for step in story.steps:
        for change in step.changes:
            record = story.records[change.note]
            if change.what == what and record.memory.kind != "turn":
                found.setdefault(step.position, []).append(record.memory.text)
    return found


@pytest.fixture(params=["utility", "bionic", "reflective", "scheduler", "layered"])
def policy(request, trained):
    """(make a policy) of each system."""
    if request.param == "utility":
        scorer = load(trained / "runs" / "train" / "default" / "scorer").scorer
        return lambda: Utility("ann", scorer)
    return lambda: {"bionic": Bionic, "reflective": Reflective, "scheduler": Scheduler, "layered": Layered}[request.param](
        "ann"
    )


def test_each_turn_has_a_step_and_each_of_the_users_a_recall_before_it(policy):
    story = lived(policy=policy())
    assert [step.turn for step in story.steps] == turns() and story.ended == 16
    assert [len(step.recalls) for step in story.steps] == [1, 0] * 8
    assert not story.steps[0].recalls[0].hits and story.steps[10].recalls[0].hits


def test_what_is_recalled_at_a_turn_was_drawn_from_turns_before_it(policy):
    story = lived(policy=policy(), k=10)
    for step in story.steps:
        for recall in step.recalls:
            for hit in recall.hits:
                assert max(story.records[hit.note].memory.sources) < step.position


@pytest.mark.parametrize("cut", [3, 8, 11])
def test_what_comes_later_changes_no_step_before_it(policy, cut):
    given = turns()
    poisoned = [*given[:cut], *(replace(turn, text=f"My dentist is Dr. Poison {turn.position}.") for turn in given[cut:])]
    assert lived(given, policy()).steps[:cut] == lived(poisoned, policy()).steps[:cut]


def test_reasons_sum_to_the_score(trained):
    scorer = load(trained / "runs" / "train" / "default" / "scorer").scorer
    story = lived(policy=Utility("ann", scorer))
    hits = [hit for step in story.steps for recall in step.recalls for hit in recall.hits]
    assert hits and all(
        sum(hit.why.values()) == pytest.approx(hit.score, abs=1e-5) and hit.utility is not None for hit in hits
    )


def test_facts_are_learned_at_the_end_of_a_session_and_new_values_supersede_old_ones():
    story = lived()
    assert texts(story, "written")[5] == ["user: dentist: dr. hale", "user: home: oslo", "user: 电话: 13800000000"]
    assert texts(story, "written")[9] == ["user: dentist: dr. brand", "user: home: bergen"]
    gone = [change for change in story.steps[9].changes if change.what == "superseded"]
    assert [(story.records[one.note].value, story.records[one.by].value, one.why) for one in gone] == [
        ("dr. hale", "dr. brand", "another value"),
        ("oslo", "bergen", "another value"),
    ]
    assert story.steps[9].kept == (13, 2, 0)
    assert texts(story, "known") == {15: ["user: dentist: dr. brand"]}
    assert texts(story, "archived") == {14: ["user: home: bergen"]} and story.steps[15].kept == (18, 2, 1)


def test_every_so_many_turns_what_was_said_is_consolidated():
    assert list(texts(lived(every=2), "written")) == [1, 3, 5, 7, 9]


def test_what_nobody_read_fades():
    given = [
        replace(turn, time=f"20{20 + turn.position}-01-01T00:00:00+00:00") for turn in turns(("One.", "Two.", "Three."))
    ]
    story = live(given, "ann", Bionic("ann"), HashingEncoder(32), 1, 1, Lifecycle())
    written, archived = story.steps[1].changes
    assert (written.what, archived.what, archived.why) == ("written", "archived", "faded")
    assert archived.note == story.steps[0].changes[0].note and story.steps[1].kept == (1, 0, 1)


def test_a_vague_change_makes_the_old_fact_less_sure():
    given = turns(("My favourite colour is red.", "Ok."), ("Lately my favourite colour is green.", "Ok."))
    changes = lived(given).steps[3].changes
    assert [(one.what, one.why) for one in changes if one.what == "changed"] == [("changed", "a vague change")]


def test_the_same_twice():
    assert lived() == lived()
