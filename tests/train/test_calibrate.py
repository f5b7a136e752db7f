import numpy as np
import pytest
import torch

from hindsight.measure.calibration import ece
from hindsight.scorer.head import logits, probability
from hindsight.scorer.linear import Linear
from hindsight.train.batches import Listed
from hindsight.train.calibrate import LEAST_SLOPE, calibrate
from hindsight.types import DataError

SLOPE, SHIFT = 0.5, -1.5


def head_of_bm25():
    head = Linear("narrow").build()
    with torch.no_grad():
        head.parts[0].straight.weight[0, 0] = 2.0
    return head.eval()


def drawn(users=8, queries=20, seed=0, sign=1.0):
    """Lists whose uses are drawn from the true probability sigmoid(SLOPE * logit + SHIFT)."""
    draw, found = np.random.default_rng(seed), []
    for query in range(queries):
        features = draw.standard_normal((60, 7)).astype(np.float16)
        chance = 1 / (1 + np.exp(-(sign * SLOPE * 2 * features[:, 0].astype(np.float64) + SHIFT)))
        gain = (draw.random(60) < chance).astype(np.float32)
        found.append(Listed(f"{query:03}", f"user {query // 2 % users}", "HQ", features, gain, 1.0))
    return found


def test_the_true_slope_and_shift_are_found_and_hold_on_new_lists():
    head = head_of_bm25()
    facts = calibrate(head, drawn(queries=200))
    assert (facts["slope"], facts["shift"]) == pytest.approx((SLOPE, SHIFT), abs=0.06)
    assert float(head.slope) == pytest.approx(facts["slope"])
    fresh = drawn(queries=100, seed=1)
    features = np.concatenate([one.features for one in fresh]).astype(np.float32)
    chance = probability(logits(head.contributions(features)))
    assert ece(chance, np.concatenate([one.gain for one in fresh])) < 0.02
    assert facts["ece"] < 0.02
    assert facts["brier"] < facts["brier_base"]
    assert facts["n"] == 100 * 60
    assert all(abs(row["precision"] - row["wanted"]) < 0.1 for row in facts["thresholds"] if row["n"] > 200)


def test_order_is_kept_and_a_second_calibration_changes_nothing():
    head = head_of_bm25()
    features = np.random.default_rng(2).standard_normal((50, 7)).astype(np.float32)
    order = np.argsort(logits(head.contributions(features)))
    first = calibrate(head, drawn())
    assert (np.argsort(logits(head.contributions(features))) == order).all()
    assert calibrate(head, drawn()) == first


def test_scores_that_run_against_the_labels_keep_their_order_and_say_the_base_rate():
    head = head_of_bm25()
    lists = drawn(queries=60, sign=-1.0)
    facts = calibrate(head, lists)
    assert facts["floored"]
    assert facts["slope"] == LEAST_SLOPE
    chance = probability(logits(head.contributions(lists[0].features.astype(np.float32))))
    base = np.concatenate([one.gain for one in lists]).mean()
    np.testing.assert_allclose(chance, base, atol=0.005)
    assert (np.argsort(chance) == np.argsort(lists[0].features[:, 0], kind="stable")).mean() > 0.9


def test_no_user_is_in_both_halves():
    """Users of one half say use, those of the other none: measured within a half, the base rate would look right."""
    lists = drawn(users=2, queries=20)
    for one in lists:
        one.gain[:] = one.user_id == "user 0"
    assert calibrate(head_of_bm25(), lists)["brier"] > 0.9


def test_one_user_is_halved_by_query_and_one_query_has_no_half():
    assert calibrate(head_of_bm25(), drawn(users=1, queries=10))["n"] == 5 * 60
    assert "brier" not in calibrate(head_of_bm25(), drawn(queries=1))
    with pytest.raises(DataError, match="no held-out query"):
        calibrate(head_of_bm25(), [])
