"""The turn miner: what is written, in which words, and what a window draws on."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight.miner.redact import redact
from hindsight.miner.turns import Turns
from hindsight.miner.wording import clip
from hindsight.types import Memory, ToolCall, Turn


def stream(*said: tuple[str, str], session: str = "s") -> list[Turn]:
    return [Turn(place, session, role, role, text) for place, (role, text) in enumerate(said)]


def mine(turns: list[Turn]) -> list[Memory]:
    return Turns().mine(turns, "u", "d")


def test_text_window_and_born() -> None:
    turns = stream(("user", "one"), ("assistant", "two"), ("user", "three"))
    first, second, third = mine(turns)
    assert (first.text, first.window, first.born) == ("User: one", "User: one\nAssistant: two", 1)
    assert (second.window, second.born) == ("User: one\nAssistant: two\nUser: three", 2)
    assert (third.window, third.born) == ("Assistant: two\nUser: three", 2)
    assert [memory.sources for memory in (first, second, third)] == [(0,), (1,), (2,)]


def test_a_window_stays_in_its_session() -> None:
    turns = [Turn(0, "a", "Ann", "user", "one"), Turn(1, "b", "Ann", "user", "two")]
    assert [(m.window, m.born) for m in mine(turns)] == [("Ann: one", 0), ("Ann: two", 1)]


def test_system_and_empty_turns_are_no_memories_and_no_neighbours() -> None:
    turns = stream(("system", "You book rooms."), ("user", "Book Maple."), ("assistant", "  "), ("user", "And Birch."))
    assert [(m.sources, m.window, m.born) for m in mine(turns)] == [
        ((1,), "User: Book Maple.\nUser: And Birch.", 3),
        ((3,), "User: Book Maple.\nUser: And Birch.", 3),
    ]


def test_a_turn_that_only_calls_is_worded() -> None:
    call = ToolCall("c1", "book_room", {"room": "Maple", "seats": 4}, '{"ok": false}', "failure")
    silent = Turn(0, "s", "assistant", "assistant", "", calls=(call,))
    assert mine([silent])[0].text == 'Assistant: [call book_room(room=Maple, seats=4) -> {"ok": false}]'
    assert mine([replace(silent, text="Done.")])[0].text == "Assistant: Done."


def test_long_neighbours_are_clipped() -> None:
    turns = stream(("user", "a " * 300), ("assistant", "b " * 300), ("user", "中" * 300))
    before, own, after = mine(turns)[1].window.split("\n")
    assert [len(before.split()), len(own.split())] == [45, 100]
    assert after == "User: " + "中" * 44
    assert len(mine(turns)[1].text.split()) == 301
    assert len(clip("x" * 5000, 10)) == 120


@pytest.mark.parametrize(
    "injected",
    [
        "<recalled_memories>\n- User was out with Kim\n</recalled_memories>",
        '<memory id="1" source="user">likes tea</memory>',
        "[memory 2024-01-02 user] likes tea\n",
        "- [memory #0a1b] likes tea\n",
        "[user background] likes tea [conversation]",
    ],
)
def test_injected_memories_are_never_mined(injected: str) -> None:
    assert mine(stream(("user", injected))) == []
    assert mine(stream(("user", injected + " sounds good")))[0].text == "User: sounds good"


def test_an_injection_that_is_never_closed_ends_with_the_turn() -> None:
    assert mine(stream(("user", "<relevant-memories> likes tea"))) == []


@pytest.mark.parametrize(
    "text",
    ["My memory is bad", "#include <memory>\nint main() {}", "The [memory leak] is here", "[memory leak] in line 3 of f"],
)
def test_talk_about_memory_is_kept(text: str) -> None:
    assert mine(stream(("user", text)))[0].text == f"User: {text}"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Use key sk-test-" + "a" * 40 + " please", "Use key [redacted api key] please"),
        ("AWS AKIAABCDEFGHIJKLMNOP please", "AWS [redacted aws key] please"),
        ("postgres://bob:hunter2@db/prod", "postgres://[redacted password]@db/prod"),
        ("card 4111 1111 1111 1111, thanks", "card [redacted card number], thanks"),
        ("There is no Firebase API key in the build at all.", None),
        ("My password policy is 12 characters. apiKey: process.env.API_KEY", None),
        ("order 4111 1111 1111 1112, call 408-247-8880", None),
        ("see https://example.org:8080/a@b", None),
    ],
)
def test_secrets(text: str, wanted: str | None) -> None:
    assert redact(text) == (wanted or text)


def test_a_redacted_memory_says_so() -> None:
    (memory,) = mine(stream(("user", "key AKIAABCDEFGHIJKLMNOP")))
    assert memory.tags == ("redacted",) and "AKIA" not in repr(memory)


def test_speakers_of_a_group_chat_are_kept() -> None:
    turns = [Turn(0, "s", "ana", "user", "I am allergic to walnuts."), Turn(1, "s", "bo", "user", "I'm not.")]
    assert [(m.speaker, m.text) for m in mine(turns)] == [
        ("ana", "ana: I am allergic to walnuts."),
        ("bo", "bo: I'm not."),
    ]


def test_ids_know_no_source() -> None:
    turns = stream(("user", "hello"))
    other = [replace(turns[0], session="t")]
    assert Turns().mine(turns, "u", "d")[0].memory_id == Turns().mine(other, "v", "e")[0].memory_id


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(["x", "", "y z"])), max_size=12), st.integers(0, 12))
def test_what_is_born_in_a_prefix_does_not_change(said: list[tuple[str, str]], cut: int) -> None:
    turns = [Turn(place, session, "user", "user", text) for place, (session, text) in enumerate(said)]
    past = {m.memory_id: m for m in mine(turns[:cut])}
    for memory in mine(turns):
        if memory.born < cut:
            assert past[memory.memory_id] == memory


def test_a_long_log_is_mined_whole() -> None:
    turns = [
        Turn(place, str(place // 20), "user", "user", f"I need {place} tickets to the show. " * 3) for place in range(20_000)
    ]
    assert [memory.sources for memory in mine(turns)] == [(place,) for place in range(20_000)]


def test_the_assistants_echo_of_an_injected_memory_is_left_out() -> None:
    injected = "<recalled_memories>\n- User was out with Kim on Friday\n</recalled_memories>"
    turns = stream(
        ("system", injected),
        ("assistant", "Since you were out with Kim on Friday, rest on Saturday."),
        ("user", "I was out with Kim."),
    )
    assert [memory.text for memory in mine(turns)] == ["Assistant: rest on Saturday.", "User: I was out with Kim."]
