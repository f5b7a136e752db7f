"""`eval answers.lm=...` on two people: what each system's memories make of an answer, what it costs, and that a stopped run goes on."""

import json

import pytest

from hindsight.cli import main
from hindsight.config import settings
from hindsight.types import ConfigError
from tests import people
from tests.conftest import SMALL
from tests.lm.models import tiny
from tests.lm.standin import standin
from tests.reading.test_stage import USERS, gold

SYSTEMS = ("none", "bm25", "oracle", "full_context")


@pytest.fixture
def asked(tmp_path):
    data = people.bundled(tmp_path / "data", people.native(USERS), gold())

    def run(name="default", **given):
        given = {
            "suite.path": data,
            "run.folder": tmp_path,
            "run.name": name,
            "answers.k": 3,
            "answers.new_tokens": 2,
            **given,
        }
        status = main(
            [
                "eval",
                "suite=bundled",
                *SMALL,
                f"answers.system=[{','.join(SYSTEMS)}]",
                *(f"{k}={v}" for k, v in given.items()),
            ]
        )
        folder = tmp_path / "eval" / name
        assert status == 0
        rows = [json.loads(line) for line in (folder / "questions.jsonl").read_text().splitlines()]
        return json.loads((folder / "metrics.json").read_text()), rows, folder

    return run


def says_what_it_sees(body):
    """A model that gives the right answer where a memory says it, and otherwise that it doesn't know."""
    return {"answer": "Granary Wharf" if "Granary Wharf" in body["messages"][0]["content"] else "I don't know"}


def test_an_endpoint_answers_from_what_each_system_recalled(asked):
    with standin(says_what_it_sees) as server:
        metrics, rows, folder = asked(
            **{"answers.lm": "endpoint", "answers.model": "m", "answers.url": server.url, "answers.window": 100000}
        )
        prompts = len(server.asked)
        again, rows_again, _ = asked(
            **{"answers.lm": "endpoint", "answers.model": "m", "answers.url": server.url, "answers.window": 100000}
        )
        assert len(server.asked) == prompts and [r["reply"] for r in rows_again] == [r["reply"] for r in rows]
    systems = metrics["systems"]
    assert (
        systems["none"]["judged"]["mean"] == 0
        and systems["oracle"]["judged"]["mean"] == systems["oracle"]["contains"]["mean"]
    )
    assert (
        systems["full_context"]["judged"]["mean"] >= systems["bm25"]["judged"]["mean"]
        and systems["oracle"]["judged"]["mean"] > 0
    )
    for row in rows:
        assert (row["reply"] == "Granary Wharf") or row["judged"] == float(row["parts"] == ["nothing"])
        assert row["system"] != "oracle" or row["shown"] <= 1
        assert row["system"] != "none" or row["shown"] == 0
    assert metrics["judge"]["id"] == rows[0]["judge"] and metrics["judge"]["id"] in " ".join(metrics["notes"])
    assert (
        systems["full_context"]["memories_shown"]
        > systems["bm25"]["memories_shown"]
        > systems["none"]["memories_shown"]
        == 0
    )
    assert (
        systems["none"]["prompt_tokens"] == 7 and systems["none"]["ms_per_query"]["p50"] > 0
    )  # what the server said it read
    assert metrics["full_context"] == {"asked": metrics["n"], "fits": metrics["n"], "left_out": 0}
    assert (folder / "report.html").exists() and again["reader"] == metrics["reader"]


def test_the_memories_stand_in_the_prompt_within_the_budget_and_no_gold(asked):
    with standin(says_what_it_sees) as server:
        asked(
            **{
                "answers.lm": "endpoint",
                "answers.model": "m",
                "answers.url": server.url,
                "answers.window": 100000,
                "answers.budget": 60,
            }
        )
    for body in server.asked:
        system, user = (message["content"] for message in body["messages"])
        assert "[memory]" not in user and "Granary" not in user
        assert "[memory 1" in system or "From earlier conversations" not in system
    small = [len(body["messages"][0]["content"]) for body in server.asked]
    assert sorted(small)[0] < 150 and sum(size < 150 + 60 * 4 for size in small) > len(small) / 2


def test_what_does_not_fit_the_window_is_left_out_of_full_and_told(asked, capsys):
    with standin(says_what_it_sees) as server:
        given = {"answers.lm": "endpoint", "answers.model": "m", "answers.url": server.url}
        whole, rows, _ = asked("whole", **given, **{"answers.window": 100000})
        longest = sorted(row["shown"] for row in rows if row["system"] == "full_context")
        metrics, rows, _ = asked("narrow", **given, **{"answers.window": 60})
    full = metrics["full_context"]
    assert full["left_out"] == full["asked"] == whole["n"] and longest[0] > 3
    assert "full_context" not in metrics["systems"] and not [row for row in rows if row["system"] == "full_context"]
    assert "does not fit into 60 tokens" in capsys.readouterr().err


def test_a_model_on_this_machine_goes_on_where_it_stopped(asked, tmp_path):
    model = tiny(tmp_path / "model")
    given = {"answers.lm": "local", "answers.model": model, "answers.budget": 200, "answers.sample": 2, "answers.silent": 1}
    metrics, rows, folder = asked("one", **given)
    assert metrics["n"] == 3 and len(metrics["reader"]) == len("local-12345678")
    lines = (folder / "answers.jsonl").read_text().splitlines()
    other = tmp_path / "eval" / "two"
    other.mkdir()
    (other / "answers.jsonl").write_text("\n".join(lines[:3]) + '\n{"key": "torn')
    _, resumed, _ = asked("two", **given)
    assert [{**row, "ms": 0} for row in resumed] == [{**row, "ms": 0} for row in rows]
    after = [json.loads(line) for line in (other / "answers.jsonl").read_text().splitlines() if not line.endswith("torn")]
    assert after[:3] == [json.loads(line) for line in lines[:3]] and len(after) == len(lines)


def test_wrong_settings_are_told_at_once():
    with pytest.raises(ConfigError, match=r"no system 'bm52'.*") as error:
        settings("eval", ["answers.lm=endpoint", "answers.system=[bm52,full_context]", "answers.k=0"])
    assert "answers.k=0" in str(error.value) and "window" in str(error.value)
