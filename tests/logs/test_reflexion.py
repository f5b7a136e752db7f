import json
import os
from collections import Counter
from pathlib import Path

import pytest

from hindsight.io import to_json
from hindsight.logs.reflexion import ReflexionReader
from hindsight.types import Count, DataError

REAL = os.environ.get("HINDSIGHT_REFLEXION", "")
TRAJECTORIES = """
########################################
BEGIN TRIAL 1
Trial summary: Correct: 1, Incorrect: 1, Halted: 1
#######################################
------------- BEGIN CORRECT AGENTS -------------

Question: Which band is older?
Thought 1: Search both.
Action 1: Search[The (Old) Band]
Observation 1: Could not find [The (Old) Band]. Similar: ['Band']
Thought 2: It is Band.
It must be.
Action 2: Finish[Band]
Observation 2: Answer is CORRECT
Correct answer: SECRET

------------- BEGIN INCORRECT AGENTS -----------

Question: Who wrote it?
Thought 1: I know.
Action 1: Finish[Ann]
Observation 1: Answer is INCORRECT
Correct answer: SECRET

------------- BEGIN HALTED AGENTS --------------

Question: Where?
Thought 1: Hm.
Action 1: ask my friend
Observation 1: Invalid Action.
Correct answer: SECRET

########################################
BEGIN TRIAL 2
Trial summary: Correct: 2, Incorrect: 0, Halted: 1
#######################################
------------- BEGIN CORRECT AGENTS -------------

Question: Which band is older?
Thought 1: Search both.

Question: Who wrote it? You have attempted to answer following question before and failed. Use the following.
Reflections:
- I should have searched.
And read.
- Never guess.
Thought 1: Search.
Action 1: Search[book]
Observation 1: Bea wrote it.
Second paragraph.
Thought 2: Bea.
Action 2: Finish[Bea]
Observation 2: Answer is CORRECT
Correct answer: SECRET
"""


def told(turn):
    return turn.role, turn.text, [(call.name, call.arguments["query"], call.outcome) for call in turn.calls]


def test_trajectories_with_feedback_and_each_reflection_where_it_was_made(tmp_path):
    (tmp_path / "run.txt").write_text(TRAJECTORIES)
    band, who, where = ReflexionReader().build().read(tmp_path / "run.txt", count := Count())
    assert count.kept == 3 and "SECRET" not in to_json([band, who, where])
    assert [told(turn) for turn in band.turns] == [
        ("user", "Which band is older?", []),
        ("assistant", "Search both.", [("Search", "The (Old) Band", "failure")]),
        ("tool", "Could not find [The (Old) Band]. Similar: ['Band']", []),
        ("assistant", "It is Band.\nIt must be.", [("Finish", "Band", "success")]),
        ("tool", "Answer is CORRECT", []),
    ]  # the trial after it is not there
    assert [told(turn) for turn in who.turns] == [
        ("user", "Who wrote it?", []),
        ("assistant", "I know.", [("Finish", "Ann", "failure")]),
        ("tool", "Answer is INCORRECT", []),
        ("assistant", "I should have searched.\nAnd read.", []),
        ("assistant", "Never guess.", []),
        ("user", "Who wrote it?", []),
        ("assistant", "Search.", [("Search", "book", "unknown")]),
        ("tool", "Bea wrote it.\nSecond paragraph.", []),
        ("assistant", "Bea.", [("Finish", "Bea", "success")]),
        ("tool", "Answer is CORRECT", []),
    ]
    sessions = [turn.session for turn in who.turns]
    assert sessions == sessions[:1] * 5 + sessions[5:6] * 5 and len(set(sessions)) == 2
    assert who.turns[8].calls[0].result == "Answer is CORRECT"
    assert [told(turn)[1] for turn in where.turns] == [
        "Where?",
        "Hm.\nask my friend",
        "Invalid Action.",
        '{"success": false}',
    ]
    assert [turn.position for turn in who.turns] == list(range(10))
    assert len({one.user_id for one in (band, who, where)}) == 3


def test_results_of_environments_trial_by_trial(tmp_path):
    folder = tmp_path / "runs" / "one"
    folder.mkdir(parents=True)

    def write(trial, *lines):
        records = [{"name": name, "memory": memory, "is_success": success} for name, memory, success in lines]
        (folder / f"env_results_trial_{trial}.json").write_text(json.dumps([*records, {"name": "x"}, 3]))

    write(2, ("env_0", ["a", "b"], True), ("env_1", [], True))
    write(10, ("env_0", ["a", "b"], True), ("env_1", [], True))
    write(0, ("env_0", [" a "], False), ("env_1", [], True))
    (folder / "notes.txt").write_text("nothing")
    zero, one = ReflexionReader().read(tmp_path, count := Count())
    assert [turn.text for turn in zero.turns] == ['{"success": false}', "a", '{"success": true}', "b"]
    assert [turn.role for turn in zero.turns] == ["tool", "assistant", "tool", "assistant"]
    assert zero.turns[1].session == zero.turns[0].session != zero.turns[2].session
    assert [turn.text for turn in one.turns] == ['{"success": true}']  # and was not run again
    assert (count.kept, count.skipped) == (2, {})
    assert Counter(count.notes) == {
        "file left out: neither results nor trajectories of trials": 1,
        "trial left out: no name, is_success or memory": 6,
        "trial left out: the task was solved before": 3,
    }


def test_a_folder_without_trials(tmp_path):
    (tmp_path / "a.txt").write_text("nothing")
    for path in (tmp_path, tmp_path / "absent"):
        with pytest.raises(DataError, match="Reflexion"):
            list(ReflexionReader().read(path, Count()))


@pytest.mark.skipif(not REAL, reason="needs HINDSIGHT_REFLEXION, the folder of the unpacked Reflexion logs")
def test_the_real_files():
    found = list(ReflexionReader().read(Path(REAL), count := Count()))
    assert (count.kept, count.skipped, len({one.user_id for one in found})) == (1184, {}, 1184)
    (run,) = Path(REAL).rglob("reflexion/100_questions_5_trials.txt")
    last = [one.turns[-1].text for one in ReflexionReader().read(run, Count())]
    assert (len(last), last.count("Answer is CORRECT")) == (100, 51)  # as its own summary of trial 5 says
