import gzip
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight.io import to_json
from hindsight.logs.native import NativeReader
from hindsight.types import Count, DataError, ToolCall, opaque

TURNS = [{"role": "user", "text": "I moved to Porto"}, {"role": "assistant", "text": "Nice"}]


def line(**fields):
    return {"dialogue_id": "d1", "user_id": "ana", "turns": TURNS, **fields}


def write(path, *records):
    path.write_text("".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in records), "utf-8")
    return path


def read(path):
    count = Count()
    return list(NativeReader().read(path, count)), count


def test_every_field(tmp_path):
    call = {"call_id": "c1", "name": "book", "arguments": {"room": "Maple"}, "result": "taken", "outcome": "failure"}
    turns = [
        {"role": "user", "text": "Book Maple", "speaker": "Ana", "time": "2026-01-01T09:00:00+01:00"},
        {"role": "assistant", "text": None, "calls": [call], "session": "later"},
    ]
    (dialogue,), count = read(write(tmp_path / "a.jsonl", line(turns=turns, session="s1")))
    first, second = dialogue.turns
    assert (dialogue.dialogue_id, dialogue.user_id) == (opaque("dialogue", "ana", "d1"), opaque("user", "ana"))
    assert dialogue.source == "a.jsonl:1"
    assert (first.position, first.role, first.speaker, first.text) == (0, "user", "Ana", "Book Maple")
    assert (first.session, first.time) == (opaque("session", "ana", "d1", "s1"), "2026-01-01T09:00:00+01:00")
    assert (second.position, second.speaker, second.text, second.time) == (1, "assistant", "", None)
    assert second.session == opaque("session", "ana", "d1", "later")
    assert second.calls == (ToolCall(opaque("call", "ana", "d1", "c1"), "book", {"room": "Maple"}, "taken", "failure"),)
    assert (count.seen, count.kept, count.skipped, count.notes) == (1, 1, {}, {})


def test_no_source_id_shows(tmp_path):
    (dialogue,), _ = read(
        write(tmp_path / "a.jsonl", line(dialogue_id="SECRETID", user_id="SECRETUSER", session="SECRETSESSION"))
    )
    assert "SECRET" not in to_json(dialogue)


def test_bad_records_are_counted_with_reasons_and_the_rest_is_kept(tmp_path):
    bad = ['{"dialogue_id": "x", "turns": [', "7", {"turns": TURNS}, line(user_id=None), line(turns={}), line(turns=[])]
    dialogues, count = read(write(tmp_path / "a.jsonl", *bad, line(), '{"dialogue_id": "d9", "user'))
    assert len(dialogues) == 1
    assert count.skipped == {
        "line is not JSON": 1, "line is not a JSON object": 1, 'no "dialogue_id"': 1, 'no "user_id"': 1,
        'no list "turns"': 1, "no turns": 1, "last line is cut off or not JSON": 1,
    }  # fmt: skip
    assert count.seen == count.kept + sum(count.skipped.values()) == 8


def test_bad_turns_and_calls_are_left_out_and_noted(tmp_path):
    turns = [
        "hello",
        {"role": "robot", "text": "x"},
        {"role": "user", "text": 5},
        {
            "role": "user",
            "text": "kept",
            "time": "yesterday",
            "calls": [{"arguments": {}}, {"name": "f", "outcome": "great"}],
        },
    ]
    (dialogue,), count = read(write(tmp_path / "a.jsonl", line(turns=turns)))
    (turn,) = dialogue.turns
    assert (turn.position, turn.text, turn.time) == (0, "kept", None)
    assert [(call.name, call.outcome, call.result) for call in turn.calls] == [("f", "unknown", None)]
    assert sorted(count.notes.values()) == [1, 1, 1, 1, 1, 1]


def test_text_that_cannot_be_written_is_mended_and_noted(tmp_path):
    raw = r'{"dialogue_id": "d", "user_id": "u", "turns": [{"role": "user", "text": "\ud83d\ude42 lone \ud83d end'
    raw += r'\u0000\u001b[31m", "calls": [{"name": "f", "arguments": {"a": ["\udeaa", NaN]}, "result": "\u0000ELF"}]}]}'
    (dialogue,), count = read(write(tmp_path / "a.jsonl", raw))
    (turn,) = dialogue.turns
    assert turn.text == "\U0001f642 lone \ufffd end\x1b[31m"
    assert (turn.calls[0].arguments, turn.calls[0].result) == ({"a": ["\ufffd", None]}, "ELF")
    assert sum(count.notes.values()) == 5
    to_json(dialogue).encode("utf-8")


def test_the_same_dialogue_again_is_skipped_and_the_longest_state_stays(tmp_path):
    more = [*TURNS, {"role": "user", "text": "and I cycle"}]
    other = line(session="s2", turns=[{"role": "user", "text": "hello"}])
    path = write(tmp_path / "a.jsonl", line(), line(turns=more), line(), other, line(turns=more), line(user_id="bo"))
    dialogues, count = read(path)
    assert [(one.source, len(one.turns)) for one in dialogues] == [("a.jsonl:2", 3), ("a.jsonl:4", 1), ("a.jsonl:6", 2)]
    assert count.skipped == {
        "the same dialogue again": 2,
        "an earlier state of a dialogue that goes on in another line": 1,
    }


def test_two_sessions_with_the_same_words_are_both_kept(tmp_path):
    dialogues, _ = read(write(tmp_path / "a.jsonl", line(session="monday"), line(session="tuesday")))
    assert len(dialogues) == 2 and len({one.turns[0].session for one in dialogues}) == 2


def test_a_folder_is_read_by_name_with_gzip_bom_and_crlf(tmp_path):
    write(tmp_path / "c.json", line(dialogue_id="3"))
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(json.dumps(line(dialogue_id="2")).encode()))
    (tmp_path / "a.jsonl").write_bytes(b"\xef\xbb\xbf" + json.dumps(line(dialogue_id="1")).encode() + b"\r\n\r\n")
    (tmp_path / "notes.txt").write_text("no log")
    dialogues, count = read(tmp_path)
    assert [one.source for one in dialogues] == ["a.jsonl:1", "b.jsonl.gz:1", "c.json:1"]
    assert count.skipped == {}


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("", "it is empty"),
        ('{"dialogue_id": "d1", "us', "skipped 1: last line is cut off"),
        ('{"messages": [{"role": "user", "content": "hi"}]}', "logs=openai"),
        ('[{"question_id": "q", "haystack_sessions": []}]', "logs=longmemeval"),
        ('[{"conversation": {"session_1": [{"dia_id": "D1:1"}]}}]', "logs=locomo"),
        ('[{"dialogue_id": "1", "turns": [{"utterance": "hi"}]}]', "logs=sgd"),
        ('[{"batch_number": 1, "turns": []}]', "logs=beam"),
        ('[{"mapping": {}}]', "ChatGPT export"),
        (json.dumps(line(), indent=1), "one dialogue a line"),
    ],
)
def test_nothing_kept_says_why_and_what_the_file_looks_like(tmp_path, body, shown):
    path = write(tmp_path / "a.jsonl", body) if body else write(tmp_path / "a.jsonl")
    with pytest.raises(DataError) as error:
        read(path)
    assert shown in str(error.value) and str(path) in str(error.value) and "native JSON lines" in str(error.value)


def test_missing_file_and_folder_without_logs(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        read(tmp_path / "none.jsonl")
    with pytest.raises(DataError, match="without such files"):
        read(tmp_path)


def test_too_deep_is_a_skip(tmp_path):
    deep = '{"a":' * 400 + "1" + "}" * 400
    turns = [{"role": "user", "text": "x", "calls": [{"name": "f", "arguments": "DEEP"}]}]
    path = write(tmp_path / "a.jsonl", json.dumps(line(turns=turns)).replace('"DEEP"', deep), line(dialogue_id="d2"))
    dialogues, count = read(path)
    assert len(dialogues) == count.kept and count.seen == 2


texts = st.text(st.characters(exclude_categories=[]), max_size=20)


@given(st.lists(st.tuples(st.sampled_from(["user", "assistant", "system", "tool"]), texts), min_size=1, max_size=6))
def test_any_text_comes_through(tmp_path_factory, said):
    path = tmp_path_factory.mktemp("native") / "a.jsonl"
    write(path, line(turns=[{"role": role, "text": text} for role, text in said]))
    (dialogue,), _ = read(path)
    assert [turn.role for turn in dialogue.turns] == [role for role, _ in said]
    for turn, (_, text) in zip(dialogue.turns, said):
        assert turn.text == re.sub("[\ud800-\udfff]", "\ufffd", json.loads(json.dumps(text)).replace("\0", ""))


def test_the_documented_line_reads_without_a_note(tmp_path):
    native, *_ = re.findall(
        r"```json\n(.*?)```", (Path(__file__).parents[2] / "data" / "FORMAT.md").read_text("utf-8"), re.S
    )
    (dialogue,), count = read(write(tmp_path / "a.jsonl", native.replace("\n", " ")))
    assert len(dialogue.turns) == 3 and dialogue.turns[1].calls[0].outcome == "failure"
    assert not count.notes and not count.skipped
