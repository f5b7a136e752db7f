import pytest

from hindsight.reading.results import ANSWERED, CONFLICT, NOTHING, summarise


def rows():
    """Of two users: a is right on 4 of 4 questions, b on 1; each leaks on one of the two that nothing answers, and on both."""
    found = []
    for number in range(6):
        for system, right, leak in (("a", True, number == 4), ("b", number == 0, True)):
            parts = [NOTHING] if number > 3 else [ANSWERED, *([CONFLICT] if number < 2 else [])]
            for seed in range(2 if system == "b" else 1):
                found.append(
                    {"query_id": f"q{number}", "user_id": f"u{number % 2}", "kind": "single" if number < 3 else "update", "system": system,
                     "seed": seed, "parts": parts, "contains": float(right and seed == 0), "exact": 0.0, "f1": 0.5, "nats": -2.0 - right,
                     "nats_a_token": -1.0, "leak": float(leak), "leak_alike": 0.0}
                )  # fmt: skip
    return found


def test_each_measure_is_of_its_own_questions():
    told = summarise(rows(), ["a", "b"], ["b"], generated=True)
    assert told["n"] == 6 and told["clusters"] == 2 and told["seeds"] == [0, 1]
    assert told["questions"] == {"answered": 4, "conflict": 2, "rivals": 0, "nothing": 2, "absent": 0}
    mean = {name: {measure: cell["mean"] for measure, cell in one.items()} for name, one in told["systems"].items()}
    assert mean["a"]["contains"] == 1 and mean["b"]["contains"] == 1 / 8  # the mean over seeds
    assert mean["a"]["conflict contains"] == 1 and mean["b"]["conflict contains"] == 0.25
    assert mean["a"]["leak"] == 0.5 and mean["b"]["leak"] == 1 and mean["a"]["loglik"] == -3
    assert "leak of absent" not in told["measures"] and "rivals contains" not in told["measures"]
    assert told["kinds"] == {"single": 3, "update": 1} and told["by"]["update"]["a"]["contains"]["mean"] == 1
    assert told["by"]["single"]["b"]["contains"]["mean"] == pytest.approx(1 / 6, abs=1e-6)


def test_differences_have_intervals_and_mcnemar():
    told = summarise(rows(), ["a", "b"], ["b"], generated=True)
    one = next(one for one in told["comparisons"] if one["measure"] == "contains")
    assert (one["a"], one["b"], one["n"]) == ("a", "b", 4) and one["difference"] == 0.875
    assert one["low"] == 0.75 and one["high"] == 1.0 and one["p"] == 0.5
    assert one["mcnemar"] == {"only_a": 3, "only_b": 0, "p": 0.25}
    leak = next(one for one in told["comparisons"] if one["measure"] == "leak")
    assert leak["difference"] == -0.5 and leak["mcnemar"]["only_b"] == 1
    assert "mcnemar" not in next(one for one in told["comparisons"] if one["measure"] == "loglik")


def test_without_replies_only_likelihoods_count():
    told = summarise(rows(), ["a", "b"], [], generated=False)
    assert told["measures"] == ["loglik", "loglik/token", "conflict loglik"] and told["comparisons"] == []
