"""The episode miner: which goals are written, with which words, which outcome and which sources."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight.miner.episodes import Episodes
from hindsight.types import Memory, ToolCall, Turn


def stream(*said: tuple[str, str], session: str = "s") -> list[Turn]:
    return [Turn(place, session, role, role, text, "2024-03-01T10:00:00") for place, (role, text) in enumerate(said)]


def mine(turns: list[Turn]) -> list[Memory]:
    return Episodes().mine(turns, "u", "d")


def test_goal_action_feedback_and_sources() -> None:
    (episode,) = mine(
        stream(
            ("user", "Hello!"),
            ("user", "Please book a table for two at Sino."),
            ("assistant", "For what time?"),
            ("user", "Half past seven."),
            ("assistant", "Your table at Sino has been booked."),
            ("user", "Thanks a lot!"),
            ("assistant", "You're welcome."),
        )
    )
    assert episode.goal == "Please book a table for two at Sino. / Half past seven."
    assert episode.action == "Your table at Sino has been booked."
    assert (episode.feedback, episode.outcome) == ("Thanks a lot!", "success")
    assert (episode.sources, episode.born) == ((1, 3, 4, 5), 5)
    assert episode.text == f"Goal: {episode.goal} Action: {episode.action} Feedback: {episode.feedback}"
    assert {"Sino", "table", "2024-03-01"} <= set(episode.tags)


@pytest.mark.parametrize(
    "said",
    [
        [("user", "Hi, how are you?"), ("assistant", "I'm fine, and you?"), ("user", "Great, thanks.")],
        [("user", "I hate cilantro in my food.")],
        [("user", "If I were vegan, what could I eat? Oh sure, I just LOVE waiting on hold.")],
        [("user", "你好吗"), ("assistant", "很好，谢谢！")],
    ],
)
def test_small_talk_and_unanswered_words_are_not_written(said: list[tuple[str, str]]) -> None:
    assert mine(stream(*said)) == []


def test_a_new_request_closes_the_goal_and_its_thanks_belong_to_the_old_one() -> None:
    old, new = mine(
        stream(
            ("user", "I want to buy two bus tickets to Fresno."),
            ("assistant", "Your tickets have been purchased."),
            ("user", "Thanks. I also need to find a hotel there."),
            ("assistant", "I found the Doubletree."),
        )
    )
    assert (old.feedback, old.outcome, old.sources) == ("Thanks.", "success", (0, 1, 2))
    assert (new.goal, new.outcome, new.sources) == ("I also need to find a hotel there.", "unknown", (2, 3))


def test_the_session_ends_the_goal() -> None:
    turns = stream(("user", "Find me a dentist in San Jose, please."), ("assistant", "There is Amazing Smile Dental."))
    later = [Turn(2, "t", "user", "user", "Thanks for that!"), Turn(3, "t", "assistant", "assistant", "Any time.")]
    (episode,) = mine(turns + later)
    assert (episode.outcome, episode.feedback, episode.sources) == ("unknown", "", (0, 1))


def build_turns(second: str, praise: str) -> list[Turn]:
    def call(name: str, command: str, result: str) -> tuple[ToolCall, ...]:
        return (ToolCall(name, "sh", {"c": command}, result),)

    return [
        Turn(0, "s", "user", "user", "Make the build pass"),
        Turn(1, "s", "assistant", "assistant", "", calls=call("1", "make", "error: missing header foo.h")),
        Turn(2, "s", "tool", "tool", "error: missing header foo.h"),
        Turn(3, "s", "assistant", "assistant", "", calls=call("2", "apt install libfoo-dev && make", second)),
        Turn(4, "s", "tool", "tool", second),
        Turn(5, "s", "user", "user", praise),
    ]


def test_a_failure_and_its_fix_are_one_goal() -> None:
    (episode,) = mine(build_turns("0 errors, build ok", "Perfect, that fixed it."))
    assert episode.action == (
        "sh(c=make) -> error: missing header foo.h (failure) / "
        "sh(c=apt install libfoo-dev && make) -> 0 errors, build ok (success)"
    )
    assert (episode.feedback, episode.outcome) == ("Perfect, that fixed it.", "success")
    assert episode.sources == (0, 1, 2, 3, 4, 5) and "recovered" in episode.tags


def test_a_failed_tool_fails_the_episode() -> None:
    (episode,) = mine(build_turns("error: still missing", "Hmm."))
    assert episode.outcome == "failure"


def test_thanks_do_not_undo_a_failure() -> None:
    (episode,) = mine(build_turns("fatal: no network", "Ok, thanks for trying."))
    assert (episode.outcome, episode.feedback) == ("failure", "Ok, thanks for trying.")


def test_a_later_success_of_the_same_goal_undoes_a_failure() -> None:
    (episode,) = mine(
        stream(
            ("user", "Reserve two bus seats to Fresno at noon."),
            ("assistant", "Sorry, I was unable to book the noon bus. There is one at 12:30."),
            ("user", "That sounds good!"),
            ("assistant", "Your seats have been booked."),
            ("user", "Thanks."),
        )
    )
    assert (episode.outcome, episode.feedback) == ("success", "That sounds good! / Thanks.")
    assert "recovered" in episode.tags


def test_a_correction_is_kept_as_feedback() -> None:
    (episode,) = mine(
        stream(
            ("user", "Play Bottoms Up."),
            ("assistant", "I have started the song on the TV."),
            ("user", "No, not that one, play it on the kitchen speaker."),
            ("assistant", "Which volume?"),
        )
    )
    assert episode.feedback == "No, not that one, play it on the kitchen speaker."
    assert episode.outcome == "unknown"


@pytest.mark.parametrize(
    ("reaction", "wanted"),
    [
        ("It still doesn't work.", "failure"),
        ("That works now, thanks!", "success"),
        ("Oh great, thanks for nothing.", "unknown"),
        ("Fine.", "success"),
    ],
)
def test_what_the_user_says_of_the_outcome(reaction: str, wanted: str) -> None:
    (episode,) = mine(
        stream(
            ("user", "My printer prints blank pages, can you help me?"),
            ("assistant", "Clean the print head in the settings."),
            ("user", reaction),
        )
    )
    assert (episode.outcome, episode.feedback) == (wanted, reaction)


def test_an_answer_to_a_question_does_not_close() -> None:
    (episode,) = mine(
        stream(
            ("user", "Reserve a table at Sino for two."),
            ("assistant", "Please confirm: a table for two at Sino, at 7 pm."),
            ("user", "Yes, perfect."),
            ("assistant", "Sorry, I could not book the table."),
            ("user", "Okay, bye."),
        )
    )
    assert (episode.outcome, episode.action) == ("failure", "Sorry, I could not book the table.")


def test_a_taken_offer_is_a_goal() -> None:
    _, visit = mine(
        stream(
            ("user", "I need to find an apartment."),
            ("assistant", "I found Beth Eden."),
            ("user", "That's all, thanks."),
            ("assistant", "Would you like to schedule a visit?"),
            ("user", "Yes, please."),
            ("assistant", "Your visit is scheduled."),
        )
    )
    assert (visit.goal, visit.outcome) == ("Would you like to schedule a visit? / Yes, please.", "success")
    assert visit.sources == (3, 4, 5)


def test_chinese() -> None:
    scenic, food = mine(
        stream(
            ("user", "你好，请帮我找一个评分4.5分以上的景点。"),
            ("assistant", "推荐您去老爷车博物馆。"),
            ("user", "老爷车博物馆电话是多少？"),
            ("assistant", "电话是010-61677039。"),
            ("user", "另外我想吃蜗牛，给我找一个人均500元的餐馆。"),
            ("assistant", "已为您预订北京亮。"),
            ("user", "好的，谢谢你。"),
            ("assistant", "不客气。"),
        )
    )
    assert scenic.goal == "请帮我找一个评分4.5分以上的景点。 / 老爷车博物馆电话是多少？"
    assert (food.outcome, food.feedback, food.sources) == ("success", "好的，谢谢你。", (4, 5, 6))


def test_an_injected_memory_and_its_echo_are_not_mined() -> None:
    memory = "<recalled_memories>\n- User was out with Kim on Friday\n</recalled_memories>"
    turns = stream(
        ("system", memory),
        ("user", "Plan my weekend"),
        ("assistant", "Since you were out with Kim on Friday, rest on Saturday."),
        ("user", f"{memory} sounds good"),
    )
    (episode,) = mine(turns)
    assert (episode.action, episode.feedback) == ("rest on Saturday.", "sounds good")
    assert "Kim" not in repr(episode)


def test_what_the_assistant_claims_is_no_tag_and_no_goal() -> None:
    (episode,) = mine(
        stream(
            ("user", "Any hiking boots you would suggest?"),
            ("assistant", "As a keen marathon runner living in Oslo, you may like the TrailMax 3."),
            ("user", "thanks"),
        )
    )
    assert "Oslo" not in episode.tags and "Oslo" not in episode.goal


def test_speakers_of_a_group_chat_are_kept_apart() -> None:
    said = [
        ("ana", "Can you find a bus to Kyoto?"),
        ("", "The bus leaves at nine."),
        ("bo", "Thanks, super!"),
        ("bo", "Book me a hotel."),
        ("", "It is booked."),
    ]
    turns = [Turn(p, "s", who or "bot", "user" if who else "assistant", text) for p, (who, text) in enumerate(said)]
    ana, bo = mine(turns)
    assert (ana.speaker, ana.feedback, ana.sources) == ("ana", "", (0, 1))
    assert (bo.speaker, bo.outcome, bo.sources) == ("bo", "success", (3, 4))


def test_secrets_are_redacted_and_marked() -> None:
    (episode,) = mine(
        stream(("user", "Please use key AKIAABCDEFGHIJKLMNOP"), ("assistant", "Done with AKIAABCDEFGHIJKLMNOP."))
    )
    assert "AKIA" not in repr(episode) and "redacted" in episode.tags


LINES = st.sampled_from(
    [
        ("user", "I want to book a hotel in Paris."),
        ("user", "Thanks. Can you also find me a bus to Lyon?"),
        ("user", "No, that's wrong."),
        ("user", "Thanks, that's all."),
        ("user", "What time does it open?"),
        ("user", "Yes please."),
        ("assistant", "Your hotel has been booked."),
        ("assistant", "Would you like me to order a cab?"),
        ("assistant", "Sorry, I could not do that."),
        ("tool", '{"ok": true}'),
        ("user", "<memory>likes tea</memory>"),
    ]
)


def random_stream(said: list[tuple[tuple[str, str], bool]]) -> list[Turn]:
    session, turns = 0, list[Turn]()
    for place, ((role, text), new) in enumerate(said):
        session += new
        turns.append(Turn(place, str(session), role, role, text))  # pyright: ignore[reportArgumentType]
    return turns


@given(st.lists(st.tuples(LINES, st.booleans()), max_size=20), st.integers(0, 20))
def test_the_future_changes_no_closed_episode(said: list[tuple[tuple[str, str], bool]], cut: int) -> None:
    """Of a prefix, all episodes but the one that is still open come back unchanged, whatever follows."""
    turns = random_stream(said)
    whole, past = mine(turns), mine(turns[:cut])
    assert set(past[:-1]) <= set(whole)
    assert {episode for episode in whole if episode.born < cut} <= set(past)


@given(st.lists(st.tuples(LINES, st.booleans()), max_size=20))
def test_fields_draw_on_their_sources_alone(said: list[tuple[tuple[str, str], bool]]) -> None:
    turns = random_stream(said)
    for episode in mine(turns):
        assert episode.born == episode.sources[-1]
        spoken = " ".join(turns[place].text for place in episode.sources)
        for field in (episode.goal, episode.action, episode.feedback):
            for part in filter(None, field.split(" / ")):
                assert part.removeprefix("-> ") in spoken


def test_ids_know_no_source() -> None:
    turns = stream(("user", "Please find a cab."), ("assistant", "It is booked."))
    other = [replace(turn, session="t") for turn in turns]
    assert Episodes().mine(turns, "u", "d")[0].memory_id == Episodes().mine(other, "v", "e")[0].memory_id


def test_a_verdict_after_the_goal_closed_settles_it_and_the_result_of_a_later_call_does_not():
    """Benchmarks judge a whole trial when it is over: logs/tau_bench."""

    def outcome(*more):
        told = [
            ("user", "Book flight HAT1 for me, please."),
            ("assistant", "Your flight is booked."),
            ("user", "Thanks, bye!"),
            *more,
        ]
        turns = [
            Turn(n, "s", role, role, text, None, (ToolCall("c", "note", {}),) if text == "" else ())
            for n, (role, text) in enumerate(told)
        ]
        (one,) = Episodes().mine(turns, "u", "d")
        return one.outcome

    bad = ("tool", '{"success": false}')
    assert outcome() == outcome(("tool", '{"success": true}')) == "success"
    assert outcome(bad) == "failure"
    assert outcome(("assistant", ""), bad) == "success"
