"""Expectation maximisation over votes whose truth is known to the test alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight.labeler.agree import fit, prior

RATES = [(0.9, 0.02), (0.7, 0.05), (0.6, 0.1), (0.8, 0.04)]


def votes(rates, pairs=20000, used=0.05, speaks=0.8, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.random(pairs) < used
    table = np.zeros((pairs, len(rates)), np.int8)
    for place, (hit, false) in enumerate(rates):
        yes = rng.random(pairs) < np.where(truth, hit, false)
        table[:, place] = np.where(rng.random(pairs) < speaks, np.where(yes, 1, -1), 0)
    return truth, table


def test_the_rates_of_signals_are_found_from_agreement_alone():
    truth, table = votes(RATES)
    rates = fit(table)
    np.testing.assert_allclose(rates.hit, [hit for hit, _ in RATES], atol=0.05)
    np.testing.assert_allclose(rates.false, [false for _, false in RATES], atol=0.02)
    assert rates.used == pytest.approx(0.05, abs=0.01) and rates.say.min() > 0.9
    chance = rates.posterior(table)
    assert np.corrcoef(chance, truth)[0, 1] > 0.8
    for low in (0.05, 0.3, 0.6, 0.9):  # what it says of its own sureness is true
        band = (chance > low) & (chance < low + 0.1)
        assert band.sum() < 30 or abs(truth[band].mean() - chance[band].mean()) < 0.15


def test_a_signal_that_is_chance_has_next_to_no_weight():
    _, table = votes([*RATES, (0.1, 0.1), (0.5, 0.5)])
    weight = fit(table).weight
    assert np.abs(weight[4:]).max() < 0.3 < 2 < weight[:4].min()


def test_a_sure_majority_is_right_and_nobody_speaking_is_the_base_rate():
    rates = fit(votes(RATES)[1])
    chance = rates.posterior(np.array([[1, 1, 1, 1], [1, 1, 1, -1], [-1, -1, -1, -1], [0, 0, 0, 0]], np.int8))
    assert chance[0] > chance[1] > 0.9 and chance[2] < 0.01 and chance[3] == pytest.approx(rates.used)


def test_a_signal_that_stands_there_twice_counts_once():
    _, table = votes(RATES)
    once, twice = fit(table), fit(np.concatenate([table, table[:, [1]]], axis=1))
    np.testing.assert_allclose(twice.say[[1, 4]], 0.5, atol=0.03)
    assert twice.weight[1] + twice.weight[4] == pytest.approx(once.weight[1], rel=0.1)


def test_with_nothing_seen_belief_is_all_there_is():
    rates = fit(np.zeros((0, 2), np.int8), [(0.9, 0.01), (0.4, 0.2)])
    assert rates.hit.tolist() == [0.9, 0.4] and rates.used == prior([(0.5, 0.5)]).used
    assert fit(np.zeros((7, 2), np.int8)).hit.tolist() == pytest.approx([0.7, 0.7])


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 60))
def test_the_order_of_pairs_and_signals_and_silent_pairs_change_nothing(seed, silent):
    rng = np.random.default_rng(seed)
    _, table = votes(RATES, 300, 0.2, seed=seed)
    first = fit(table)
    order, signals = rng.permutation(300), rng.permutation(4)
    other = fit(np.concatenate([table[order], np.zeros((silent, 4), np.int8)])[:, signals])
    np.testing.assert_allclose(other.hit, first.hit[signals], atol=1e-5)
    np.testing.assert_allclose(other.posterior(table[:, signals]), first.posterior(table), atol=1e-5)
    assert np.isfinite(first.weight).all() and (first.hit >= first.false).all()
