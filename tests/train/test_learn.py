from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight.encoder.cache import CacheConfig
from hindsight.encoder.hashing import HashingEncoder
from hindsight.features import matrix
from hindsight.labeler.overlap import Overlap
from hindsight.miner.turns import Turns
from hindsight.scorer.head import logits
from hindsight.scorer.linear import Linear
from hindsight.train.batches import Listed
from hindsight.train.learn import Encoding, built, features_each, hold_out, label_each, learn
from hindsight.train.loop import Fit
from hindsight.types import DataError, Labelled, Mined, Query
from tests.system.stream import turns

ONCE = Fit(epochs=1, batch=8)
ENCODING = Encoding(HashingEncoder(32), CacheConfig(""))
USERS = st.sets(st.text(max_size=5), max_size=30)


@settings(max_examples=60, deadline=None)
@given(USERS, st.floats(0, 1), st.randoms(use_true_random=False))
def test_hold_out_is_stable_at_least_one_and_never_all(users, share, rng):
    order = list(users) * 2
    rng.shuffle(order)
    held = hold_out(order, share)
    assert held == hold_out(sorted(users), share) and held <= users
    if len(users) < 2 or share == 0:
        assert not held
    else:
        assert 1 <= len(held) < len(users)
        assert abs(len(held) - share * len(users)) <= 1
    assert hold_out(order, share / 2) <= held  # a smaller share of the same order


def test_who_is_held_out_does_not_go_by_name():
    users = [f"user {n:03}" for n in range(100)]
    held = hold_out(users, 0.2)
    assert len(held) == 20 and held not in (frozenset(users[:20]), frozenset(users[-20:]))
    assert hold_out(users[:50], 0.2) & held  # stable when users come, but for the border


@dataclass
class Watched:
    """A labeler that notes what it balances."""

    given: list = field(default_factory=list)
    weight: float = 1.0

    def balance(self, labelled):
        self.given = list(labelled)
        return [replace(one, weight=self.weight) for one in labelled if one.quality >= 0]


WATCHED = Watched()


def drawn(users=6, queries=8, seed=0):
    """(labelled, lists): 7 features, of which the first tells the use."""
    draw, labelled, lists = np.random.default_rng(seed), [], []
    for user in (f"u{n}" for n in range(users)):
        for number in range(queries):
            query = Query(f"q{number}", user, "", "?", number)  # ids of queries are unique within a user alone
            features = draw.standard_normal((12, 7)).astype(np.float16)
            gain = (np.arange(12) == features[:, 0].argmax()).astype(np.float32)
            labelled.append(Labelled(query, (), "HQ" if number % 2 else "HP"))
            lists.append(Listed(query.query_id, user, labelled[-1].kind, features, gain, 0.0))
    return labelled, lists


def learned(labelled, lists, held=(), config=ONCE, labeler: Any = WATCHED):
    return learn([labelled], lists, labeler, Linear("narrow"), config, frozenset(held))


def weights(one):
    """Without the slope and the shift, which are calibrated on the held-out users."""
    return {name: value.numpy().tobytes() for name, value in one.head.state_dict().items() if name not in ("slope", "shift")}


def test_no_query_is_an_error():
    labelled, lists = drawn()
    everyone = {one.query.user_id for one in labelled}
    for one in (([], []), (labelled, []), ([], lists)):
        with pytest.raises(DataError, match="training queries"):
            learned(*one)
    with pytest.raises(DataError, match="training queries"):
        learned(labelled, lists, everyone)
    with pytest.raises(DataError, match="training queries"):
        learned([replace(one, quality=-1) for one in labelled], lists)  # none that the labeler keeps


def test_held_out_users_do_not_enter_the_fit():
    """One epoch, so that they cannot choose it either."""
    labelled, lists = drawn()
    labeler = Watched()
    one = learned(labelled, lists, {"u1", "u4"}, labeler=labeler)
    assert {row.query.user_id for row in labeler.given} == {"u0", "u2", "u3", "u5"}
    assert (one.queries, one.held_out) == ({"HP": 16, "HQ": 16}, 16)
    assert one.calibration["queries"] == 16
    others = [
        replace(row, features=row.features[:, ::-1] * 5, gain=row.gain[::-1]) if row.user_id in ("u1", "u4") else row
        for row in lists
    ]
    two = learned(labelled, others, {"u1", "u4"})
    assert weights(one) == weights(two) and one.calibration != two.calibration
    trained = [replace(row, gain=row.gain[::-1]) if row.user_id == "u0" else row for row in lists]
    assert weights(learned(labelled, trained, {"u1", "u4"})) != weights(one)  # those of the others do
    kept = [[row for row in rows if user(row) not in ("u1", "u4")] for rows in (labelled, lists)]
    alone = learned(kept[0], kept[1])
    assert weights(alone) == weights(one) and (alone.held_out, alone.calibration) == (0, {})


def user(row):
    return row.user_id if isinstance(row, Listed) else row.query.user_id


def test_lists_belong_to_queries_by_user_and_id_in_whatever_order():
    labelled, lists = drawn()
    one = learned(labelled, lists, {"u2"})
    assert weights(learned(labelled, lists[::-1], {"u2"})) == weights(one)
    assert learned(labelled, lists[8:], {"u2"}).queries == {"HP": 16, "HQ": 16}  # without a list, no query


def test_a_fit_learns_and_a_seed_gives_the_same():
    labelled, lists = drawn(users=10)
    longer = Fit(epochs=15, batch=8)
    one, two = (learned(labelled, lists, {"u3", "u7"}, longer) for _ in range(2))
    assert weights(one) == weights(two) and one.calibration == two.calibration
    assert weights(learned(labelled, lists, {"u3", "u7"}, replace(longer, seed=1))) != weights(one)
    fresh = drawn(users=2, seed=1)[1]
    found = [logits(one.head.contributions(row.features.astype(np.float32))) for row in fresh]
    assert np.mean([score.argmax() == row.gain.argmax() for score, row in zip(found, fresh)]) > 0.6  # by chance 1 / 12
    assert cast(float, one.calibration["brier"]) < cast(float, one.calibration["brier_base"])


def test_each_users_labels_and_lists_are_their_own_in_any_number_of_processes():
    streams = []
    for number, name in enumerate(("a", "b")):
        said = turns(60, seed=number)
        streams.append(Mined(name, said, Turns().mine(said, "not yet known", "")))
    labeler, columns = Overlap(least_pool=8), matrix.columns_of("narrow")
    labelled = label_each(streams, labeler, ENCODING, 1)
    assert [{one.query.user_id for one in own} for own in labelled] == [{"a"}, {"b"}]
    assert labelled == [label_each([stream], labeler, ENCODING, 1)[0] for stream in streams]
    lists = features_each(streams, labelled, ENCODING, columns, 1)
    for own, rows in zip(labelled, lists):
        assert {(one.user_id, one.query_id) for one in rows} <= {(one.query.user_id, one.query.query_id) for one in own}
        assert rows and all(one.features.shape[1] == len(columns) for one in rows)
    flat = [one for own in labelled for one in own], [one for rows in lists for one in rows]
    (held,) = hold_out(["a", "b"], 0.5)
    assert learned(*flat, held=[held]).held_out == len(lists["ab".index(held)])
    assert built(ENCODING) is built(Encoding(HashingEncoder(32), CacheConfig("")))
