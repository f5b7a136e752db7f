"""A tool's failure is nobody's fault: whatever a call's outcome, memories have the same features and the same labels."""

import json
from dataclasses import replace

import numpy as np
import pytest

from hindsight.encoder.hashing import HashingEncoder
from hindsight.features import matrix
from hindsight.features.replay import moment, replay
from hindsight.labeler.gated import Gated
from hindsight.labeler.overlap import Overlap
from hindsight.labeler.values import Values
from hindsight.logs.native import NativeReader
from hindsight.logs.tau_bench import TauBenchReader
from hindsight.miner.turns import Turns
from hindsight.suite import bundled
from hindsight.suite.past import streams
from hindsight.types import Count, Query, ToolCall, Turn

ENCODER = HashingEncoder(32)
LABELERS = [Values(least_pool=4), Gated(least_pool=4, most=20), Overlap(least_pool=4)]
COLUMNS = tuple(name for name in matrix.GROUP_OF if not name.endswith(matrix.LAST))


def ended(turns, outcome):
    """The same stream where every call came out so."""
    return [replace(t, calls=tuple(replace(call, outcome=outcome) for call in t.calls)) for t in turns]


def of_bundled():
    """A person with a call that failed."""
    for stream in streams(NativeReader().read(bundled.FOLDER / "test.jsonl", Count())):
        failed = [t.position for t in stream.turns if any(call.outcome == "failure" for call in t.calls)]
        if failed and failed[0] < 120:
            return stream.turns[: max(60, failed[0] + 10)]
    raise AssertionError("no call of the bundled logs failed")


def of_tau_bench(tmp_path):
    """A trajectory in its format: one call finds nothing, the next one does."""

    def call(tool, **given):
        function = {"name": tool, "arguments": json.dumps(given)}
        return {"role": "assistant", "content": None, "tool_calls": [{"id": tool, "type": "function", "function": function}]}

    told = [
        {"role": "user", "content": "I am Mia Garcia, zip 80901, and order W5442520 must change."},
        {"role": "assistant", "content": "Let me look, Mia."},
        call("find_user", name="Mia Garcia", zip="80901"),
        {"role": "tool", "tool_call_id": "find_user", "name": "find_user", "content": "Error: user not found"},
        {"role": "assistant", "content": "I cannot find you, what is your email?"},
        {"role": "user", "content": "mia.garcia@mail.example"},
        call("get_order", order="W5442520"),
        {"role": "tool", "tool_call_id": "get_order", "name": "get_order", "content": '{"status": "pending"}'},
        {"role": "assistant", "content": "Order W5442520 is pending."},
    ]
    path = tmp_path / "runs.json"
    path.write_text(json.dumps([{"task_id": 0, "trial": 0, "reward": 0.0, "info": {}, "traj": told}]))
    return list(next(iter(TauBenchReader().read(path, Count()))).turns)


@pytest.fixture(params=["bundled", "tau-bench"])
def turns(request, tmp_path):
    return of_bundled() if request.param == "bundled" else of_tau_bench(tmp_path)


def test_labels_are_the_same_whatever_the_outcome(turns):
    memories = Turns().mine(turns, "u", "")
    for labeler in LABELERS:
        wanted = labeler.label(turns, memories, ENCODER)
        assert wanted or len(turns) < 20, labeler
        for outcome in ("success", "failure", "unknown"):
            other = ended(turns, outcome)
            assert labeler.label(other, Turns().mine(other, "u", ""), ENCODER) == wanted, (labeler, outcome)


def test_features_are_the_same_whatever_the_outcome(turns):
    end = turns[-1].position + 1
    asked = Query("q", "u", "", "Where is my order, and who was it again?", end)

    def found(stream):
        _, past = next(iter(replay(stream, Turns().mine(stream, "u", ""), ENCODER, [end])))
        return matrix.compute(moment(past, asked), COLUMNS)

    wanted = found(turns)
    assert wanted[:, COLUMNS.index("called")].any()
    assert not wanted[:, COLUMNS.index("failed")].any()  # of episodes alone, whose own outcome it is
    for outcome in ("success", "failure", "unknown"):
        assert np.array_equal(found(ended(turns, outcome)), wanted), outcome


def test_a_failed_call_credits_the_memory_that_gave_its_value():
    """Also where the tool says that it failed: the value was wanted."""

    def stream(result, outcome):
        told = ["To Lisbon, please.", "Sure.", "How is it there?", "Sunny.", "Nice.", "It is.", "Book it then."]
        turns = [Turn(i, "s", role, role, text) for i, text in enumerate(told) for role in [("user", "assistant")[i % 2]]]
        call = ToolCall("c", "book", {"city": "Lisbon"}, result, outcome)
        return [*turns, Turn(7, "s", "assistant", "assistant", "", calls=(call,))]

    labels = []
    for result, outcome in (("booked", "success"), ("Error: service unavailable", "failure"), (None, "unknown")):
        turns = stream(result, outcome)
        labels.append(Values(least_pool=1).label(turns, Turns().mine(turns, "u", ""), ENCODER)[-1])
        assert [use.gain for use in labels[-1].uses] == [1.0] and labels[-1].kind == "call"
    assert labels[0] == labels[1] == labels[2]


@pytest.mark.parametrize(
    "said, taken",
    [
        (["To Oslo, please.", "Sure.", "Actually make it Bergen instead of Oslo.", "Fine."], ["Bergen"]),
        (["To Oslo, please.", "Sure.", "Forget Oslo. Is Bergen nice?", "It is."], ["Bergen"]),
    ],
)
def test_the_label_credits_the_value_in_force(said, taken):
    """Never the turn whose value was overwritten or taken back, as what came later did not use it."""
    said = [*said, "Good.", "Yes.", "Right.", "Well.", "Go."]
    turns = [Turn(i, "s", role, role, text) for i, text in enumerate(said) for role in [("user", "assistant")[i % 2]]]
    turns.append(Turn(9, "s", "assistant", "assistant", "", calls=(ToolCall("c", "book", {"city": taken[0]}),)))
    memories = Turns().mine(turns, "u", "")
    label = Values(least_pool=1).label(turns, memories, ENCODER)[-1]
    assert [use.memory_id for use in label.uses] == [memories[2].memory_id]
