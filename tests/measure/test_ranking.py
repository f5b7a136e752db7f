"""Golden values, and ir_measures as the oracle."""

import math

import ir_measures
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight.measure.ranking import Measure, covered, measure, parse
from hindsight.types import ConfigError

IDS = [f"m{i:02d}" for i in range(12)]
ORACLE = {
    "recall": lambda k: ir_measures.R @ k,
    "recall_any": lambda k: ir_measures.Success @ k,
    "precision": lambda k: ir_measures.P @ k,
    "ndcg": lambda k: ir_measures.nDCG @ k,
    "mrr": lambda k: ir_measures.RR,
}


def one(name, ranking, relevant):
    return measure(parse([name]), ranking, relevant)[name]


@pytest.mark.parametrize(
    "name,ranking,relevant,value",
    [
        ("ndcg@3", "axbyz", "ab", 0.9197),  # the G09 cases of nDCG: hits at ranks 1 and 3
        ("ndcg@3", "axyzb", "ab", 0.6131),
        ("ndcg@2", "abx", "abc", 1.0),  # the ideal is cut at k too
        ("ndcg_lme@3", "axbyz", "ab", 0.8155),
        ("ndcg_lme@2", "xa", "a", 1.0),  # rank 2 is not discounted
        ("ndcg_lme@3", "xya", "a", 1 / math.log2(3)),
        ("ndcg@2", "xa", "a", 1 / math.log2(3)),
        ("recall@2", "axb", "abcd", 0.25),
        ("recall@9", "axb", "ab", 1.0),
        ("recall_any@2", "xa", "ab", 1.0),
        ("recall_any@1", "xa", "ab", 0.0),
        ("recall_all@2", "axb", "ab", 0.0),
        ("recall_all@3", "axb", "ab", 1.0),
        ("mrr", "xxya", "a", 1 / 3),  # a repeated id counts once
        ("recall@2", "aab", "ab", 1.0),
        ("ndcg@3", "aaa", "ab", 0.6131),
        ("mrr", "xy", "a", 0.0),
        ("recall@5", "", "a", 0.0),
        ("precision@4", "axb", "abc", 0.5),  # of k, as many as there are
        ("noise@4", "axb", "abc", 1 / 3),  # of what was recalled
        ("noise@2", "ab", "ab", 0.0),
        ("noise@3", "", "a", 0.0),
    ],
)
def test_golden(name, ranking, relevant, value):
    assert one(name, list(ranking), set(relevant)) == pytest.approx(value, abs=5e-5)


def test_graded_gain_is_linear():
    # relevance 3 at rank 2, 1 at rank 1; ideal 3 then 1
    assert one("ndcg@2", ["a", "b"], {"a": 1, "b": 3}) == pytest.approx((1 + 3 / math.log2(3)) / (3 + 1 / math.log2(3)))
    assert one("recall@1", ["z", "a"], {"z": 0, "a": 2, "y": -1}) == 0.0


@pytest.mark.parametrize("relevant", [set(), {}, {"a": 0}, {"a": -1}])
def test_nothing_relevant_is_undefined_not_zero_or_one(relevant):
    with pytest.raises(ValueError, match="skipped"):
        measure(parse(["recall_all@5"]), ["a"], relevant)


def test_names_round_trip_and_wrong_ones_are_all_named():
    names = ["recall@10", "recall_any@1", "recall_all@5", "ndcg@10", "ndcg_lme@5", "mrr"]
    assert [str(m) for m in parse(names)] == names
    assert parse(["mrr"]) == (Measure("mrr"),)
    with pytest.raises(ConfigError) as caught:
        parse(["recall", "mrr@10", "map@5", "recall@0", "ndcg@x", "ndcg@10", "", "recall@5 "])
    assert len(caught.value.problems) == 7
    assert "recall@10" in caught.value.problems[0]


@settings(max_examples=150, deadline=None)
@given(
    ranking=st.lists(st.sampled_from(IDS), unique=True, max_size=12),
    relevant=st.dictionaries(st.sampled_from(IDS), st.integers(0, 3), min_size=1).filter(lambda r: any(r.values())),
    k=st.integers(1, 14),
)
def test_agrees_with_ir_measures(ranking, relevant, k):
    scores = {memory_id: float(-place) for place, memory_id in enumerate(ranking)}
    run = {"q": scores or {"unjudged": 0.0}}
    names = {f"{name}@{k}" if name != "mrr" else name: oracle(k) for name, oracle in ORACLE.items()}
    wanted = ir_measures.calc_aggregate(list(names.values()), {"q": relevant}, run)
    got = measure(parse(names), ranking, relevant)
    assert got == pytest.approx({name: wanted[oracle] for name, oracle in names.items()})


@given(
    ranking=st.lists(st.sampled_from(IDS), max_size=20),
    relevant=st.sets(st.sampled_from(IDS), min_size=1),
    k=st.integers(1, 14),
)
def test_order_of_any_and_all_and_bounds(ranking, relevant, k):
    got = measure(parse([f"{n}@{k}" for n in ("recall", "recall_any", "recall_all", "ndcg", "ndcg_lme")]), ranking, relevant)
    assert all(0 <= value <= 1 for value in got.values())
    assert got[f"recall_all@{k}"] <= got[f"recall@{k}"] <= got[f"recall_any@{k}"]
    best = measure(parse([f"ndcg@{k}", f"ndcg_lme@{k}"]), sorted(relevant), relevant)
    assert all(value == pytest.approx(1) for value in best.values())


def test_a_cutoff_in_tokens_takes_what_fits_in_order():
    sizes = [4, 9, 3, 2]  # of m, x, a, b: with 8 there is no room for x, and after m and a none for b
    got = measure(
        parse(["recall@8t", "recall_any@8t", "noise@8t", "recall@2t", "recall@99t"]), list("mxab"), set("abx"), sizes
    )
    assert got == {"recall@8t": 1 / 3, "recall_any@8t": 1.0, "noise@8t": 0.5, "recall@2t": 1 / 3, "recall@99t": 1.0}
    whole = [{0}, {1, 2, 3}, {4}]
    got = covered(parse(["recall@8t", "recall@10t", "recall@2"]), whole, [{4}, {1}, {2}], [1, 9, 1])
    assert got == {"recall@8t": 1 / 3, "recall@10t": 2 / 3, "recall@2": 2 / 3}
    with pytest.raises(ConfigError, match=r"ndcg@8t.*no cutoff in tokens: recall"):
        parse(["ndcg@8t"])
    with pytest.raises(ValueError, match="2 sizes in tokens for 1 hits"):
        measure(parse(["recall@8t"]), ["a"], {"a"}, [1, 2])
