import json
import os
from pathlib import Path

import pytest

from hindsight.io import to_json
from hindsight.logs.tau_bench import TauBenchReader
from hindsight.types import Count, DataError

REAL = os.environ.get("HINDSIGHT_TAU", "")


def call(name, call_id, **arguments):
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


def trajectory(task, trial, reward, customer="mia_1", *turns):
    traj = [
        {"role": "system", "content": "Policy."},
        {"role": "user", "content": "Cancel my flight, please."},
        {"role": "assistant", "content": None, "tool_calls": [call("cancel", "c1", flight="HAT1")]},
        {"role": "tool", "tool_call_id": "c1", "name": "cancel", "content": "Error: flight not found"},
        *turns,
        {"role": "assistant", "content": "I cannot."},
        {"role": "user", "content": "Thanks anyway! ###STOP###"},
    ]
    gold = {"user_id": customer, "instruction": "SECRET", "actions": [{"name": "SECRET"}]}
    return {"task_id": task, "trial": trial, "reward": reward, "info": {"task": gold}, "traj": traj}


def read(path, *records):
    path.write_text(json.dumps(records))
    return list(TauBenchReader().build().read(path, count := Count())), count


def test_a_trajectory_with_its_calls_their_results_and_the_reward_as_a_last_turn(tmp_path):
    (one, two), count = read(tmp_path / "a.json", trajectory(0, 0, 0.0), trajectory(0, 1, 1.0))
    assert (count.kept, count.notes) == (2, {})
    assert one.user_id == two.user_id and one.dialogue_id != two.dialogue_id  # the same customer calls again
    assert [turn.role for turn in one.turns] == ["system", "user", "assistant", "tool", "assistant", "user", "tool"]
    (made,) = one.turns[2].calls
    assert (made.name, made.arguments, made.result, made.outcome) == (
        "cancel",
        {"flight": "HAT1"},
        "Error: flight not found",
        "failure",
    )
    assert one.turns[5].text == "Thanks anyway!"
    assert [one.turns[-1].text, two.turns[-1].text] == ['{"success": false}', '{"success": true}']
    assert one.turns[-1].session == one.turns[0].session and one.turns[-1].position == 6
    assert "SECRET" not in to_json([one, two]) and "mia_1" not in to_json([one, two])


def test_what_cannot_be_kept_is_counted(tmp_path):
    again, bare = trajectory(0, 0, 1.0), trajectory(1, 0, None, "")
    found, count = read(tmp_path / "a.json", trajectory(0, 0, 0.0), again, bare, {"task_id": 3}, 4)
    assert count.skipped == {"the same task and trial again": 1, 'no list "traj"': 1, "no JSON object": 1}
    assert len({one.user_id for one in found}) == 2 and found[1].turns[-1].role == "user"
    assert sum(count.notes.values()) == 1  # no reward
    with pytest.raises(DataError, match="tau-bench"):
        read(tmp_path / "b.json", {"x": 1})


def test_worked_examples(tmp_path):
    shown = "user: Hi,\nuser: is no role here\nassistant: None\ntool: Error: user not found\nassistant: Sorry.\nuser: Bye ###STOP###"
    (tmp_path / "few_shot.jsonl").write_text(json.dumps({"messages_display": shown}) + "\n{}\n")
    (one,) = TauBenchReader().read(tmp_path, count := Count())
    assert [(turn.role, turn.text) for turn in one.turns] == [
        ("user", "Hi,"),
        ("user", "is no role here"),
        ("tool", "Error: user not found"),
        ("assistant", "Sorry."),
        ("user", "Bye"),
    ]
    assert count.skipped == {'no list "traj"': 1}
    assert any("call of a worked example" in note for note in count.notes)


@pytest.mark.skipif(not REAL, reason="needs HINDSIGHT_TAU, the folder of the unpacked tau-bench")
def test_the_real_files():
    found = list(TauBenchReader().read(Path(REAL), count := Count()))
    assert (count.kept, count.skipped) == (288, {})
    rewards = [one.turns[-1].text for one in found if one.turns[-1].speaker == "evaluation"]
    assert (len(rewards), rewards.count('{"success": true}')) == (200, 84)
