import json
import subprocess
import sys
from pathlib import Path

import pytest

from hindsight.io import to_json
from hindsight.logs.longmemeval import LongMemEvalReader, Source, keyed, time_of
from hindsight.types import Count, DataError

FILES = Path(__file__).parent / "files"
EXPAND = Path(__file__).parents[3] / "shared" / "data" / "longmemeval" / "expand.py"


def question(name="q", dates=("2023/05/01 (Mon) 01:00",), sessions=None, **fields):
    sessions = sessions or [[{"role": "user", "content": f"s{i}"}] for i in range(len(dates))]
    ids = [f"id{i}" for i in range(len(dates))]
    return {
        "question_id": name, "haystack_session_ids": ids, "haystack_dates": list(dates), "haystack_sessions": sessions, **fields,
    }  # fmt: skip


def write(path, *questions):
    path.write_text(json.dumps(questions))
    return path


def test_repeated_ids_empty_sessions_and_unequal_lists():
    count = Count()
    ((dialogue, sources, raw),) = keyed(FILES / "G03_lme_dups.json", count)
    assert sources == [Source("f1", 0, 0), Source("f1", 1, 0), Source("answer_x", 3, 0)]
    assert len({turn.session for turn in dialogue.turns}) == 3
    assert [turn.time for turn in dialogue.turns] == ["2023-05-01T01:00:00", "2023-05-09T01:00:00", "2023-05-11T01:00:00"]
    assert raw["answer"] == 3
    assert count.skipped == {"question q5: 2 session ids, 2 dates, 1 sessions": 1}
    assert count.notes == {
        "session id stands in the haystack again: kept as a session of its own": 1,
        "session without turns: left out": 1,
    }


def test_sessions_go_by_date_and_none_is_left_out_by_date():
    ((dialogue, sources, _),) = keyed(FILES / "G13_lme_dates.json", Count())
    assert [source.session for source in sources] == ["answer_n1", "answer_n2", "n3"]
    assert [turn.position for turn in dialogue.turns] == [0, 1, 2]
    assert dialogue.turns[-1].text == "I now have 5 Gbps"


def test_equal_dates_go_by_place_and_the_undated_follow_the_one_before(tmp_path):
    dates = ("2023/05/09 (Tue) 01:00", "?", "2023/05/01 (Mon) 01:00", "2023/05/01 (Mon) 01:00")
    count = Count()
    ((_, sources, _),) = keyed(write(tmp_path / "a.json", question(dates=dates)), count)
    assert [source.place for source in sources] == [2, 3, 0, 1]
    assert count.notes == {"session date is not like '2023/05/20 (Sat) 02:21': left out": 1}


def test_read_gives_no_source_id_and_no_gold():
    (dialogue,) = LongMemEvalReader().read(FILES / "G03_lme_dups.json", Count())
    assert "answer" not in to_json(dialogue) and "f1" not in [turn.session for turn in dialogue.turns]


def test_bad_turns_and_questions_are_counted(tmp_path):
    bad = [[{"role": "narrator", "content": "x"}, "x", {"role": "user"}, {"role": "user", "content": ""}]]
    count = Count()
    path = write(tmp_path / "a.json", question(), question(), 5, {"question_id": "z"}, question("b", sessions=bad))
    read = list(keyed(path, count))
    assert [len(dialogue.turns) for dialogue, _, _ in read] == [1, 1]
    assert read[1][1] == [Source("id0", 0, 3)]
    assert count.skipped == {
        "the same question_id again": 1,
        "no haystack_session_ids, haystack_dates, haystack_sessions": 2,
    }
    assert sum(count.notes.values()) == 3


@pytest.mark.parametrize(
    ("text", "time", "notes"),
    [
        ("2023/05/20 (Sat) 02:21", "2023-05-20T02:21:00", 0),
        ("2023/05/20 (Mon) 02:21", "2023-05-20T02:21:00", 1),
        ("2023/05/20 02:21", "2023-05-20T02:21:00", 0),
        ("2023/05/20", "2023-05-20", 0),
        ("2023/13/40 (Sat) 02:21", None, 1),
        ("", None, 1),
        (None, None, 1),
    ],
)
def test_dates(text, time, notes):
    count = Count()
    assert time_of(text, count) == time
    assert sum(count.notes.values()) == notes


def test_nothing_kept_says_why(tmp_path):
    path = write(tmp_path / "a.json", {"messages": []})
    with pytest.raises(DataError, match=r"no haystack_session_ids.*logs=openai"):
        list(keyed(path, Count()))
    path.write_text("")
    with pytest.raises(DataError, match="empty"):
        list(keyed(path, Count()))


@pytest.mark.skipif(not EXPAND.exists(), reason="needs the real LongMemEval-derived set in ../shared/data")
def test_the_real_questions(tmp_path):
    path = tmp_path / "longmemeval.json"
    subprocess.run([sys.executable, EXPAND, path, "--questions", "5", "--turns", "20"], check=True, capture_output=True)
    count = Count()
    read = list(keyed(path, count))
    assert count.kept == len(read) == 5 and not count.skipped
    for dialogue, sources, raw in read:
        times = [turn.time for turn in dialogue.turns]
        assert times == sorted(times) and len(times) >= 20
        for turn, source in zip(dialogue.turns, sources):
            assert turn.text == raw["haystack_sessions"][source.place][source.turn]["content"]
            assert source.session == raw["haystack_session_ids"][source.place]
