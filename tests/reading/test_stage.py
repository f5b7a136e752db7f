"""`eval suite=injection` on three people and a tiny random model: what it writes, that it goes on, that gold reaches the oracle alone."""

import json

import pytest

from hindsight.cli import main
from hindsight.reading.reader import Reader
from tests import people
from tests.conftest import SMALL
from tests.lm.models import tiny

CONDITIONS = (
    "none", "plain", "best-first", "worst-first", "marks", "drop:.5:relative", "uniform+log:1", "shuffled+log:1", "oracle+log:1",
    "oracle+drop:.5", "log:1", "linear:5:after", "share:.3", "log:1+drop:.5:relative",
)  # fmt: skip

USERS = people.USERS[:2]


def gold(answer="Granary Wharf", place=2):
    """Questions of bundled's kind, one that nothing answers among them."""
    rows = [
        row | {"answers": [answer], "relevant": [[row["relevant"][0][0], place]]}
        for row in people.gold(USERS)
        if row["regime"] == "ask"
    ]
    rows[-1] |= {"type": "abstain", "answers": [], "relevant": []}
    return rows


def told(value="walnuts"):
    return [
        {"user_id": user, "session": f"{user}-{n}", "turn": 2, "attribute": f"fact{n % 2}", "slot": "value", "value": value, "split": "test"}
        for user in USERS
        for n in range(people.SESSIONS)
    ]  # fmt: skip


@pytest.fixture(scope="module")
def run(trained, tmp_path_factory):
    """(folder, a call of the evaluation with further settings -> the rows by condition and question)."""
    folder = tmp_path_factory.mktemp("injection")
    model = tiny(folder / "model")

    def evaluate(name, rows=None, values=None):
        data = people.bundled(folder / f"data-{name}", people.native(USERS), gold() if rows is None else rows)
        people.write_lines(data / "told.jsonl", told() if values is None else values)
        given = {
            "suite.path": data,
            "suite.model": model,
            "suite.new_tokens": 2,
            "suite.timed": 1,
            "suite.batch": 2,
            "suite.k": 3,
        }
        given |= {"scorer.path": trained / "runs" / "train" / "default", "run.folder": folder / "runs", "run.name": name}
        chosen = f"suite.conditions=[{','.join(CONDITIONS)}]"
        assert main(["eval", "suite=injection", chosen, *SMALL, *(f"{key}={value}" for key, value in given.items())]) == 0
        found = [json.loads(line) for line in (folder / "runs" / "eval" / name / "questions.jsonl").read_text().splitlines()]
        return {(row["system"], row["query_id"], row["seed"]): row for row in found}

    return folder / "runs" / "eval", evaluate


def reading(row):
    """To four digits: what else is in a batch moves the others."""
    return row["reply"], round(row["nats"], 4), row["shown"]


@pytest.fixture(scope="module")
def first(run):
    return run[1]("first")


def test_what_it_writes(run, first):
    folder = run[0] / "first"
    assert {path.name for path in folder.iterdir()} == {
        "answers.jsonl", "metrics.json", "questions.jsonl", "report.html", "config.yaml", "manifest.json"
    }  # fmt: skip
    told = json.loads((folder / "metrics.json").read_text())
    assert told["n"] == 6 and told["questions"]["answered"] == 5 and told["questions"]["nothing"] == 1
    assert list(told["systems"]) == list(CONDITIONS) and set(told["systems"]["plain"]) >= {
        "contains",
        "loglik",
        "leak",
        "ms_per_query",
    }
    assert {(one["b"]) for one in told["comparisons"]} == {"plain", "drop:.5:relative"}
    assert len(first) == 6 * (len(CONDITIONS) + 2)  # three seeds of the shuffled
    assert "log:1" in (folder / "report.html").read_text()


def test_conditions_without_a_bias_and_with_one_that_says_nothing_are_plain(first):
    by = {name: [row for (system, *_), row in first.items() if system == name] for name in CONDITIONS}
    assert all(row["shown"] == 0 for row in by["none"]) and all(row["shown"] == 3 for row in by["plain"])
    assert all(a["nats"] != b["nats"] for a, b in zip(by["plain"], by["log:1"]) if a["answer"])
    dropped = [row for row in by["drop:.5:relative"] if row["shown"] == 3]
    for row in dropped:
        assert reading(row) == reading(first["plain", row["query_id"], 0])


def test_a_run_that_is_done_is_not_read_again(run, first, monkeypatch):
    before = (run[0] / "first" / "answers.jsonl").read_bytes()
    monkeypatch.setattr(Reader, "read", lambda *_: pytest.fail("read again"))
    assert run[1]("first") == first and (run[0] / "first" / "answers.jsonl").read_bytes() == before


def test_a_run_that_was_stopped_goes_on(run, first, monkeypatch):
    real, left = Reader.read, [3]

    def stopping(self, requests, targets):
        left[0] -= 1
        if left[0] < 0:
            raise OSError("stopped")
        return real(self, requests, targets)

    monkeypatch.setattr(Reader, "read", stopping)
    with pytest.raises(AssertionError):
        run[1]("again")
    part = (run[0] / "again" / "answers.jsonl").read_bytes()
    assert part and not (run[0] / "again" / "manifest.json").exists()
    monkeypatch.setattr(Reader, "read", real)
    again = run[1]("again")
    whole = (run[0] / "again" / "answers.jsonl").read_bytes()
    assert whole.startswith(part) and {key: reading(row) for key, row in again.items()} == {
        key: reading(row) for key, row in first.items()
    }


def test_gold_reaches_the_oracle_alone(run, first):
    """Another turn is gold, and other values were told: what is shown and read stays, but for the oracle."""
    poisoned = run[1]("poisoned", gold(place=0), told("sesame"))
    changed = {name for (name, *rest), row in first.items() if reading(row) != reading(poisoned[(name, *rest)])}
    assert changed == {"oracle+log:1", "oracle+drop:.5"}


def test_bad_settings_are_told_at_once(run, capsys):
    assert main(["eval", "suite=injection", "suite.k=0", "suite.batch=0", "suite.of=locomo"]) == 2
    told = capsys.readouterr().err
    assert "suite.k=0" in told and "suite.batch=0" in told and "suite.path" in told
    assert main(["eval", "suite=injection", "suite.conditions=[plain,odd,log]"]) == 2
    told = capsys.readouterr().err
    assert "'odd'" in told and "'log'" in told
