from dataclasses import replace

import numpy as np
import pytest

from hindsight.encoder.hashing import HashingEncoder
from hindsight.features.replay import moment, replay
from hindsight.labeler import judge
from hindsight.labeler.joined import Joined, ballot
from hindsight.labeler.values import Values
from hindsight.miner.turns import Turns
from hindsight.train import examples
from hindsight.train.batches import listed
from hindsight.types import ConfigError, Labelled, Query, ToolCall, Turn, Use

ENCODER = HashingEncoder(32)
TOWNS = "Leeds Porto Turin Basel Oslo Gdansk Sofia Malmo Bruges Lyon Bergen Trieste".split()


def stream(towns=TOWNS):
    """A town is told, weather is talked about, and the town before the last is booked by a call."""
    turns = []
    for number, town in enumerate(towns):
        said = [
            ("user", f"My next trip goes to {town} by rail.", None),
            ("assistant", "Noted for later.", None),
            ("user", "Fine weather today.", None),
            ("assistant", "It is.", None),
            ("user", "Now book it.", None),
            ("assistant", "It is booked.", {"to": towns[number - 1]} if number else None),
        ]
        for role, text, arguments in said:
            calls = (ToolCall(f"c{len(turns)}", "book", arguments),) if arguments else ()
            turns.append(Turn(len(turns), "s", role, role, text, None, calls))
    return turns


def label(labeler, turns=None):
    turns = stream() if turns is None else turns
    memories = Turns().mine(turns, "u", "")
    return labeler.label(turns, memories, ENCODER), memories


def test_it_finds_what_the_calls_used_and_says_how_sure_it_is():
    found, memories = label(Joined(least_pool=3))
    names = {m.memory_id: m.sources[0] for m in memories}
    at_calls = {one.query.asked_at: [names[u.memory_id] for u in one.uses] for one in found if one.kind == "call"}
    assert at_calls == {6 * n + 5: [6 * (n - 1)] for n in range(1, len(TOWNS))}
    for one in found:
        assert all(0.5 <= use.gain <= 1 and "+ " in use.evidence for use in one.uses)
        assert not {use.memory_id for use in one.uses} & set(one.unsure)
    assert label(Joined(least_pool=3)) == (found, memories)


def test_bands_decide_what_stays_unlabelled():
    wide, _ = label(Joined(least_pool=3, sure=(0.0, 0.5)))
    narrow, _ = label(Joined(least_pool=3, sure=(0.49, 0.5)))
    count = [sum(len(one.unsure) for one in found) for found in (wide, narrow)]
    assert [one.uses for one in wide] == [one.uses for one in narrow] and count[0] > count[1]


def test_the_controls():
    hidden, _ = label(Joined(least_pool=3, future="hidden"))
    assert hidden == label(Values(least_pool=3, future="hidden"))[0] and hidden
    shuffled, _ = label(Joined(least_pool=3, future="shuffled"))
    real, _ = label(Joined(least_pool=3))
    uses = [{one.query.asked_at: {use.memory_id for use in one.uses} for one in found} for found in (real, shuffled)]
    assert sum(uses[0][at] == uses[1].get(at) for at in uses[0]) < len(uses[0]) / 2


def test_one_query_alone():
    turns = stream()
    own = Joined(least_pool=3)
    position, asked = own.asked(turns, "u")[-1]
    ((_, past),) = replay(turns, memories := Turns().mine(turns, "u", ""), ENCODER, [position])
    known, before = moment(past, asked.query), turns[position - 3 : position]
    one, parts = own.explain(known, before, asked, turns[position])
    assert one == replace(own.teach(known, before, turns[position]), kind=one.kind) and "call values" in parts
    assert [use.memory_id for use in one.uses] == [m.memory_id for m in memories if m.sources[0] == 6 * (len(TOWNS) - 2)]
    nothing = moment(past, Query("q", "u", "", "?", 0))
    assert own.teach(nothing, (), turns[0]) is None


def test_ballots():
    silent = np.zeros(5, np.float32)
    assert ballot("x", silent).tolist() == ballot("x", silent + 3).tolist() == [0] * 5
    scores = np.array([0, 0, 0, 0.4, 0.8, 1], np.float32)
    assert ballot("x", scores).tolist() == [-1, -1, -1, 0, 1, 1]
    assert ballot("call values", scores).tolist() == [-1, -1, -1, 1, 1, 1]
    read = np.array([0, 0, -0.5, 0.5, 0], np.float32)
    assert ballot(judge.SIGNAL, read).tolist() == [0, 0, -1, 1, 0]  # three were not read


def test_what_is_unsure_enters_no_list_and_survives_the_disk(tmp_path):
    turns = stream()
    memories = Turns().mine(turns, "u", "")
    query = Query("q", "u", "", "Where to?", 60)
    uses = (Use("q", memories[0].memory_id, 0.9),)
    plain = Labelled(query, uses, "call")
    some = replace(plain, unsure=tuple(m.memory_id for m in memories[10:30]))
    (whole,), (less,) = (listed(turns, memories, [one], ENCODER, ["bm25"]) for one in (plain, some))
    assert (len(whole.gain), len(less.gain)) == (60, 40) and less.gain.tolist() == [*whole.gain[:10], *whole.gain[30:]]
    examples.write(tmp_path / "e", [plain, some])
    assert list(examples.read(tmp_path / "e")) == [plain, some]


def test_all_problems_at_once():
    with pytest.raises(ConfigError) as raised:
        Joined(("overlap", "overlap"), sure=(0.6, 0.5))
    assert len(raised.value.problems) == 3
