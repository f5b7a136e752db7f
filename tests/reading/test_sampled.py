from collections import Counter

from hindsight.reading.sampled import asked_of, sample
from hindsight.types import Case, Query


def case(n, kind, answers=("x",), relevant=(0,)):
    return Case(Query(f"q{n}", f"u{n % 7}", "", "?", n), (), relevant, kind, answers)


def test_each_kind_has_its_share_and_none_is_forgotten():
    cases = [case(n, "big" if n < 80 else "small" if n < 99 else "rare") for n in range(100)]
    chosen = sample(cases, 20)
    assert Counter(one.kind for one in chosen) == {"big": 16, "small": 3, "rare": 1}
    assert [one.query.asked_at for one in chosen] == sorted(one.query.asked_at for one in chosen)
    assert chosen == sample(cases, 20) and sample(cases, 0) == cases == sample(cases, 1000)
    assert len(sample(cases, 2)) == 2
    bigger = {one.query.query_id for one in sample(cases, 40)}
    assert {one.query.query_id for one in chosen} <= bigger  # what has been read counts for a larger sample too


def test_what_a_judge_is_told():
    assert asked_of(case(0, "temporal", ("May", "2024-05"))).needed == (("May",), ("2024-05",))
    assert asked_of(case(0, "multi", ("a", "b"))).needed == (("a", "b"),)
    silent = asked_of(case(0, "q", ("never told",), ()))
    assert silent.needed == () and silent.answer == "never told" and silent.rule == "nothing"
