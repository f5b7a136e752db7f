import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight.io import write_json_lines
from hindsight.logs.locomo import LoCoMoReader
from hindsight.logs.native import NativeReader
from hindsight.miner.turns import Turns
from hindsight.suite.own import Labels, Own, later_from
from hindsight.suite.past import streams
from hindsight.train.learn import hold_out
from hindsight.types import ConfigError, Count, DataError, Labelled, Query, Use, opaque

USERS = ("ana", "bo", "cy", "di", "eve")


def line(user, name, n=6, day=1):
    turns = [{"role": ("user", "assistant")[i % 2], "text": f"{user} {name} says {i}"} for i in range(n)]
    turns[0]["time"] = f"2026-01-{day:02}"
    return {"dialogue_id": name, "user_id": user, "turns": turns}


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.jsonl"
    write_json_lines(path, [line(user, name, day=day) for day, name in enumerate("xy", 1) for user in USERS])
    return path


def labels(log, found=None):
    """At each user's turn from 6 on, the memories two and three turns before were used, the second of them with gain 0."""
    memories, labelled = [], []
    for stream in streams(NativeReader().read(log, Count())):
        mined = Turns().mine(stream.turns, stream.user_id, "")
        memories += mined
        for at in (10, 6, 8):
            query = Query(opaque(stream.user_id, at), stream.user_id, "", f"ask {at}", at, context=(at - 1,))
            uses = (Use(query.query_id, mined[at - 2].memory_id, 0.4), Use(query.query_id, mined[at - 3].memory_id, 0.0))
            labelled.append(Labelled(query, uses, "call"))
    return Labels(memories, labelled)


def read(suite):
    return list(suite.build().cases(count := Count())), count


def test_held_out_users_are_judged_by_labels_and_marked_so(log, perfect):
    suite = Own(log, labels=labels(log), share=0.4)
    cases, count = read(suite)
    expected = hold_out([opaque("user", user) for user in USERS], 0.4)  # the users that training holds out
    assert {case.query.user_id for case in cases} == expected and len(expected) == 2
    assert [(case.query.asked_at, case.relevant) for case in cases] == [(6, (4,)), (8, (6,)), (10, (8,))] * 2
    assert {case.kind for case in cases} == {"hindsight call"}
    assert suite.notes[0] == "judged by hindsight labels, not by people"
    assert all(len(case.turns) == case.query.asked_at for case in cases)
    assert all(set(perfect(case).values()) == {1.0} for case in cases)
    assert count.kept == 6 and count.notes == {"labelled query on the side of training: not read": 9}


def test_later_time_takes_the_end_of_every_user(log):
    cases, count = read(Own(log, labels=labels(log), split="later", share=0.4))
    assert later_from(12, 0.4) == 8
    assert [case.query.asked_at for case in cases] == [8, 10] * 5 and count.notes.popitem()[1] == 5


def test_what_a_label_cannot_say_is_skipped(log):
    found = labels(log)
    mine = [one for one in found.labelled if one.query.asked_at == 10]
    odd = [replace(mine[0], hidden=(3,)), replace(mine[1], kind="PQ"), replace(mine[2], uses=()), mine[3]]
    cases, count = read(Own(log, labels=Labels(found.memories, odd), split="later", share=0.2))
    assert len(cases) == 1 and count.skipped == {"self-supervised query": 2, "no use found": 1}


def test_labels_of_another_log_or_of_the_future_are_errors(log):
    found = labels(log)
    one = next(one for one in found.labelled if one.query.asked_at == 10)

    def with_label(odd, memories=found.memories):
        return Own(log, labels=Labels(memories, [odd]), split="later", share=0.9)

    with pytest.raises(DataError, match="a memory that was mined from this log"):
        read(with_label(one, [m for m in found.memories if m.memory_id != one.uses[0].memory_id]))
    with pytest.raises(DataError, match="the log that the labels were made from"):
        read(with_label(replace(one, query=replace(one.query, user_id="?"))))
    late = next(m for m in found.memories if m.user_id == one.query.user_id and m.sources == (10,))
    with pytest.raises(DataError, match="turns before 10"):
        read(with_label(replace(one, uses=(Use(one.query.query_id, late.memory_id, 1.0),))))


def test_labels_come_back_from_disk(log, tmp_path):
    found = labels(log)
    write_json_lines(tmp_path / "memories.jsonl", found.memories)
    write_json_lines(tmp_path / "labels.jsonl", found.labelled)
    again = Labels.read(tmp_path / "memories.jsonl", tmp_path / "labels.jsonl")
    assert read(Own(log, labels=again))[0] == read(Own(log, labels=found))[0]


@given(st.integers(0, 500), st.floats(0.01, 0.99))
def test_later_is_a_part_too(turns, share):
    assert 0 <= later_from(turns, share) <= turns - (turns > 0)


QUERIES = [
    {"query_id": "q1", "user_id": "ana", "dialogue_id": "y", "turn": 2, "text": "What was said?"},
    {"query_id": "q2", "user_id": "ana", "dialogue_id": "x", "turn": 6, "text": "At its end?"},
    {"query_id": "q3", "user_id": "bo", "dialogue_id": "y", "turn": 0, "text": "Nothing?"},
    {"query_id": "q4", "user_id": "bo", "dialogue_id": "y", "turn": 0, "text": "Not judged"},
]
QRELS = "q1 0 x:1 1\nq1 0 y:0 2\nq1 0 x:2 0\nq1 0 y:3 1\nq2 0 x:5 1\nq3 0 x:0 0\n"


def judged(log, queries=QUERIES, qrels=QRELS, **options):
    folder = log.parent
    write_json_lines(folder / "queries.jsonl", queries)
    (folder / "qrels").write_text(qrels)
    return read(Own(log, queries=folder / "queries.jsonl", qrels=folder / "qrels", **options))


def test_people_judge_by_the_logs_own_ids(log, perfect):
    cases, count = judged(log)
    assert [(case.query.text, case.query.asked_at, case.relevant) for case in cases] == [
        ("At its end?", 6, (5,)), ("What was said?", 8, (1, 6)),
    ]  # fmt: skip
    assert {case.kind for case in cases} == {"judged by people"}
    assert all(set(perfect(case).values()) == {1.0} for case in cases)
    assert count.skipped == {"no turn judged relevant": 1, "not judged": 1}
    assert count.places["judged turn is not before its query: dropped"] == ["q1 y:3"]
    assert not any(name in str(cases) for name in ("q1", "'ana'"))


def test_a_memory_of_a_turn_can_be_judged_as_a_run_names_it(log):
    ana = next(s for s in streams(NativeReader().read(log, Count())) if s.user_id == opaque("user", "ana"))
    memory = Turns().mine(ana.turns, "", "")[3]
    (case,), _ = judged(log, QUERIES[:1], f"q1 0 {memory.memory_id} 1\n")
    assert case.relevant == (3,)


def test_ids_of_numbers_and_of_formats_that_show_none(tmp_path):
    path = tmp_path / "log.jsonl"
    write_json_lines(path, [{**line("7", "1"), "user_id": 7, "dialogue_id": 1}])
    (case,), _ = judged(path, [{"query_id": 1, "user_id": 7, "dialogue_id": 1, "turn": 3, "text": "?"}], "1 0 1:2 1\n")
    assert (case.query.asked_at, case.relevant) == (3, (2,))
    talk = {
        "session_1": [{"speaker": "Ana", "dia_id": "D1:1", "text": "a"}, {"speaker": "Bo", "dia_id": "D1:2", "text": "b"}]
    }
    path = tmp_path / "locomo.json"
    path.write_text(json.dumps([{"sample_id": "s", "conversation": talk}]))
    user, dialogue = opaque("user", "locomo", "s"), opaque("dialogue", "locomo", "s")
    asked = [{"query_id": "q", "user_id": user, "dialogue_id": dialogue, "turn": 2, "text": "?"}]
    (case,), _ = judged(path, asked, f"q 0 {dialogue}:0 1\n", reader=LoCoMoReader())
    assert case.relevant == (0,) and case.query.asked_at == 2


def test_the_documented_example(tmp_path):
    text = (Path(__file__).parents[2] / "data" / "FORMAT.md").read_text("utf-8")
    native, _, query, *_ = re.findall(r"```json\n(.*?)```", text, re.S)
    (qrels,) = re.findall(r"```\n(q1 .*?)```", text, re.S)
    later = line("ana", "trip-9")
    later["turns"][0]["time"] = "2026-04-01"
    write_json_lines(tmp_path / "log.jsonl", [later, json.loads(native)])
    (case,), count = judged(tmp_path / "log.jsonl", [json.loads(query)], qrels)
    assert case.query.text == "Which room was taken on Friday?"
    assert [case.turns[i].text for i in case.relevant] == ["Maple is taken on Friday. Shall I try Birch?"]
    assert not count.notes and not count.skipped


@pytest.mark.parametrize(
    ("queries", "qrels", "wanted"),
    [
        (QUERIES[:1], "q9 0 x:1 1\n", "query q9.*a query of queries.jsonl"),
        (QUERIES[:1], "q1 0 z:1 1\n", "query q1.*it has 0 turns"),
        (QUERIES[:1], "q1 0 x 1\n", "DIALOGUE_ID:TURN"),
        ([{**QUERIES[0], "turn": 7}], "q1 0 x:1 1\n", "queries.jsonl:1.*it has 6 turns"),
        ([{**QUERIES[0], "user_id": "zoe"}], "q1 0 x:1 1\n", "queries.jsonl:1.*a user of the log"),
        ([QUERIES[0], QUERIES[0]], "q1 0 x:1 1\n", "queries.jsonl:2.*each query once"),
        ([{"query_id": "q1"}], "q1 0 x:1 1\n", "queries.jsonl:1"),
        ([], "q1 0 x:1 1\n", "queries.jsonl"),
        (QUERIES[:1], "q1 0 x:1\n", "relevance"),
    ],
)
def test_judgments_that_do_not_fit_are_errors(log, queries, qrels, wanted):
    with pytest.raises(DataError, match=f"(?s){wanted}"):
        judged(log, queries, qrels)


def test_a_log_that_lost_turns_cannot_be_judged_by_their_number(tmp_path):
    one = line("ana", "x")
    one["turns"].insert(0, {"role": "nobody", "text": "?"})
    write_json_lines(tmp_path / "log.jsonl", [one])
    with pytest.raises(DataError, match="a log that is read whole"):
        judged(tmp_path / "log.jsonl", [{**QUERIES[0], "dialogue_id": "x"}], "q1 0 x:1 1\n")


def test_wrong_combinations_are_told_all_at_once(log):
    with pytest.raises(ConfigError) as caught:
        Own(log, qrels=log, labels=Labels((), ()), share=1.5).build()
    assert len(caught.value.problems) == 3
    with pytest.raises(ConfigError, match="one of them"):
        Own(log).cases(Count())
    with pytest.raises(DataError, match="split=later"):
        read(Own(log, labels=Labels((), ())))
