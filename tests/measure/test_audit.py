import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight.measure.audit import audit
from hindsight.types import Labelled, Query, Use

POOL = [f"m{i}" for i in range(10)]


def one(query_id, gains, user="u", kind="HQ"):
    query = Query(query_id, user, "", "?", 9)
    return Labelled(query, tuple(Use(query_id, memory, gain) for memory, gain in gains.items()), kind)


def test_by_hand():
    """q1: gold second of two credited. q2: gold not credited, so last among equals but for its id."""
    rows = [one("q1", {"m0": 0.75, "m3": 0.25}), one("q2", {"m9": 1.0}, kind="HP")]
    found = audit(rows, {"q1": {"m3"}, "q2": {"m1"}}, {"q1": POOL, "q2": POOL})
    assert found["n"] == 2
    assert list(found["by"]) == ["all", "HP", "HQ"]
    hq, hp = found["by"]["HQ"], found["by"]["HP"]
    assert hq["auc"]["mean"] == pytest.approx(8 / 9)
    assert hq["ndcg@10"]["mean"] == pytest.approx(1 / np.log2(3))
    assert hq["gain_on_gold"]["mean"] == 0.25
    assert hp["auc"]["mean"] == pytest.approx(4 / 9)  # above none, level with eight of nine
    assert hp["ndcg@10"]["mean"] == pytest.approx(1 / np.log2(4))  # m9, m0, m1
    assert hp["gain_on_gold"]["mean"] == 0
    assert found["by"]["all"]["auc"]["mean"] == pytest.approx(2 / 3)
    assert hq["auc"]["low"] is None  # one user has no interval
    assert hq["f1"] is None


def test_the_threshold_is_chosen_on_other_users_than_it_is_used_on():
    """User a: gold has .5, others .4. User b: gold has .45, others .1: a's threshold finds none of it."""
    pools, gold = {"qa": POOL, "qb": POOL}, {"qa": {"m0"}, "qb": {"m0"}}
    rows = [
        one("qa", {"m0": 0.5, **dict.fromkeys(POOL[1:], 0.4)}, "a"),
        one("qb", {"m0": 0.45, **dict.fromkeys(POOL[1:], 0.1)}, "b"),
    ]
    found = audit(rows, gold, pools)["by"]["all"]
    assert (found["threshold"], found["precision"], found["recall"], found["f1"]) == (0.5, 0.0, 0.0, 0.0)
    rows[1] = one("qb", {"m0": 0.6, "m1": 0.6}, "b")
    found = audit(rows, gold, pools)["by"]["all"]
    assert (found["precision"], found["recall"]) == (0.5, 1.0)
    assert found["auc"]["low"] <= found["auc"]["mean"] <= found["auc"]["high"]


def test_what_cannot_be_judged_is_counted():
    rows = [one(f"q{i}", {"m0": 1.0, "elsewhere": 1.0}) for i in range(5)]
    gold = {"q0": {"m0"}, "q1": {"gone"}, "q2": {"m0", "gone"}, "q3": set(POOL)}
    found = audit(rows, gold, dict.fromkeys((f"q{i}" for i in range(5)), POOL))
    assert found["n"] == 2
    assert found["skipped"] == {"no gold": 1, "no gold in the pool": 1, "nothing but gold in the pool": 1}
    assert found["notes"] == {"credited memory outside the pool": 4, "used memory outside the pool": 2}
    assert audit([], {}, {}) == {"n": 0, "skipped": {}, "notes": {}, "by": {}}
    json.dumps(found, allow_nan=False)


@settings(max_examples=15, deadline=None)
@given(st.permutations(range(12)), st.permutations(POOL), st.randoms(use_true_random=False))
def test_neither_order_nor_scale_of_the_labels_matters_to_the_ranking(order, pool, rng):
    rows = [
        one(f"q{i}", {m: rng.randint(1, 8) / 8 for m in rng.sample(POOL, 4)}, f"u{i % 3}", "HQ" if i % 2 else "HP")
        for i in range(12)
    ]
    gold = {f"q{i}": set(rng.sample(POOL, 2)) for i in range(12)}
    first = audit(rows, gold, dict.fromkeys(gold, POOL))
    again = audit([rows[i] for i in order], gold, dict.fromkeys(gold, pool))
    halved = [replace(row, uses=tuple(replace(use, gain=use.gain / 2) for use in row.uses)) for row in rows]
    for other in (again, audit(halved, gold, dict.fromkeys(gold, POOL))):
        for kind, numbers in first["by"].items():
            for name in ("auc", "ndcg@10", "gain_on_gold"):
                assert other["by"][kind][name]["mean"] == pytest.approx(numbers[name]["mean"])
            assert other["by"][kind]["f1"] == pytest.approx(numbers["f1"])
