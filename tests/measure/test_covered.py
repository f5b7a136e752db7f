import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight.measure.ranking import covered, measure, parse

NAMES = ("recall@1", "recall@5", "recall_any@5", "recall_all@5", "ndcg@5", "ndcg_lme@5", "mrr")
WANTED = parse(NAMES)


@given(st.permutations(range(12)), st.sets(st.integers(0, 11), min_size=1), st.integers(1, 12))
def test_hits_of_one_position_each_are_measured_as_ever(order, relevant, k):
    ranking = [str(at) for at in order[:k]]
    plain = measure(WANTED, ranking, {str(at) for at in relevant})
    assert covered(WANTED, [{at} for at in order[:k]], [{at} for at in sorted(relevant)]) == pytest.approx(plain)


def test_what_is_covered_twice_counts_once():
    found = covered(WANTED, [{0, 1}, {1}, {2}], [{1}, {2}])
    assert (found["recall@1"], found["recall@5"], found["mrr"]) == (0.5, 1.0, 1.0)
    assert found["ndcg@5"] == pytest.approx((1 + 1 / 2) / (1 + 1 / 1.584962500721156))


def test_a_hit_that_holds_everything():
    found = covered(WANTED, [set(range(100))], [{3}, {7}, {9}])
    assert all(value == 1.0 for value in found.values())


def test_no_evidence_has_no_measures():
    with pytest.raises(ValueError, match="undefined"):
        covered(WANTED, [{1}], [])
