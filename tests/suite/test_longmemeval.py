import gzip
import json
import pickle
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest

from hindsight.suite.longmemeval import LongMemEval
from hindsight.types import Count, DataError

FILES = Path(__file__).parent / "files"
LOGS = Path(__file__).parents[1] / "logs" / "files"
TYPES = {
    "single-session-user", "single-session-assistant", "single-session-preference", "multi-session", "temporal-reasoning",
    "knowledge-update",
}  # fmt: skip


def read(path, **options):
    return list(LongMemEval(path, **options).build().cases(count := Count())), count


def question(sessions, name="q", **fields):
    return {
        "question_id": name, "question_type": "multi-session", "question": "?", "answer": "x", "question_date": "2023/05/30 (Tue) 10:00",
        "haystack_session_ids": [f"s{i}" for i in range(len(sessions))],
        "haystack_dates": [f"2023/05/{i + 1:02}" for i in range(len(sessions))], "haystack_sessions": sessions, **fields,
    }  # fmt: skip


def turn(role, text, gold=None):
    return {"role": role, "content": text, **({} if gold is None else {"has_answer": gold})}


def write(path, *questions):
    path.write_text(json.dumps(questions))
    return path


def test_abstention_is_no_retrieval_question(perfect):
    """Scenario G01."""
    cases, count = read(FILES / "G01_lme_abstention.json")
    (case,) = cases
    assert (case.query.text, case.relevant, case.kind, case.answers) == (
        "Where do I swim?",
        (1,),
        "single-session-user",
        ("Lido",),
    )
    assert case.query.time == "2023-05-30T10:00:00" and case.query.asked_at == 3
    assert perfect(case) == {"recall@10": 1, "recall_any@10": 1, "recall_all@10": 1, "ndcg@10": 1, "mrr": 1}
    assert (count.seen, count.kept, count.skipped) == (2, 1, {"abstention, without evidence turns": 1})
    assert count.places["gold session is not in the haystack"] == ["G01_lme_abstention.json:1 q2_abs: answer_zz"]


def test_evidence_of_the_assistant(tmp_path):
    """Scenario G02: the unit says which roles are indexed; a question without evidence there is counted, not scored."""
    (case,), _ = read(FILES / "G02_lme_assistant.json")
    assert case.relevant == (2,) and case.turns[2].role == "assistant"
    with pytest.raises(DataError, match="evidence is not the user's"):
        read(FILES / "G02_lme_assistant.json", users_only=True)
    assert "roles indexed: user" in LongMemEval(tmp_path, users_only=True).notes
    assert "roles indexed: user, assistant" in LongMemEval(tmp_path).notes


def test_users_only_indexes_what_the_user_said(tmp_path):
    both = [[turn("assistant", "a"), turn("user", "b", True), turn("assistant", "c", True)], [turn("user", "d", True)]]
    path = write(tmp_path / "a.json", question(both), question([[turn("assistant", "z", True)]], "r"))
    cases, _ = read(path)
    assert [case.relevant for case in cases] == [(1, 2, 3), (0,)]
    (case,), count = read(path, users_only=True)
    assert [(one.position, one.text) for one in case.turns] == [(0, "b"), (1, "d")]
    assert case.relevant == (0, 1) and case.query.asked_at == 2
    assert count.skipped == {"evidence is not the user's": 1}
    assert count.notes == {"evidence of the assistant left out beside the user's": 1}


def test_repeated_session_ids_and_whole_number_answers():
    """Scenario G03: both copies are there, neither is gold; unequal lists are left out by name."""
    (case,), count = read(LOGS / "G03_lme_dups.json")
    assert [one.text for one in case.turns] == ["same filler", "same filler", "I bought three pens"]
    assert case.relevant == (2,) and case.answers == ("3",)
    assert count.notes["dialogue left out with its questions: question q5: 2 session ids, 2 dates, 1 sessions"] == 1


def test_sessions_after_the_question_stay_and_are_told():
    """Scenario G13, but no session is left out: a haystack is by definition before its question (data/README)."""
    (case,), count = read(LOGS / "G13_lme_dates.json")
    assert [one.text for one in case.turns] == ["I have 100 Mbps", "upgraded to 1 Gbps", "I now have 5 Gbps"]
    assert case.relevant == (0, 1) and case.query.time == "2023-05-25T12:00:00"
    assert count.notes == {"question with a session dated after it: kept": 1}


def test_gold_after_the_question_is_told_by_name(tmp_path):
    late = question([[turn("user", "a", True)]], question_date="2023/04/01")
    undated = question([[turn("user", "a", True)]], "r", question_date="soon")
    cases, count = read(write(tmp_path / "a.json", late, undated))
    assert [case.query.time for case in cases] == ["2023-04-01", None]
    assert count.places["question with a gold session dated after it: kept"] == ["a.json:0 q"]
    assert count.places["question date is missing or no date: left out"] == ["a.json:1 r"]


def test_gold_is_the_mark_and_never_the_id(tmp_path):
    marked = [[turn("user", "a", False)], [turn("user", "b", True)], [turn("user", "c", "true")]]
    ids = ["answer_1", "noise", "answer_2"]
    path = write(tmp_path / "a.json", question(marked, haystack_session_ids=ids, answer_session_ids=ids[::2]))
    (case,), _ = read(path)
    assert case.relevant == (1,)
    assert "answer" not in str(case.turns) and "noise" not in str(case)
    with pytest.raises(DataError, match="no evidence turn"):
        read(write(tmp_path / "b.json", question([[turn("user", "a")]], haystack_session_ids=["answer_1"])))


def test_each_question_is_its_own_user_and_is_read_when_asked_for(tmp_path):
    path = write(tmp_path / "a.json", *(question([[turn("user", str(i), True)]], f"q{i}") for i in range(3)))
    cases, _ = read(path)
    assert len({case.query.user_id for case in cases}) == len({case.query.query_id for case in cases}) == 3
    path.write_text(path.read_text()[:-1] + ', {"question_id": ')  # what is wrong later does not stand in the way
    found = LongMemEval(path).cases(Count())
    assert next(found) == cases[0]
    with pytest.raises(DataError, match="element 3"):
        list(found)


@pytest.mark.parametrize("form", [["--turns", "5"], ["--sessions", "2"]])
def test_the_real_questions(shared, tmp_path, form):
    path = tmp_path / "longmemeval.json"
    subprocess.run([sys.executable, shared / "longmemeval" / "expand.py", path, *form], check=True, capture_output=True)
    cases, count = read(path)
    assert len(cases) == count.kept == 470
    assert count.skipped == {"abstention, with evidence turns": 9, "abstention, without evidence turns": 21}
    assert count.notes["question with a gold session dated after it: kept"] == 54
    assert len(read(path, abstentions=True)[0]) == 479
    cases, count = read(path, users_only=True)
    assert len(cases) == 419 and count.skipped["evidence is not the user's"] == 51
    assert len(read(path, users_only=True, abstentions=True)[0]) >= 419


def test_a_session_is_one_memory_and_gold_is_what_the_answer_names(tmp_path):
    """Duplicate ids, a session that the assistant begins, a gold session without a marked turn."""
    sessions = [
        [turn("assistant", "Welcome."), turn("user", "I moved to Oslo.", True)],
        [turn("user", "Nothing."), turn("assistant", "Indeed.")],
        [turn("user", "A cat came too."), turn("assistant", "How nice.")],
        [turn("user", "I moved to Oslo.")],
    ]
    fields = {"haystack_session_ids": ["a", "b", "c", "a"], "answer_session_ids": ["a", "c"]}
    path = write(tmp_path / "a.json", question(sessions, **fields))
    (case,), _ = read(path, level="session")
    assert case.turns[0].text == "Assistant: Welcome.\nUser: I moved to Oslo." and case.query.asked_at == 4
    assert [one.position for one in case.turns] == [0, 1, 2, 3] and {one.role for one in case.turns} == {"user"}
    assert case.relevant == (0, 2)  # the copy whose turn is marked; and the other named one
    assert LongMemEval(path, level="session").unit == "session" and LongMemEval(path).unit == "turn"
    (case,), _ = read(path, level="session", users_only=True)
    assert case.turns[0].text == "I moved to Oslo." and case.relevant == (0,)  # as upstream: marked by the user


def test_abstention_questions_are_for_silence(tmp_path):
    looks_alike = question(
        [[turn("user", "My hamster is Luna.", True)]], "q2_abs", question="How old is my cat?", answer="not told"
    )
    known = question([[turn("user", "a", True)]])
    path = write(tmp_path / "a.json", known, looks_alike, question([[turn("user", "b")]], "q3_abs"))
    silent = LongMemEval(path).unanswerable()
    assert [case.relevant for case in silent] == [(), ()] and silent[0].answers == ("not told",)
    assert silent[0].turns[0].text == "My hamster is Luna." and silent[0].query.user_id != silent[1].query.user_id
    assert len(LongMemEval(path, abstentions=True).unanswerable()) == 1
    cases, _ = read(path, abstentions=True)
    assert len(cases) == 2


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_turns_are_read_again_from_where_they_stand(tmp_path, mark):
    """Letters of several bytes before and in a question, line ends, a byte order mark: the place in the file is still right."""
    rows = [question([[turn("user", f"Zürich 东京 {n} 🙂", True), turn("assistant", "—" * n)]], f"q{n}") for n in range(4)]
    text = mark + " \r\n" * bool(not mark) + json.dumps(rows, ensure_ascii=False, indent=1).replace("\n", "\r\n")
    path = tmp_path / "a.json"
    path.write_bytes(text.encode())
    cases, _ = read(path)
    for n in (3, 0, 2, 1):
        assert cases[n].turns[0].text == f"Zürich 东京 {n} 🙂" and tuple(cases[n].turns) == cases[n].turns[:]
        assert pickle.loads(pickle.dumps(cases[n])) == cases[n] and len(cases[n].turns) == 2
    path.write_bytes(text[: len(text) // 2].encode())
    with pytest.raises(DataError, match="the same file"):
        list(cases[3].turns)


def test_an_archive_and_another_encoding_are_held(tmp_path):
    rows = json.dumps([question([[turn("user", "Zürich", True)]])], ensure_ascii=False)
    (tmp_path / "a.json").write_bytes(gzip.compress(rows.encode()))
    (tmp_path / "b.json").write_text(rows, "utf-16")
    for name in ("a.json", "b.json"):
        (case,), _ = read(tmp_path / name)
        assert case.turns[0].text == "Zürich"


def test_no_more_than_one_haystack_is_held(tmp_path):
    """40 haystacks of 400 kB each: memory that all cases together take is that of about one."""
    rows = [question([[turn("user", f"{n} " + "x" * 400_000, True)]], f"q{n}") for n in range(40)]
    path = write(tmp_path / "a.json", *rows)
    del rows
    tracemalloc.start()
    cases = list(LongMemEval(path).cases(Count()))
    held = sum(len(case.turns[0].text) for case in cases)
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held > 16_000_000 and kept < 1_500_000 and peak < 8_000_000


def test_all_six_types_of_the_real_questions(shared, tmp_path):
    path = tmp_path / "longmemeval.json"
    command = [sys.executable, shared / "longmemeval" / "expand.py", path, "--sessions", "1"]
    subprocess.run(command, check=True, capture_output=True)
    suite = LongMemEval(path, level="session")
    cases, silent = list(suite.cases(Count())), suite.unanswerable()
    kinds = {case.kind for case in cases}
    assert len(cases) == 470 and kinds == TYPES
    assert len(silent) == 30 and all(case.relevant == () and case.answers for case in silent)
    assert sum(case.answers[0].isdigit() for case in cases) >= 30  # they stand in the file as whole numbers
