from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from hindsight.measure.calibration import (
    auc,
    best_threshold,
    brier,
    decide,
    ece,
    held_out_decision,
    kept_at,
    platt,
    reliability,
    summary,
    threshold_for,
)

scored = st.lists(st.tuples(st.integers(-3, 3), st.booleans()), min_size=2, max_size=25)


def test_platt_finds_the_scale_and_shift_that_made_the_data():
    draw = np.random.default_rng(0)
    logits = draw.normal(40, 7, 20000)
    chance = expit(0.3 * logits - 14)
    hard, soft = platt(logits, draw.uniform(size=20000) < chance), platt(logits, chance)
    assert (hard.scale, hard.shift) == pytest.approx((0.3, -14), rel=0.05)
    assert (soft.scale, soft.shift) == pytest.approx((0.3, -14), rel=0.01)
    assert np.abs(soft.probability(logits) - chance).max() < 0.01


def test_platt_is_finite_when_the_classes_part_and_flat_when_logits_say_nothing():
    parted = platt([-1.0, -2.0, 1.0, 2.0], [0, 0, 1, 1])
    assert 0 < parted.scale < 10 and parted.probability([9.0])[0] < 1
    flat = platt([5.0] * 8, [1, 0, 0, 0, 0, 0, 0, 0])
    assert flat.scale == 0 and flat.probability([123.0])[0] == pytest.approx((2 / 3 + 7 / 9) / 8, abs=1e-9)
    assert 0 < platt([1.0, 2.0, 3.0], [0, 0, 0]).probability([2.0])[0] < 0.5


def test_platt_by_grid():
    logits, targets = np.array([-2.0, -1, 0, 1, 2, 3]), np.array([0, 0.2, 0.1, 0.7, 1, 0.6])
    used = targets.sum()
    shrunk = targets * (used + 1) / (used + 2) + (1 - targets) / (6 - used + 2)
    grid = np.linspace(-3, 3, 241)
    logit = grid[:, None, None] * logits + grid[None, :, None]
    loss = (np.logaddexp(0, logit) - shrunk * logit).mean(-1)
    scale, shift = np.unravel_index(loss.argmin(), loss.shape)
    got = platt(logits, targets)
    assert (got.scale, got.shift) == pytest.approx((grid[scale], grid[shift]), abs=0.02)


def test_reliability_brier_ece_by_hand():
    p, y = [0.1, 0.1, 0.1, 0.1, 0.9, 0.9], [0, 0, 0, 1, 1, 1]
    low, high = reliability(p, y, bins=2)
    assert (low.n, low.predicted, low.observed) == (4, pytest.approx(0.1), 0.25)
    assert (high.n, high.predicted, high.observed, high.low) == (2, 0.9, 1.0, 0.9)
    assert brier(p, y) == pytest.approx((3 * 0.01 + 0.81 + 2 * 0.01) / 6)
    assert ece(p, y, bins=2) == pytest.approx((4 * 0.15 + 2 * 0.1) / 6)
    assert ece([0.0, 1.0], [0, 1]) == 0
    got = summary(p, y, bins=2)
    assert (got["n"], got["brier"], got["ece"]) == (6, 0.143333, 0.133333) and got["bins"][0]["observed"] == 0.25


@given(p=st.lists(st.floats(0, 1), min_size=1, max_size=60), bins=st.integers(1, 12))
def test_bins_part_the_predictions(p, bins):
    got = reliability(p, [0.5] * len(p), bins)
    assert sum(b.n for b in got) == len(p) and len(got) <= bins
    assert all(a.high < b.low for a, b in pairwise(got))
    assert all(b.low <= b.predicted + 1e-12 and b.predicted <= b.high + 1e-12 for b in got)


@settings(max_examples=80)
@given(pairs=scored)
def test_auc_counts_pairs_and_halves_ties(pairs):
    good = [s for s, g in pairs if g]
    bad = [s for s, g in pairs if not g]
    scores, gold = [s for s, _ in pairs], [g for _, g in pairs]
    if not good or not bad:
        with pytest.raises(ValueError):
            auc(scores, gold)
        return
    wanted = np.mean([(a > b) + 0.5 * (a == b) for a in good for b in bad])
    assert auc(scores, gold) == pytest.approx(wanted)
    assert auc([-s for s in scores], gold) == pytest.approx(1 - wanted)


@settings(max_examples=80)
@given(pairs=scored)
def test_best_threshold_is_best_of_all_thresholds(pairs):
    scores, gold = [s for s, _ in pairs], [g for _, g in pairs]
    if not any(gold):
        with pytest.raises(ValueError):
            best_threshold(scores, gold)
        return
    every = {t: decide(scores, gold, t).f1 for t in scores}
    got = best_threshold(scores, gold)
    assert every[got] == max(every.values())
    assert got == max(t for t, f1 in every.items() if f1 == every[got])


def test_threshold_is_measured_where_it_was_not_chosen():
    scores, gold = [3.0, 2.0, 1.0, 9.0, 2.5, 0.0], [1, 1, 0, 0, 1, 1]
    got = held_out_decision(scores, gold, [True, True, True, False, False, False])
    assert got.threshold == 2.0
    assert (got.precision, got.recall, got.f1) == (0.5, 0.5, 0.5)
    assert decide(scores, gold, 99.0).precision == 0


@pytest.mark.parametrize(
    "call",
    [
        lambda: platt([], []),
        lambda: platt([1.0, 2.0], [0.0]),
        lambda: platt([1.0], [1.5]),
        lambda: brier([float("nan")], [1]),
        lambda: reliability([1.5], [1]),
        lambda: decide([1.0], [0], 0.5),
        lambda: held_out_decision([1.0, 2.0], [1, 1], [True]),
    ],
)
def test_bad_input(call):
    with pytest.raises(ValueError):
        call()


def test_a_threshold_for_a_precision_by_hand():
    p, y = [0.9, 0.8, 0.8, 0.4, 0.1], [1.0, 1.0, 0.0, 1.0, 0.0]
    assert threshold_for(p, y, 1.0) == 0.9
    assert threshold_for(p, y, 0.7) == 0.4  # 2 of 3 at .8, then 3 of 4
    assert threshold_for(p, y, 0.6) == 0.1
    assert threshold_for([0.9, 0.1], [0.0, 1.0], 0.8) is None
    assert kept_at(p, y, 0.8) == {"n": 3, "precision": 2 / 3, "recall": 2 / 3}
    assert kept_at(p, [0.5] * 5, 0.4) == {"n": 4, "precision": 0.5, "recall": 0.8}  # soft targets
    assert kept_at(p, y, 0.95) == {"n": 0, "precision": None, "recall": 0.0}


@given(scored, st.sampled_from([0.3, 0.5, 0.8, 1.0]))
def test_the_threshold_reaches_its_precision_and_no_lower_one_does(pairs, wanted):
    p, y = [(s + 3) / 6 for s, _ in pairs], [float(g) for _, g in pairs]
    found = threshold_for(p, y, wanted)
    reaching = [at for at in set(p) if kept_at(p, y, at)["precision"] >= wanted - 1e-12]
    assert found == (min(reaching) if reaching else None)
