from dataclasses import replace

import numpy as np
import pytest

from hindsight.encoder.hashing import HashingEncoder
from hindsight.features import matrix
from hindsight.features.replay import moment, replay
from hindsight.miner.turns import Turns
from hindsight.train.batches import HARD, RANDOM, WHOLE, listed
from hindsight.types import Labelled, Use
from tests.system.stream import query, turns

ENCODER = HashingEncoder(32)
COLUMNS = matrix.columns_of("act")
LONG = turns(WHOLE + 150)


def mined(stream):
    return Turns().mine(stream, "u", "")


def labelled(asked, *places, hidden=(), memories=()):
    uses = tuple(Use(asked.query_id, memories[place].memory_id, 1 / (1 + i)) for i, place in enumerate(places))
    return Labelled(asked, uses, "HQ", hidden=hidden)


def whole(stream, memories, one):
    """(candidates, columns) of the whole pool, by itself."""
    ((_, past),) = replay(stream, memories, ENCODER, [one.query.asked_at])
    return matrix.compute(moment(past, one.query, one.hidden), COLUMNS)


def test_a_small_pool_is_kept_whole_and_the_gain_lies_on_its_memory():
    stream = turns(40)
    memories = mined(stream)
    one = labelled(query("Lisbon in the rain?", 30), 4, 9, memories=memories)
    (found,) = listed(stream, memories, [one], ENCODER, COLUMNS)
    np.testing.assert_array_equal(found.features, whole(stream, memories, one).astype(np.float16))
    assert found.gain.tolist() == [{4: 1.0, 9: 0.5}.get(i, 0.0) for i in range(30)]
    assert (found.query_id, found.user_id, found.kind) == (one.query.query_id, "u", "HQ")


@pytest.mark.parametrize("act", [False, True])
def test_a_large_pool_gives_the_labelled_the_hard_and_some_others_and_in_act_the_newest(act):
    memories = mined(LONG)
    context, goal = ((339, 338, 337), "a trip") if act else ((), "")
    one = labelled(query("user: tea in Lisbon", 340, context=context, goal=goal), 1, 77, memories=memories)
    (found,) = listed(LONG, memories, [one], ENCODER, ("age_log", *COLUMNS))
    pool = 337 if act else 340
    places = 340 - np.round(np.exp(found.features[:, 0].astype(np.float64))).astype(int)
    all_features = whole(LONG, memories, one)
    hard = sum(all_features[:, COLUMNS.index(name)] for name in ("bm25", "bm25_window", "cosine", "cosine_window"))
    assert len(all_features) == pool
    assert HARD + RANDOM / 2 < len(found.gain) < HARD + RANDOM + (HARD if act else 0) + 2
    assert np.isin(np.argsort(-hard)[: HARD // 2], places).mean() > 0.9  # ages are float16: a few are one off
    assert (found.features[:, 0] < np.log(25)).sum() >= (20 if act else 0)
    assert sorted(found.gain[found.gain > 0]) == [0.5, 1.0]
    again = listed(LONG, memories, [one], ENCODER, ("age_log", *COLUMNS))[0]
    assert found.features.tobytes() == again.features.tobytes()


def test_a_hidden_turn_is_no_candidate_and_uses_outside_the_pool_are_none():
    stream = turns(40)
    memories = mined(stream)
    asked = query("Lisbon?", 30, context=(29, 28))
    rows = [
        labelled(asked, 4, memories=memories, hidden=(6,)),
        labelled(replace(asked, query_id="late"), 28, 35, memories=memories),
        labelled(replace(asked, query_id="hidden"), 6, memories=memories, hidden=(6,)),
        labelled(replace(asked, query_id="none")),
        labelled(replace(asked, query_id="some"), 4, 35, memories=memories),
    ]
    found = listed(stream, memories, rows, ENCODER, COLUMNS)
    assert [one.query_id for one in found] == [asked.query_id, "some"]
    assert [len(one.gain) for one in found] == [27, 28]
    assert found[1].gain.sum() == 1


def test_later_turns_change_nothing_and_neither_does_the_company_of_other_queries():
    stream = turns(60)
    memories = mined(stream)
    poisoned = [*stream[:30], *(replace(turn, text="Lisbon Lisbon tea") for turn in stream[30:])]
    asked = [labelled(query(f"tea {at}?", at), 2, memories=memories) for at in (30, 12, 30, 25)]
    found = listed(stream, memories, asked, ENCODER, COLUMNS)
    late = mined(poisoned)
    others = listed(poisoned, [*memories[:30], *late[30:]], asked, ENCODER, COLUMNS)
    for place, one in enumerate(asked):
        (alone,) = listed(stream[:30], memories[:30], [one], ENCODER, COLUMNS)
        assert found[place].features.tobytes() == others[place].features.tobytes()
        np.testing.assert_allclose(alone.features.astype(float), found[place].features.astype(float), atol=2e-3)
