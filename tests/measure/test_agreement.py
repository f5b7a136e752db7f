import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hindsight.measure.agreement import alpha, coded, credited, in_place, kappa, lean, pairs, ranked, shared, speaks

VALUES = st.lists(st.integers(0, 5), min_size=3, max_size=12)


def test_credited_is_the_best_few_of_those_above_the_lowest():
    assert credited([0, 3, 0, 1]).tolist() == [False, True, False, True]
    assert credited([2, 2, 2]).tolist() == [False] * 3  # says nothing
    assert credited([1, 5, 5, 5], top=2).tolist() == [False, True, True, False]  # ties by place
    assert credited([]).tolist() == []
    assert (speaks([0, 1]), speaks([1, 1]), speaks([])) == (True, False, False)
    assert shared(credited([9, 8, 0, 0]), credited([9, 0, 8, 7])) == 0.5
    assert shared(credited([0, 0]), credited([1, 0])) == 0


@given(VALUES, st.randoms(use_true_random=False))
def test_the_product_of_ranks_is_spearmans_correlation(a, rng):
    b = [rng.randint(0, 5) for _ in a]
    found = float(ranked(a) @ ranked(b))
    known = stats.spearmanr(a, b).statistic if speaks(a) and speaks(b) else 0.0
    assert found == pytest.approx(known, abs=1e-9)


def test_pairs_of_signals_that_speak():
    found = pairs({"a": [3, 2, 0, 0], "b": [3, 0, 2, 0], "silent": [1, 1, 1, 1]})
    assert list(found) == [("a", "b")]
    one = found["a", "b"]
    assert (one.top1, one.top, one.both, one.first, one.second, one.neither) == (1.0, 0.5, 1, 1, 1, 1)


def test_kappa_by_hand():
    same = list(pairs({"a": [1, 0, 0, 0], "b": [5, 0, 0, 0]}).values())
    assert kappa(same) == 1
    one = list(pairs({"a": [3, 2, 0, 0], "b": [3, 0, 2, 0]}).values())
    assert kappa(one) == 0  # agree on two of four, as chance would
    assert kappa([]) is None


def test_alpha_by_hand():
    """Eight values, three of them yes: observed 2, expected 30 / 7 (Krippendorff 2011, nominal)."""
    one = coded({"a": [1, 1, 0, 0], "b": [1, 0, 0, 0]})
    assert alpha([one]) == pytest.approx(1 - 2 / (30 / 7))
    assert alpha([coded({"a": [1, 0], "b": [1, 0]})]) == 1
    assert alpha([coded({"a": [1, 0], "silent": [0, 0]})]) is None  # one coder alone agrees with nobody
    assert alpha([one, coded({"a": [1, 0]})]) == alpha([one])


def test_what_stays_in_place():
    assert in_place([1, 3, 0], [2, 6, 0]) == 1
    assert in_place([1, 0], [0, 1]) == in_place([1, 0], [0, 0]) == 0
    assert in_place([1, 1, 0, 0], [0, 1, 1, 0]) == 0.5
    with pytest.raises(ValueError, match="no gain"):
        in_place([0, 0], [1, 0])


def test_leaning_by_hand():
    found = lean([0, 0, 1], [1, 1, 4])
    assert (found.pool, found.label) == (2, 4)
    assert found.shift == pytest.approx(2 / np.sqrt(2)) and found.rank == pytest.approx(1)
    assert lean([1, 0], [3, 3]).shift == 0  # all alike: nothing to lean to
    with pytest.raises(ValueError, match="no gain"):
        lean([0, 0], [1, 2])
