import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from hindsight.measure.significance import cluster_interval, holm, mcnemar, paired_bootstrap, resampled_means


def test_equals_a_plain_loop_over_clusters():
    draw = np.random.default_rng(3)
    clusters = [f"u{i}" for i in draw.integers(0, 7, 60)]
    values = draw.normal(size=60)
    rows = {c: values[[x == c for x in clusters]] for c in dict.fromkeys(clusters)}
    names = list(rows)
    loop = np.random.default_rng(0)
    means = [np.concatenate([rows[names[i]] for i in loop.integers(0, len(names), len(names))]).mean() for _ in range(4000)]
    got = resampled_means(values[:, None], clusters, rounds=20000)[:, 0]
    assert got.mean() == pytest.approx(np.mean(means), abs=0.01)
    assert np.quantile(got, [0.025, 0.5, 0.975]) == pytest.approx(np.quantile(means, [0.025, 0.5, 0.975]), abs=0.02)


def test_clusters_widen_the_interval():
    # ten users, each with 50 questions that all say the same: there are ten facts here, not 500
    user = np.repeat(np.random.default_rng(1).normal(size=10), 50)
    by_user = cluster_interval(user, [i // 50 for i in range(500)])
    by_question = cluster_interval(user, list(range(500)))
    assert by_user.mean == pytest.approx(by_question.mean)
    assert by_user.high - by_user.low > 5 * (by_question.high - by_question.low)
    assert (by_user.clusters, by_question.clusters) == (10, 500)


def test_difference_found_and_not_found():
    draw = np.random.default_rng(0)
    clusters = [i // 10 for i in range(400)]
    b = draw.uniform(size=400)
    better = paired_bootstrap(b + 0.05 + draw.normal(0, 0.1, 400), b, clusters)
    assert 0 < better.low < better.difference < better.high and better.p < 0.001
    same = paired_bootstrap(b + draw.normal(0, 0.1, 400), b, clusters)
    assert same.low < 0 < same.high and same.p > 0.05
    equal = paired_bootstrap(b, b, clusters)
    assert (equal.difference, equal.low, equal.high, equal.p) == (0, 0, 0, 1)


def test_few_clusters_cannot_shout():
    one = paired_bootstrap([1.0] * 20, [0.0] * 20, ["u"] * 20)
    assert (one.difference, one.low, one.high, one.p) == (1, None, None, 1)
    assert paired_bootstrap([1.0] * 20, [0.0] * 20, [i % 4 for i in range(20)]).p == 2**-3


@pytest.mark.parametrize("clusters,coverage", [(5, 0.84), (10, 0.90), (40, 0.94)])
def test_coverage_that_the_docstring_states(clusters, coverage):
    draw = np.random.default_rng(clusters)
    values = draw.normal(size=(clusters, 4000))  # 4000 studies of one question a cluster, truth 0
    means = resampled_means(values, range(clusters), rounds=1000)
    low, high = np.quantile(means, [0.025, 0.975], axis=0)
    assert np.mean((low <= 0) & (high >= 0)) == pytest.approx(coverage, abs=0.015)


def test_same_seed_same_numbers_whatever_the_clusters_are_called():
    draw = np.random.default_rng(0)
    a, b, clusters = draw.uniform(size=50), draw.uniform(size=50), [i % 6 for i in range(50)]
    assert paired_bootstrap(a, b, clusters) == paired_bootstrap(a, b, [f"user {-c}" for c in clusters])
    assert paired_bootstrap(a, b, clusters, seed=1) != paired_bootstrap(a, b, clusters)
    mirrored, straight = paired_bootstrap(b, a, clusters), paired_bootstrap(a, b, clusters)
    assert (mirrored.difference, mirrored.low) == pytest.approx((-straight.difference, -straight.high))


@pytest.mark.parametrize("a,b,clusters", [([], [], []), ([1.0], [1.0, 2.0], ["u"]), ([1.0], [1.0], ["u", "v"]),
                                          ([float("nan")], [0.0], ["u"])])  # fmt: skip
def test_bad_input(a, b, clusters):
    with pytest.raises(ValueError):
        paired_bootstrap(a, b, clusters)


def test_holm():
    # Holm's procedure by hand: sorted .005 x4, .01 x3, .03 x2, .04 x1, made monotone
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


@given(ps=st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_lies_between_p_and_bonferroni_and_keeps_the_order(ps):
    got = holm(ps)
    assert all(p <= q <= min(1, len(ps) * p) + 1e-12 for p, q in zip(ps, got))
    assert all(got[i] <= got[j] for i in range(len(ps)) for j in range(len(ps)) if ps[i] < ps[j])


@settings(max_examples=50)
@given(only_a=st.integers(0, 12), only_b=st.integers(0, 12), both=st.integers(0, 3))
def test_mcnemar_is_the_exact_sign_test(only_a, only_b, both):
    a = [True] * only_a + [False] * only_b + [True] * both
    b = [False] * only_a + [True] * only_b + [True] * both
    got = mcnemar(a, b)
    n, low = only_a + only_b, min(only_a, only_b)
    assert (got.only_a, got.only_b) == (only_a, only_b)
    assert got.p == pytest.approx(min(1.0, 2 * stats.binom.cdf(low, n, 0.5)) if n else 1.0)
    assert got.p == pytest.approx(mcnemar(b, a).p)


def test_mcnemar_wants_pairs():
    with pytest.raises(ValueError):
        mcnemar([True], [])
