from dataclasses import replace

import pytest

from hindsight.encoder.hashing import HashingEncoder
from hindsight.labeler.answered import Answered
from hindsight.miner.turns import Turns
from hindsight.types import Turn

ENCODER, PLAIN = HashingEncoder(32), Answered(least_pool=1, least=1.0)
TALK = ["Lovely weather in the valley.", "Indeed.", "The bus was late once more.", "A pity."]
SAID = [
    "My sister keeps two parrots in Lisbon.",
    "How lovely.",
    "Dr Mbeki looks after my teeth.",
    "Dr Mbeki, noted.",
    *TALK,
    "Whose office should I phone when a tooth hurts?",
    "Phone Dr Mbeki.",
    "Which animals live with my sister?",
    "Parrots, two of them, and they live in Lisbon.",
    "The kettle is broken.",
    "Parrots in Lisbon would not mind.",
]


def stream(texts=SAID):
    roles = ("user", "assistant")
    return [Turn(i, "s", roles[i % 2], roles[i % 2], text) for i, text in enumerate(texts)]


def label(turns, labeler=PLAIN):
    memories = Turns().mine(turns, "u", "")
    found = labeler.label(turns, memories, ENCODER)
    names = {m.memory_id: m.sources[0] for m in memories}
    return {one.query.asked_at: [names[use.memory_id] for use in one.uses] for one in found}, found


def test_the_reply_credits_the_first_turn_that_said_it_and_the_query_is_the_question_alone():
    """At 9 the turn at 2 said "Dr Mbeki", and the echo at 3 came after it. At 13 nobody asked."""
    found, rows = label(stream())
    assert found == {9: [2], 11: [0]}
    assert [one.query.text for one in rows] == [SAID[8], SAID[10]]
    assert {one.kind for one in rows} == {"HQ"} and all(one.weight == 1 for one in PLAIN.balance(rows))


def test_a_reply_may_be_made_of_two_memories():
    said = [
        *SAID[:4],
        *TALK,
        "Who sees to teeth, and where are the parrots?",
        "Dr Mbeki for the one; the other: birds in Lisbon.",
    ]
    assert label(stream(said))[0] == {9: [2, 0]}


def test_a_canned_reply_and_one_that_says_nothing_known_show_no_use():
    again = [
        *SAID[:10],
        *TALK[:2],
        "And for a broken tooth, whom?",
        "Phone Dr Mbeki.",
        "Who else?",
        "Nobody that comes to mind.",
    ]
    assert label(stream(again))[0] == {9: [2]}


def test_little_of_a_reply_is_no_evidence():
    said = [
        *SAID[:8],
        "What should I cook for the guests?",
        "Rice with saffron, peas and lemon, if the office of the valley is far.",
    ]
    assert label(stream([*said[:4], "Rice, saffron, peas", "ok", *said[6:]]))[0] == {9: [4]}
    assert label(stream(said), Answered(least_pool=1, least=9.0))[0] == {}


@pytest.mark.parametrize("future", ["real", "hidden"])
def test_later_turns_change_no_label(future):
    labeler = replace(PLAIN, future=future)
    whole, _ = label(stream(), labeler)
    poisoned, _ = label(stream([*SAID[:10], "Mbeki Lisbon parrots?", "tooth office Mbeki"]), labeler)
    assert whole.get(9) == poisoned.get(9) and (9 in whole or future == "hidden")


def test_the_controls_do_not_see_the_reply():
    changed = stream([*SAID[:9], "Your sister in Lisbon.", *SAID[10:]])
    assert label(stream())[0][9] != label(changed)[0][9]
    hidden = replace(PLAIN, future="hidden")
    assert label(stream(), hidden)[0].get(9) == label(changed, hidden)[0].get(9)
    shuffled = replace(PLAIN, future="shuffled", seed=1)
    assert label(stream(), shuffled) == label(stream(), shuffled)


def test_explain_and_asked_say_what_label_says():
    turns = stream()
    assert [at for at, _ in PLAIN.asked(turns, "u")] == [9, 11]
