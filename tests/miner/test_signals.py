"""The cue table and how a user turn is read."""

import pytest

from hindsight.miner.signals import asks, cues_of, hear


@pytest.mark.parametrize(
    ("text", "feedback", "rest", "wants"),
    [
        ("Thanks a lot. I will also need a place to stay.", "Thanks a lot.", "I will also need a place to stay.", True),
        ("Thanks, I also need a cab.", "Thanks,", "I also need a cab.", True),
        ("Yes, thanks. What's their phone number?", "Yes, thanks.", "What's their phone number?", True),
        ("No, on the bedroom device.", "No,", "on the bedroom device.", False),
        ("Thank you, that is all I need.", "Thank you, that is all I need.", "", False),
        ("好的，谢谢你。", "好的，谢谢你。", "", False),
        ("好的，帮我找酒店。", "好的，", "帮我找酒店。", True),
        ("How are you?", "", "How are you?", False),
        ("Can you help me?", "", "Can you help me?", False),
        ("My laptop won't boot.", "", "My laptop won't boot.", True),
        ("", "", "", False),
    ],
)
def test_hear(text: str, feedback: str, rest: str, wants: bool) -> None:
    heard = hear(text)
    assert (heard.feedback, heard.rest, heard.request) == (feedback, rest, wants)


@pytest.mark.parametrize(
    ("text", "cue"),
    [
        ("that’ll be all for today", "done"),
        ("That works now", "solved"),
        ("no, I meant the other one", "correction"),
        ("it STILL doesn't work", "complaint"),
        ("Oh sure, wonderful", "sarcasm"),
        ("and now refactor it", "verb"),
        ("Your table at Sino has now been booked", "success"),
        ("还是报错", "complaint"),
    ],
)
def test_cues(text: str, cue: str) -> None:
    assert cue in cues_of(text)


def test_a_negation_or_the_end_of_a_clause_stops_a_gap() -> None:
    assert "success" not in cues_of("it has not been booked") | cues_of("We have it. Booked guests only")


def test_asks() -> None:
    assert asks("For what time?") and asks("Please confirm: two seats.") and asks("请问几位呢")
    assert not asks("Who knows? " + "It is booked for half past seven, for two. " * 2)
