import numpy as np
import pytest

from hindsight.encoder.hashing import HashingEncoder
from hindsight.features import matrix
from hindsight.features.replay import moment, replay
from hindsight.miner.turns import Turns
from hindsight.train.batches import HARD, RANDOM, listed
from hindsight.types import Labelled, Use
from tests.system.stream import query, turns

ENCODER = HashingEncoder(32)
STREAM = turns(400)
MEMORIES = Turns().mine(STREAM, "u", "")


def labelled(
    text: str, at: int, gains: dict[int, float], hidden: tuple[int, ...] = (), context: tuple[int, ...] = ()
) -> Labelled:
    asked = query(text, at, context=context)
    uses = tuple(Use(asked.query_id, MEMORIES[row].memory_id, gain) for row, gain in gains.items())
    return Labelled(asked, uses, "HQ", hidden=hidden)


ASKED = [
    labelled("When is the piano lesson?", 390, {3: 0.7, 300: 0.3, 350: 0.0}),
    labelled("A museum in Porto?", 400, {20: 1.0}, hidden=(19,)),
    labelled("Blue or red?", 120, {100: 1.0}),
    labelled("Tea?", 400, {5: 1.0}),
]


def test_features_are_those_of_the_moment_and_uses_are_kept():
    found = listed(STREAM, MEMORIES, ASKED, ENCODER, matrix.ASK)
    assert [one.query_id for one in found] == [one.query.query_id for one in ASKED]
    for one, made in zip(ASKED, found):
        _, past = next(iter(replay(STREAM, MEMORIES, ENCODER, [one.query.asked_at])))
        known = moment(past, one.query, one.hidden)
        whole = matrix.compute(known, matrix.ASK).astype(np.float16).astype(np.float32)
        for row, gain in ((past.row_of[use.memory_id], use.gain) for use in one.uses):
            wanted = whole[np.searchsorted(known.rows, row)]
            near = np.abs(made.features.astype(np.float32) - wanted).max(axis=1) < 5e-3
            assert near.any() and made.gain[near].max() == pytest.approx(gain)
        assert made.gain.sum() == pytest.approx(sum(use.gain for use in one.uses))


def test_how_many_candidates():
    """A small pool whole; of a large one the labelled (also those without gain), the hardest, and random ones."""
    sizes = [len(one.gain) for one in listed(STREAM, MEMORIES, ASKED, ENCODER, ("bm25",))]
    assert sizes[2] == 120
    assert all(HARD <= size <= HARD + RANDOM + 3 for size in (sizes[0], sizes[1], sizes[3]))


def test_a_query_whose_uses_are_not_in_the_pool_is_left_out():
    late, hidden = labelled("Tea?", 100, {150: 1.0}), labelled("Tea?", 400, {7: 1.0}, hidden=(7,))
    seen = labelled("Rain?", 100, {98: 1.0}, context=(98, 99))
    unknown = Labelled(query("Rain?", 50), (Use("q", "no such memory", 1.0),), "HQ")
    assert listed(STREAM, MEMORIES, [late, hidden, seen, unknown], ENCODER, ("bm25",)) == []


def test_the_same_again():
    first, second = (listed(STREAM, MEMORIES, ASKED, ENCODER, matrix.ASK) for _ in range(2))
    assert all(np.array_equal(a.features, b.features) and np.array_equal(a.gain, b.gain) for a, b in zip(first, second))
