import json
from pathlib import Path

import pytest

from hindsight.suite.agent_tasks import AgentTasks
from hindsight.types import ConfigError, Count, DataError


def read(path, **options):
    suite = AgentTasks(path, **options).build()
    return list(suite.cases(count := Count())), count, suite


def turn(role, text, **call):
    calls = [{"name": "t", "arguments": {}, "result": "1", "outcome": "success", **call}] if call else []
    return {"role": role, "text": text, "calls": calls}


def written(folder: Path, relevant=(("d1", 1),), user="test-errors-01") -> Path:
    first = [
        turn("user", "do it"),
        turn("assistant", "", result="ERR", outcome="failure"),
        turn("assistant", "", result="ok"),
    ]
    second = [
        turn("user", "hello"),
        turn("assistant", "hi"),
        turn("user", "again"),
        turn("assistant", "", arguments={"a": "b"}),
    ]
    rows = [{"dialogue_id": name, "user_id": user, "turns": turns} for name, turns in (("d1", first), ("d2", second))]
    gold = {
        "query_id": "t1", "user_id": user, "session": "d2", "turn": 2, "regime": "act", "type": "errors: failed call", "answers": ["b"],
        "relevant": relevant, "split": "test",
    }  # fmt: skip
    (folder / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "gold.jsonl").write_text(json.dumps(gold) + "\n")
    return folder


def test_asked_before_the_agent_acts(tmp_path, perfect):
    (case,), count, suite = read(written(tmp_path))
    assert case.relevant == (1,) and case.query.asked_at == 6 == len(case.turns) and case.query.context == (3, 4, 5)
    assert case.query.text == "User: hello\nAssistant: hi\nUser: again"
    assert case.future is not None and case.future.calls[0].arguments == {"a": "b"}
    assert "b" not in case.query.text and case.kind == "errors: failed call" and count.kept == 1
    assert perfect(case)["ndcg@10"] == 1
    assert suite.unanswerable() == []


def test_gold_in_the_context_or_after_the_moment_is_an_error(tmp_path):
    for wrong in ([["d2", 1]], [["d2", 3]]):
        with pytest.raises(DataError, match=r"gold\.jsonl:1"):
            read(written(tmp_path, wrong))


def test_a_task_alone(tmp_path):
    with pytest.raises(DataError, match="no question"):
        read(written(tmp_path), tasks=("report",))
    assert len(read(written(tmp_path), tasks=("errors",))[0]) == 1
    with pytest.raises(ConfigError, match="no task 'reports'"):
        AgentTasks(tmp_path, tasks=("reports",))


def test_moments_that_need_nothing(tmp_path):
    suite = read_nothing(tmp_path)
    (case,) = suite.unanswerable()
    assert case.relevant == () and case.query.asked_at == 6
    with pytest.raises(DataError, match="needs no memory"):
        list(suite.cases(Count()))


def read_nothing(tmp_path):
    return AgentTasks(written(tmp_path, []))


@pytest.mark.parametrize("split", ["train", "test"])
def test_the_rounds_as_they_are(split):
    cases, count, suite = read(AgentTasks().path, split=split)
    assert len(cases) == count.kept == 180 and len(suite.unanswerable()) == 60
    assert len({case.query.user_id for case in cases}) == 60
    for case in cases:
        assert max(case.relevant) < min(case.query.context) and case.future is not None
        assert split not in case.query.text and "errors" not in case.query.user_id
