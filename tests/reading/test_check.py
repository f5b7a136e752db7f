import json

from hindsight.cli import main
from hindsight.reading.check import HARD, RIGHT, probes, rates, reworded, wilson
from hindsight.types import Case, Query
from tests.lm.standin import standin


def case(name, answers, kind="single", relevant=(0,)):
    return Case(Query(name, "u", "", f"What of {name}?", 5), (), relevant, kind, answers)


CASES = [
    case("a", ("Oslo",)), case("b", ("3 cats", "2024-05-09")), case("c", ("Oslo fjord",)),
    case("d", ("last May", "2024-05-01"), "temporal"),
]  # fmt: skip
TOLD = {"a": {"overwritten": ("Bergen", "Turku"), "look-alike": ("Oslo",)}}


def by_what(*chosen):
    return {(one.asked.question, one.what): one for one in probes(chosen, CASES, TOLD)}


def test_each_reply_has_a_known_worth():
    made = by_what(*CASES)
    assert made["What of a?", "gold"].reply == "Oslo" and made["What of a?", "gold"].right
    assert made["What of a?", "another's answer"].reply == "3 cats and 2024-05-09"  # never one that says the answer too
    assert (
        made["What of a?", "overwritten"].reply == "Bergen" and ("What of a?", "look-alike") not in made
    )  # the answer itself
    assert "Oslo" in made["What of a?", "hedged"].reply and not made["What of a?", "hedged"].right
    assert made["What of b?", "gold reworded"].reply == "May 9, 2024 and three cats"
    assert ("What of a?", "gold reworded") not in made
    assert made["What of d?", "another's answer"].reply  # the kind has one question alone: of any


def test_questions_that_nothing_answers():
    (silence, made_up) = probes([case("z", (), relevant=())], CASES, {})
    assert (silence.what, silence.right, made_up.what, made_up.right) == ("silence", True, "made up", False)


def test_rates_tell_the_two_errors_apart_and_count_what_is_unjudged():
    made = list(probes([CASES[0]], CASES, TOLD))
    yes = rates(made, [True] * len(made))
    assert yes["gold"]["rate"] == 0 and yes["unknown"] | {"low": 0, "high": 0} == {
        "error": "false accept", "n": 1, "unjudged": 0, "rate": 1, "low": 0, "high": 0,
    }  # fmt: skip
    assert yes["all right"]["rate"] == 0 and yes["all wrong"]["rate"] == 1
    assert yes["all wrong"]["n"] == sum(one.what not in (*RIGHT, *HARD) for one in made)
    none = rates(made, [None] * len(made))
    assert none["gold"]["rate"] is None and none["gold"]["unjudged"] == 1 and none["gold"]["high"] == 1


def test_an_interval_is_not_empty_at_the_ends():
    assert wilson(0, 50)[0] == 0 < wilson(0, 50)[1] < 0.1 and wilson(50, 50)[1] > 0.999 > wilson(50, 50)[0]


def test_numbers_that_are_a_part_of_something_stay():
    assert reworded(["G-14", "10:45", "1.5", "v2"]) == "v2 and 1.5 and 10:45 and G-14"


def test_the_command_with_rules_and_with_an_endpoint_that_says_yes_to_all(tmp_path, capsys):
    given = ["suite=agent_tasks", f"run.folder={tmp_path}", "judge.limit=8", f"judge.folder={tmp_path}"]
    assert main(["judge-check", *given]) == 0
    report = json.loads((tmp_path / "judge-check" / "default" / "metrics.json").read_text())
    assert report["judge"]["id"].startswith("rules-") and report["replies"]["all wrong"]["rate"] == 0
    assert report["replies"]["hedged"]["rate"] == 1
    with standin(lambda body: {"reason": "", "right": True}) as server:
        assert (
            main(["judge-check", *given, "judge.by=endpoint", "judge.model=m", f"judge.url={server.url}", "run.name=yes"])
            == 0
        )
    report = json.loads((tmp_path / "judge-check" / "yes" / "metrics.json").read_text())
    assert report["replies"]["all wrong"]["rate"] == 1 and report["replies"]["all right"]["rate"] == 0
    assert report["judge"] == {"id": report["judge"]["id"], "unanswered": 0} and "false accept" in capsys.readouterr().out
