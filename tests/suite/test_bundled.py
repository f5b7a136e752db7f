import json

import pytest

from hindsight.suite.bundled import Bundled
from hindsight.suite.gold import FOLDER as BUNDLED
from hindsight.suite.past import Prefix
from hindsight.types import Count, DataError


def session(user, name, *texts, day=1):
    turns = [
        {"role": ("user", "assistant")[i % 2], "text": text, "time": f"2024-01-{day:02}T10:{i:02}:00Z"}
        for i, text in enumerate(texts)
    ]
    return {"dialogue_id": name, "user_id": user, "turns": turns}


def gold(name, user, dialogue, turn, relevant, **fields):
    return {
        "query_id": name, "user_id": user, "session": dialogue, "turn": turn, "regime": "ask", "type": "single",
        "question": "?", "answers": ["x"], "relevant": relevant, "split": "test", **fields,
    }  # fmt: skip


LOG = [
    session("bo", "b1", "I row", "ok", day=2),
    session("ana", "a1", "I swim", "ok", "at the lido", "nice", day=1),
    session("ana", "a2", "hello", "hi", "where do I swim?", "?", "and who rows?", "?", day=9),
    session("bo", "b2", "what do I do?", "?", day=8),
]
GOLD = [
    gold("q3", "ana", "a2", 4, [], type="abstain"),
    gold("q1", "ana", "a2", 2, [["a1", 2], ["a1", 0]]),
    gold("q2", "bo", "b2", 0, [["b1", 0]], type="update"),
    gold("q4", "bo", "b2", 0, [["b1", 0]], regime="act"),
    gold("q5", "bo", "b2", 0, [["b1", 0]], split="train"),
]


def write(folder, log=LOG, rows=GOLD):
    folder.mkdir(exist_ok=True)
    for name, lines in (("test.jsonl", log), ("train.jsonl", log), ("gold.jsonl", rows)):
        (folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def read(folder, **options):
    return list(Bundled(folder, **options).build().cases(count := Count())), count


def test_the_asking_turn_is_the_query_and_not_in_the_past(tmp_path, perfect):
    cases, count = read(write(tmp_path))
    assert [(case.query.text, case.query.asked_at, case.relevant, case.kind) for case in cases] == [
        ("what do I do?", 2, (0,), "update"), ("where do I swim?", 6, (0, 2), "single"),
    ]  # fmt: skip
    assert [turn.text for turn in cases[1].turns] == ["I swim", "ok", "at the lido", "nice", "hello", "hi"]
    assert cases[1].query.time == "2024-01-09T10:02:00+00:00" and cases[1].query.context == ()
    assert all(set(perfect(case).values()) == {1.0} for case in cases)
    assert (count.kept, count.skipped) == (2, {"nothing to find": 1})
    assert sum(count.notes.values()) == 2
    text = str(cases)
    assert not any(f"'{name}'" in text for name in ("q1", "ana", "a2", "b1"))


def test_splits_and_the_unanswerable(tmp_path):
    write(tmp_path)
    assert [len(read(tmp_path, split=split)[0]) for split in ("test", "train", "all")] == [2, 1, 3]
    (case,) = Bundled(tmp_path).unanswerable()
    assert (case.query.text, case.relevant, case.kind) == ("and who rows?", (), "abstain") and len(case.turns) == 8


def test_cases_of_one_user_are_prefixes_of_one_stream_in_order(tmp_path):
    rows = [
        gold("q1", "ana", "a2", 4, [["a1", 0]]),
        gold("q2", "ana", "a2", 2, [["a1", 0]]),
        gold("q3", "ana", "a1", 2, [["a1", 0]]),
    ]
    cases, _ = read(write(tmp_path, rows=rows))
    assert [case.query.asked_at for case in cases] == [2, 6, 8]
    assert all(isinstance(case.turns, Prefix) for case in cases)
    assert len({id(getattr(case.turns, "_stream")) for case in cases}) == 1  # noqa: B009
    assert list(cases[2].turns)[:6] == list(cases[1].turns)


@pytest.mark.parametrize(
    ("row", "wanted"),
    [
        (gold("q", "ana", "a9", 0, [["a1", 0]]), "gold.jsonl:1.*a turn of the log"),
        (gold("q", "ana", "a1", 9, [["a1", 0]]), "gold.jsonl:1.*it has 4 turns"),
        (gold("q", "ana", "a2", 2, [["b1", 0]]), "a turn of the log"),  # another user's dialogue
        (gold("q", "ana", "a2", 2, [["a2", 2]]), "relevant turns before it"),
        (gold("q", "ana", "a2", 3, [["a2", 2]]), "a user's turn"),
        (gold("q", "cy", "c", 0, []), "a user of train.jsonl or test.jsonl"),
        ({"query_id": "q"}, "gold.jsonl:1.*a line of gold"),
    ],
)
def test_gold_that_does_not_fit_the_log_is_an_error(tmp_path, row, wanted):
    with pytest.raises(DataError, match=f"(?s){wanted}"):
        read(write(tmp_path, rows=[row]))


def test_a_log_that_is_not_read_whole_and_missing_files_are_errors(tmp_path):
    odd = {**LOG[0], "turns": [{"role": "nobody", "text": "?"}, *LOG[0]["turns"]]}
    with pytest.raises(DataError, match=r"(?s)turn left out.*every turn of it"):
        read(write(tmp_path, log=[odd, *LOG[1:]]))
    with pytest.raises(DataError, match=r"suite\.path="):
        read(tmp_path / "nowhere")
    write(tmp_path)
    (tmp_path / "gold.jsonl").write_text("")
    with pytest.raises(DataError, match="no question that can be asked"):
        read(tmp_path)


@pytest.mark.skipif(not BUNDLED.is_dir(), reason="needs the bundled logs, data/bundled of a checkout")
def test_the_bundled_logs():
    cases, count = read(BUNDLED)
    test_users = {case.query.user_id for case in cases}
    assert count.kept == len(cases) > 200 and count.skipped["nothing to find"] > 20
    train, _ = read(BUNDLED, split="train")
    assert not test_users & {case.query.user_id for case in train}
    assert len(read(BUNDLED, split="all")[0]) == len(cases) + len(train)
    order = [(case.query.user_id, case.query.asked_at) for case in cases]
    users = list(dict.fromkeys(user for user, _ in order))
    assert order == sorted(order, key=lambda one: (users.index(one[0]), one[1]))
