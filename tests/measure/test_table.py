import json

import numpy as np
import pytest

from hindsight.measure.significance import cluster_interval, holm, paired_bootstrap
from hindsight.measure.table import Unit, over_seeds, summarise
from hindsight.types import ConfigError, DataError

ABOUT = Unit("toy", "turn, all roles", "ab12", {"no evidence": 4})
MEASURES = ["recall@5", "ndcg@10"]


def rows(n=24, users=6, pool=40):
    """Two systems with one seed, one with three; kinds "early" and "late"."""
    draw = np.random.default_rng(0)
    made = []
    for system, level, seeds in (("bm25", 0.3, 1), ("prior", 0.4, 1), ("utility", 0.5, 3)):
        for seed in range(seeds):
            for i in range(n):
                value = float(np.clip(level + draw.normal(0, 0.2), 0, 1))
                made.append({
                    "query_id": f"q{i}", "user_id": f"u{i % users}", "kind": "early" if i < n / 3 else "late", "system": system,
                    "seed": seed, "ms": 1.0 + i, "pool": pool, "recall@5": value, "ndcg@10": value / 2,
                })  # fmt: skip
    return made


def column(given, system, name):
    mine = [row for row in given if row["system"] == system]
    return [np.mean([row[name] for row in mine if row["query_id"] == f"q{i}"]) for i in range(24)]


def test_every_number_is_that_of_the_parts():
    given = rows()
    got = summarise(given, ABOUT, MEASURES, [("utility", "prior"), ("utility", "bm25")])
    users = [f"u{i % 6}" for i in range(24)]
    for system in ("bm25", "prior", "utility"):
        wanted = cluster_interval(column(given, system, "ndcg@10"), users)
        cell = got["systems"][system]["ndcg@10"]
        assert [cell[key] for key in ("mean", "low", "high")] == pytest.approx(
            [wanted.mean, wanted.low, wanted.high], abs=1e-6
        )
    pairs = [
        paired_bootstrap(column(given, "utility", "recall@5"), column(given, b, "recall@5"), users)
        for b in ("prior", "bm25")
    ]
    found = [one for one in got["comparisons"] if one["measure"] == "recall@5"]
    assert [one["b"] for one in found] == ["prior", "bm25"]
    assert [one["low"] for one in found] == pytest.approx([one.low for one in pairs], abs=1e-6)
    assert [one["p"] for one in found] == pytest.approx(holm([one.p for one in pairs]), abs=1e-6)
    assert {"a", "b", "measure", "difference", "low", "high", "cluster", "p"} <= set(found[0])


def test_a_cutoff_in_tokens_is_not_held_against_the_number_of_memories():
    same = {"kind": "", "system": "s", "seed": 0, "recall@9": 1.0, "recall@9t": 0.5, "pool": 5}
    given = [{"query_id": f"q{n}", "user_id": f"u{n}"} | same for n in range(2)]
    assert summarise(given, ABOUT, ["recall@9", "recall@9t"])["saturated"] == {"recall@9": 1.0}


def test_golden_small_table():
    given = [
        {"query_id": q, "user_id": u, "kind": "", "system": s, "seed": seed, "ms": ms, "ndcg@10": v}
        for q, u, s, seed, ms, v in [
            ("q1", "u1", "prior", 0, 1.0, 0.0), ("q2", "u2", "prior", 0, 3.0, 1.0),
            ("q1", "u1", "utility", 0, 4.0, 0.5), ("q2", "u2", "utility", 0, 4.0, 1.0),
            ("q1", "u1", "utility", 1, 4.0, 1.0), ("q2", "u2", "utility", 1, 4.0, 1.0),
        ]
    ]  # fmt: skip
    got = summarise(given, ABOUT, ["ndcg@10"], [("utility", "prior")], {"utility": {"trained_on": "other logs"}})
    assert got == {
        "suite": "toy", "unit": "turn, all roles", "n": 2, "clusters": 2, "cluster": "user", "skipped": {"no evidence": 4},
        "pool": None, "saturated": {}, "headline": "ndcg@10", "measures": ["ndcg@10"], "data_sha256": "ab12", "seeds": [0, 1],
        "systems": {
            "prior": {"ndcg@10": {"mean": 0.5, "low": 0.0, "high": 1.0}, "ms_per_query": {"p50": 2.0, "p95": 2.9}},
            "utility": {"ndcg@10": {"mean": 0.875, "low": 0.75, "high": 1.0, "seed_sd": 0.176777},
                        "ms_per_query": {"p50": 4.0, "p95": 4.0}, "trained_on": "other logs"},
        },
        "kinds": {}, "by": {},
        "comparisons": [{"a": "utility", "b": "prior", "measure": "ndcg@10", "difference": 0.375, "low": 0.0, "high": 0.75,
                         "clusters": 2, "p_alone": 0.50495, "p": 0.50495, "cluster": "user"}],
        "config": {},
    }  # fmt: skip


def test_parts_by_kind_add_up_to_the_whole_and_a_lone_user_has_no_interval():
    given = [row | {"user_id": "u0"} if row["kind"] == "early" else row for row in rows()]
    got = summarise(given, ABOUT, MEASURES)
    assert got["kinds"] == {"early": 8, "late": 16}
    for system in got["systems"]:
        parts = [got["by"][kind][system]["recall@5"]["mean"] * n for kind, n in got["kinds"].items()]
        assert sum(parts) / 24 == pytest.approx(got["systems"][system]["recall@5"]["mean"], abs=1e-6)
    assert got["by"]["early"]["bm25"]["recall@5"]["low"] is None
    json.dumps(got, allow_nan=False)


def test_groups_are_parts_of_their_own_after_the_kinds_in_the_order_of_their_numbers():
    groups = {f"q{i}": (f"distance {(100, 30, 300)[i % 3]}",) for i in range(20)}
    given = [row | {"groups": groups.get(row["query_id"], ())} for row in rows()]
    got = summarise(given, ABOUT, MEASURES)
    parts = {"early": 8, "late": 16, "distance 30": 7, "distance 100": 7, "distance 300": 6}
    assert list(got["kinds"].items()) == list(parts.items()) and list(got["by"]) == list(parts)
    near = [row["ndcg@10"] for row in given if row["system"] == "bm25" and "distance 30" in row["groups"]]
    assert got["by"]["distance 30"]["bm25"]["ndcg@10"]["mean"] == pytest.approx(np.mean(near), abs=1e-6)
    plain = summarise(rows(), ABOUT, MEASURES)
    assert got["systems"] == plain["systems"] and got["by"]["early"] == plain["by"]["early"]


def test_a_cutoff_that_reaches_the_pool_is_marked_and_not_the_headline():
    assert summarise(rows(pool=8), ABOUT, MEASURES)["headline"] == "recall@5"
    got = summarise(rows(pool=10), ABOUT, MEASURES)
    assert got["saturated"] == {"ndcg@10": 1.0} and got["pool"] == {"min": 10, "median": 10.0, "max": 10}
    assert summarise(rows(), ABOUT, MEASURES)["saturated"] == {}


def test_times_that_are_not_known_are_left_out():
    got = summarise([row | {"ms": None} if row["system"] == "bm25" else row for row in rows()], ABOUT, MEASURES)
    assert "ms_per_query" not in got["systems"]["bm25"] and "ms_per_query" in got["systems"]["prior"]


def test_same_bytes():
    assert json.dumps(summarise(rows(), ABOUT, MEASURES)) == json.dumps(summarise(rows(), ABOUT, MEASURES))


def test_over_seeds_means_values_and_keeps_the_rest():
    merged = over_seeds([row | {"text": "why?"} for row in rows()], MEASURES)
    assert len(merged) == 72 and all("seed" not in row and row["text"] == "why?" for row in merged)
    utility = [row["recall@5"] for row in merged if row["system"] == "utility"]
    assert utility == pytest.approx(column(rows(), "utility", "recall@5"))


@pytest.mark.parametrize(
    "spoil,message",
    [
        (lambda made: made[:-1], r"system utility, query q23: got seeds \[0, 1\]"),
        (lambda made: made[1:], "q0: got a question that others have not|23 questions"),
        (lambda made: [row for row in made if (row["system"], row["query_id"]) != ("utility", "q3")], "utility 23"),
        (lambda made: [*made, made[0]], "second row"),
        (
            lambda made: [{k: v for k, v in made[0].items() if k != "ndcg@10"}, *made[1:]],
            r"got None; wanted a number for ndcg",
        ),
        (lambda made: [made[0] | {"recall@5": float("nan")}, *made[1:]], "recall@5"),
        (lambda made: [made[0] | {"user_id": "other"}, *made[1:]], "user_id"),
        (lambda made: [], "at least one"),
    ],
)
def test_rows_that_do_not_fit_are_refused(spoil, message):
    with pytest.raises(DataError, match=message):
        summarise(spoil(rows()), ABOUT, MEASURES)


def test_unknown_names_are_refused_all_at_once():
    with pytest.raises(ConfigError) as caught:
        summarise(rows(), ABOUT, MEASURES, [("utility", "cues")], {"dense": {}})
    assert len(caught.value.problems) == 2
    with pytest.raises(ConfigError):
        summarise(rows(), ABOUT, ["map@10"])
