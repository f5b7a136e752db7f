import json
from collections import Counter

import pytest

from hindsight.suite.fact_recall import FOLDER, FactRecall
from hindsight.suite.gold import GOLD
from hindsight.types import Count, DataError

TURNS = [{"role": ("user", "assistant")[i % 2], "text": f"t{i}", "time": f"2025-01-01T10:{i:02}:00Z"} for i in range(6)]


def write(folder, **fields):
    row = {
        "query_id": "q1", "user_id": "ana", "session": "a2", "turn": 2, "regime": "ask", "type": "single", "question": "which?",
        "answers": ["t0"], "relevant": [["a1", 0]], "split": "test", "distance": 8, "language": "en", "round": 1,
    }  # fmt: skip
    log = [{"dialogue_id": name, "user_id": "ana", "turns": [turn | {"time": turn["time"].replace("-01T", f"-0{day}T")} for turn in TURNS]}
           for day, name in ((1, "a1"), (2, "a2"))]  # fmt: skip
    for name, lines in (("test.jsonl", log), ("train.jsonl", log), (GOLD, [row | fields])):
        (folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    return FactRecall(folder)


def test_the_question_is_asked_before_its_turn_and_stands_in_none(tmp_path, perfect):
    (case,) = write(tmp_path).cases(count := Count())
    assert (case.query.text, case.query.asked_at, case.query.time) == ("which?", 8, "2025-01-02T10:02:00+00:00")
    assert [turn.text for turn in case.turns] == ["t0", "t1", "t2", "t3", "t4", "t5", "t0", "t1"]
    assert (case.relevant, case.kind, case.groups) == ((0,), "single", ("distance 8", "language en", "round 1"))
    assert count.kept == 1 and set(perfect(case).values()) == {1.0}


def test_what_nothing_answers_is_apart_and_has_no_distance(tmp_path):
    suite = write(tmp_path, type="abstain", answers=[], relevant=[], distance=0)
    (case,) = suite.unanswerable()
    assert (case.relevant, case.groups) == ((), ("language en", "round 1"))
    with pytest.raises(DataError, match="no question that can be asked"):
        list(suite.cases(Count()))


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        ({"relevant": [["a2", 2]]}, "relevant turns before it"),
        ({"turn": 9}, "it has 6 turns"),
        ({"distance": "far"}, "gold.jsonl:1.*a line of gold"),
        ({"user_id": "bo"}, "a user of train.jsonl or test.jsonl"),
    ],
)
def test_gold_that_does_not_fit_is_an_error(tmp_path, fields, wanted):
    with pytest.raises(DataError, match=f"(?s){wanted}"):
        list(write(tmp_path, **fields).cases(Count()))


@pytest.mark.skipif(not FOLDER.is_dir(), reason="needs data/recall of a checkout")
def test_the_frozen_questions():
    suite = FactRecall()
    cases, nothing = list(suite.cases(count := Count())), suite.unanswerable()
    assert (len(cases), count.skipped, len(nothing)) == (528, {"nothing to find": 72}, 72)
    groups = Counter(name for case in cases for name in case.groups)
    assert {groups[f"distance {d}"] for d in (10, 30, 100, 300)} == {132} and groups["round 1"] == 176
    assert Counter(case.kind for case in nothing) == {"abstain": 60, "other_user": 12}
    assert not any(case.query.text in {turn.text for turn in case.turns} for case in cases)
    train = list(FactRecall(split="train").cases(Count()))
    assert len(train) == 176 and not {c.query.user_id for c in train} & {c.query.user_id for c in cases}
    assert not {c.query.text for c in train} & {c.query.text for c in cases}
