from dataclasses import replace

import numpy as np
import pytest

from hindsight.encoder.hashing import HashingEncoder
from hindsight.features.postings import Column, Postings
from hindsight.features.timeline import Timeline
from hindsight.miner.turns import Turns
from hindsight.types import ToolCall, Turn
from tests.system.stream import turns

ENCODER = HashingEncoder(16)


def past_of(*said: tuple[str, str], calls: dict[int, ToolCall] | None = None) -> Timeline:
    """(role, text) a turn, all in one session."""
    stream = [
        Turn(i, "s", role, role, text, calls=((calls[i],) if calls and i in calls else ()))  # type: ignore[arg-type]
        for i, (role, text) in enumerate(said)
    ]
    past = Timeline(ENCODER)
    past.observe(stream, Turns().mine(stream, "u", ""))
    return past


def test_postings():
    postings = Postings()
    for bag in ({"a": 2, "b": 1}, {}, {"a": 1}):
        postings.add(bag)
    rows, counts = postings.get("a")
    assert rows.tolist() == [0, 2] and counts.tolist() == [2, 1]
    assert postings.get("zebra")[0].tolist() == [] and postings.frequency("zebra") == 0
    assert postings.idf("a") == pytest.approx(np.log(1 + 1.5 / 2.5))
    assert np.allclose(postings.idf_mass(np.arange(3)), [postings.idf("a") + postings.idf("b"), 0, postings.idf("a")])
    postings.add({"b": 1})
    assert np.allclose(postings.idf_mass(np.array([3]))[0], postings.idf("b")) and postings.get("b")[0].tolist() == [0, 3]


def test_a_column_grows():
    column = Column(2)
    for i in range(200):
        column.append(np.array([i, -i], np.float32))
    assert column.view.shape == (200, 2) and column.view[199].tolist() == [199, -199]


def test_memories_must_come_in_order():
    stream = turns(10)
    memories = Turns().mine(stream, "u", "")
    past = Timeline(ENCODER)
    past.observe(stream[5:], memories[5:])
    with pytest.raises(ValueError, match="before one that is already known"):
        past.observe(stream[:5], memories[:5])


def test_growing_is_observing_at_once():
    stream = turns(60)
    memories = Turns().mine(stream, "u", "")
    whole, grown = Timeline(ENCODER), Timeline(ENCODER)
    whole.observe(stream, memories)
    for turn, memory in zip(stream, memories):
        grown.observe([turn], [memory])
    for name in (
        "length",
        "pooled",
        "dot_next",
        "dot_second",
        "accepted",
        "mentioned",
        "called",
        "superseded",
        "place",
        "tokens",
    ):
        assert np.array_equal(getattr(whole, name).view, getattr(grown, name).view), name
    tokens = ENCODER.encode(["red piano in Lisbon"])[0].tokens
    for rows in (np.array([0, 3, 4, 59]), np.arange(60), np.arange(5, 9)):
        assert np.array_equal(whole.best_matches(rows, tokens), grown.best_matches(rows, tokens))
        assert np.allclose(whole.best_matches(np.arange(60), tokens)[rows], whole.best_matches(rows, tokens), atol=1e-6)


def test_accepted_and_refused_by_the_next_turn_of_the_other():
    past = past_of(
        ("user", "Find me a hotel"), ("assistant", "How about the Ritz?"), ("user", "No, another one."),
        ("assistant", "The Hilton?"), ("user", "Yes, perfect."),
    )  # fmt: skip
    assert past.accepted.view.tolist() == [0, 0, 0, 1, 0]
    assert past.refused.view.tolist() == [0, 1, 0, 0, 0]


def test_mentions_count_later_turns_that_share_an_entity():
    past = past_of(("user", "I met Anton."), ("user", "hello"), ("assistant", "Who is Anton?"), ("user", "My friend Anton"))
    assert past.mentioned.view.tolist() == [2, 0, 1, 0]
    assert past.mentioned_by_assistant.view.tolist() == [1, 0, 0, 0]
    assert past.mentioned_last.view.tolist() == [3, 1, 3, 3]


def test_calls_credit_the_rows_that_hold_a_value():
    call = ToolCall("c", "book", {"city": "Lisbon", "day": "2019-03-08"})
    past = past_of(("user", "To Lisbon on March 8"), ("user", "or Porto"), ("assistant", "Booked."), calls={2: call})
    assert past.called.view.tolist() == [2, 0, 0] and past.call_time.view.tolist() == [2]
    assert past.holders(("lisbon",)) == [0] and past.holders(("8",)) == [0] and past.holders(("nothing",)) == []


def test_sessions_and_places():
    stream = [replace(t, session=s) for t, s in zip(turns(6), "aabbba")]
    past = Timeline(ENCODER)
    past.observe(stream, Turns().mine(stream, "u", ""))
    assert past.session.view.tolist() == [0, 0, 1, 1, 1, 0] and past.session_now == "a"
    assert past.place.view.tolist() == [0, 1, 0, 1, 2, 0]


def told(*said: str) -> Timeline:
    """The last lines are said after much else by both."""
    small_talk = [
        ("user" if i % 2 else "assistant", f"chat {word} about {word} things") for i, word in enumerate("abcdefghijkl")
    ]
    return past_of(*(("user", text) for text in said[:-1]), *small_talk, ("user", said[-1]))


@pytest.mark.parametrize(
    "said",
    [
        ("My server listens on 4201 because of the firewall", "The server listens on 18080 now instead of 4201"),
        ("机器是小米13，重启过了", "小米13坏了，我换成联想小新15了"),
        ("We commute by the Altrincham tram", "No longer the Altrincham tram, we moved to Wythenshawe"),
    ],
)
def test_a_later_value_of_the_same_thing_supersedes_the_earlier_one(said):
    past = told("I like green tea", *said)
    assert past.superseded.view[1] > 0.2
    assert past.superseded.view[0] == 0 and past.superseded.view[-1] == 0  # another thing, and the newest itself


@pytest.mark.parametrize(
    "said",
    [
        ("Book the Ritz in Lisbon for my aunt", "Never mind the Ritz in Lisbon, forget about it"),
        ("帮我订周五去苏州的高铁", "周五去苏州的高铁不用了，取消吧"),
    ],
)
def test_a_later_turn_takes_back_what_was_said(said):
    past = told("I like green tea", *said)
    assert past.retracted.view[1] > 0.2 and past.retracted.view[0] == 0


def test_evidence_grows_and_other_people_supersede_nothing():
    once = told("My server listens on 4201 because of the firewall", "The server listens on 18080 now instead of 4201")
    twice = told(
        "My server listens on 4201 because of the firewall",
        "The server listens on 18080 now, no longer 4201",
        "My server has moved, it no longer listens on 4201",
    )
    assert 0 < once.superseded.view[0] < twice.superseded.view[0] <= 1
    other = past_of(("user", "My server listens on 4201"), ("assistant", "The server listens on 18080 now instead of 4201"))
    assert not other.superseded.view.any()
    again = told("My server listens on 4201 because of the firewall", "As I said, the server listens on 4201")
    assert not again.superseded.view.any() and not again.retracted.view.any()  # no word of change
