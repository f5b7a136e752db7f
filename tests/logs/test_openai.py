import json
import re
import shutil
from pathlib import Path

import pytest

from hindsight.io import to_json
from hindsight.logs.openai import OpenAIReader, outcome_of
from hindsight.types import Count, DataError

FILES = Path(__file__).parent / "files"


def read(path):
    count = Count()
    return list(OpenAIReader().read(path, count)), count


def write(path, *records):
    path.write_text("".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in records), "utf-8")
    return path


def chat(*messages, **fields):
    return {"messages": [{"role": role, "content": content} for role, content in messages], **fields}


def test_a_call_without_content_keeps_its_result_and_its_failure():
    (dialogue,), _ = read(FILES / "F01_openai_tool_null.jsonl")
    assert [turn.role for turn in dialogue.turns] == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert [turn.position for turn in dialogue.turns] == list(range(6))
    (call,) = dialogue.turns[2].calls
    assert dialogue.turns[2].text == ""
    assert (call.name, call.arguments, call.outcome) == ("book_room", {"room": "Maple", "day": "Fri"}, "failure")
    assert call.result == dialogue.turns[3].text == '{"ok":false,"reason":"Maple is taken"}'


def test_parts_are_joined_and_bytes_of_pictures_go_nowhere():
    dialogues, count = read(FILES / "F02_openai_mixed_parts.jsonl")
    assert [[turn.text for turn in one.turns] for one in dialogues] == [
        ["plain string", "part one\npart two"],
        ["see picture\n[image]", "", "done"],
        ["ok", "done"],
    ]
    assert [one.turns[-2].calls[0].arguments for one in dialogues[1:]] == [{"when": "2025-08-01"}, {"when": 1754006400}]
    assert "AAAA" not in to_json(dialogues) and count.kept == 3


def test_results_are_paired_by_id_and_never_by_order():
    (dialogue,), _ = read(FILES / "F03_parallel_tools_reordered.jsonl")
    assert {call.name: call.result for call in dialogue.turns[1].calls} == {"get_weather": "22C sunny", "get_time": "14:05"}


def test_an_id_used_twice_answers_the_call_before_it_and_a_stray_result_answers_none(tmp_path):
    def call(text):
        return {"role": "assistant", "tool_calls": [{"id": "0", "function": {"name": "f", "arguments": {"q": text}}}]}

    def result(text, of="0"):
        return {"role": "tool", "tool_call_id": of, "content": text}

    old = {"role": "assistant", "content": None, "function_call": {"name": "old", "arguments": "{}"}}
    messages = [
        result("early"),
        call("a"),
        result("A"),
        call("b"),
        result("stray", "9"),
        result("B"),
        result("B2"),
        call("c"),
        old,
    ]
    (dialogue,), count = read(write(tmp_path / "a.jsonl", {"messages": messages}))
    made = [(call.name, call.arguments.get("q"), call.result) for turn in dialogue.turns for call in turn.calls]
    assert made == [("f", "a", "A"), ("f", "b", "B"), ("f", "c", None), ("old", None, None)]
    assert count.notes["tool result whose call is not in the conversation: kept as a turn alone"] == 3
    ids = [call.call_id for turn in dialogue.turns for call in turn.calls]
    assert len(set(ids)) == 4


def test_speakers_roles_and_refusals(tmp_path):
    (group,), _ = read(FILES / "M06_group_chat.jsonl")
    assert [turn.speaker for turn in group.turns] == ["ana", "bo", "assistant", "bo"]
    record = chat(("developer", "be brief"), ("user", "hi"), ("narrator", "x"), ("user", 7))
    record["messages"].append({"role": "assistant", "content": None, "refusal": "I cannot"})
    (dialogue,), count = read(write(tmp_path / "a.jsonl", record))
    assert [(turn.role, turn.text) for turn in dialogue.turns] == [
        ("system", "be brief"), ("user", "hi"), ("user", ""), ("assistant", "I cannot"),
    ]  # fmt: skip
    assert count.notes["message left out: its role is unknown"] == 1
    assert count.notes["content left out: neither text nor a list of parts"] == 1


def test_ids_users_sessions_and_times(tmp_path):
    words = (("user", "hi"), ("assistant", "hello"))
    timed = chat(*words, conversation_id=4, created=1767243600, metadata={"user_id": "ana", "session": "s"})
    timed["messages"][1]["timestamp"] = "2026-01-01T06:00:00Z"
    path = write(tmp_path / "a.jsonl", timed, chat(*words, id=4, user="bo"), chat(*words, id=5, user="ana"), chat(*words))
    (first, second, third, alone), count = read(path)
    assert [turn.time for turn in first.turns] == ["2026-01-01T05:00:00+00:00", "2026-01-01T06:00:00+00:00"]
    assert first.user_id == third.user_id and len({one.user_id for one in (first, second, alone)}) == 3
    assert len({one.dialogue_id for one in (first, second, third, alone)}) == 4
    assert count.notes == {"no user named: the conversation is a user of its own": 1}
    again, _ = read(write(tmp_path / "b.jsonl", chat(*words)))
    assert again[0].dialogue_id == alone.dialogue_id  # an id made of the words is the same in another file


def test_overlapping_exports_count_once(tmp_path):
    for number, name in enumerate(["F20_export_v1", "F20_export_v2", "F20_export_v2"]):
        shutil.copy(FILES / f"{name}.jsonl", tmp_path / f"{number}.jsonl")
    dialogues, count = read(tmp_path)
    assert [len(one.turns) for one in dialogues] == [3, 1] and count.kept == 2
    assert count.skipped == {
        "an earlier state of a dialogue that goes on in another line": 1,
        "the same dialogue again": 2,
    }


def test_requests_that_repeat_their_history_without_an_id_are_one_conversation(tmp_path):
    words = [("system", "be kind"), ("user", "a"), ("assistant", "b"), ("user", "c"), ("assistant", "d")]
    path = write(tmp_path / "a.jsonl", chat(*words[:3]), chat(*words), chat(("system", "be kind"), ("user", "other")))
    dialogues, _ = read(path)
    assert [len(one.turns) for one in dialogues] == [5, 2]


@pytest.mark.parametrize(
    ("name", "texts", "skipped"),
    [
        ("E01_bom_crlf.jsonl", ["café ☕ at noon", "ok", "second", "ok"], 0),
        ("E01_utf16.jsonl", ["café ☕ at noon", "ok", "second", "ok"], 0),
        ("E01_separators.jsonl", ["line\u2028sep \x85 nel", "ok"], 0),
        ("E02_lone_surrogates.jsonl", ["pair \U0001f642 lone \ufffd end", "low \ufffd"], 0),
        ("E03_torn_and_merged.jsonl", ["turn 1", "ok", "turn 4", "ok"], 2),
        ("E03_torn_utf8.jsonl", ["turn 1", "ok"], 1),
        ("E04_multimember.jsonl.gz", ["turn 1", "ok", "turn 2", "ok"], 0),
        ("E04_not_gz.jsonl.gz", ["turn 1", "ok"], 0),
        ("E05_nul_and_controls.jsonl", ["run it", "", "ELF\x01\x1b[31mred\x1b[0m", ""], 0),
    ],
)
def test_encodings(name, texts, skipped):
    dialogues, count = read(FILES / name)
    assert [turn.text for one in dialogues for turn in one.turns] == texts
    assert sum(count.skipped.values()) == skipped
    to_json(dialogues).encode("utf-8")


def test_a_cut_gzip_is_an_error():
    with pytest.raises(DataError, match="whole gzip file"):
        read(FILES / "E04_truncated.jsonl.gz")


@pytest.mark.parametrize(
    ("result", "outcome"),
    [
        ('{"ok": true}', "success"),
        ('{"success": false, "status": "ok"}', "failure"),
        ('{"error": null, "rows": []}', "unknown"),
        ('{"errors": ["x"]}', "failure"),
        ('{"returncode": 2}', "failure"),
        ('{"exit_code": 0}', "success"),
        ("Error: user not found", "failure"),
        ("Traceback (most recent call last):\n ...", "failure"),
        ("Exit code: 1\nno", "failure"),
        ("0 errors, build ok", "unknown"),
        ("Error rates fell to 3 %", "unknown"),
        ("The page explains what an error: message is", "unknown"),
        ("[" * 100_000, "unknown"),
        ("", "unknown"),
    ],
)
def test_outcomes_only_where_the_result_says_so(result, outcome):
    assert outcome_of(result) == outcome


def test_a_message_may_flag_its_own_error(tmp_path):
    call = {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "not json"}}]}
    flagged = {"role": "tool", "tool_call_id": "1", "content": "no such file", "is_error": True}
    (dialogue,), count = read(write(tmp_path / "a.jsonl", {"messages": [call, flagged]}))
    (made,) = dialogue.turns[0].calls
    assert (made.arguments, made.outcome) == ({"text": "not json"}, "failure")
    assert count.notes["tool arguments are no JSON object: kept as text"] == 1


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("", "it is empty"),
        ('{"messages": []}', "no messages"),
        ('{"messages": [{"role": "user", "con', "cut off"),
        ('[{"messages": [{"role": "user", "content": "hi"}]}]', "one conversation a line"),
        ('{"dialogue_id": "d", "user_id": "u", "turns": [{"role": "user", "text": "hi"}]}', "logs=native"),
    ],
)
def test_nothing_kept_says_why(tmp_path, body, shown):
    with pytest.raises(DataError) as error:
        read(write(tmp_path / "a.jsonl", body))
    assert shown in str(error.value)


def test_the_documented_line_reads_without_a_note(tmp_path):
    text = (Path(__file__).parents[2] / "data" / "FORMAT.md").read_text("utf-8")
    _, openai, *_ = re.findall(r"```json\n(.*?)```", text, re.S)
    (dialogue,), count = read(write(tmp_path / "a.jsonl", openai.replace("\n", " ")))
    assert [turn.text for turn in dialogue.turns][1] == "Book Maple for Friday.\n[image]"
    assert dialogue.turns[2].calls[0].outcome == "failure" and dialogue.turns[0].time == "2026-03-02T08:15:00+00:00"
    assert not count.notes and not count.skipped
