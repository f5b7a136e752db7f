from collections import defaultdict

import pytest

from hindsight.encoder.hashing import HashingEncoder
from hindsight.features.replay import moment, replay
from hindsight.labeler.values import Values
from hindsight.miner.turns import Turns
from hindsight.types import ToolCall, Turn

ENCODER, PLAIN = HashingEncoder(32), Values(least_pool=1)
IDLE = ("Fine.", "Good.", "Right.")  # fills the context


def stream(*said, sessions=()):
    """Texts in turn, or (text, arguments), or (text, tool, arguments). ``sessions``: positions where another one begins."""
    turns = []
    for place, one in enumerate(said):
        text, *call = one if isinstance(one, tuple) else (one,)
        calls = (ToolCall(f"c{place}", call[0] if len(call) > 1 else "book", call[-1]),) if call else ()
        role = "assistant" if calls else ("user", "assistant")[place % 2]
        turns.append(Turn(place, str(sum(at <= place for at in sessions)), role, role, text, None, calls))
    return turns


def label(turns, labeler=PLAIN):
    memories = Turns().mine(turns, "u", "")
    names = {m.memory_id: m.sources[0] for m in memories}
    found = labeler.label(turns, memories, ENCODER)
    return {one.query.asked_at: (one.kind, {names[use.memory_id]: use.gain for use in one.uses}) for one in found}, found


def credited(*said, sessions=(), labeler=PLAIN):
    """What the last turn is found to have used."""
    return label(stream(*said, sessions=sessions), labeler)[0].get(len(said) - 1)


def test_the_first_carrier_in_the_newest_session_that_holds_the_value():
    said = [
        "At Granary Wharf.",
        "Yes.",
        "No.",
        "Oh.",
        "Granary Wharf, as I said.",
        "Ok.",
        "Granary Wharf!",
        "Hm.",
        "Well.",
        *IDLE,
    ]
    call = ("Done.", {"at": "granary WHARF"})
    assert credited(*said, call, sessions=(3, 8)) == ("call", {4: 1.0})
    assert credited(*said, call) == ("call", {0: 1.0})  # all one session
    assert credited(*said, call, sessions=(3, 6, 8)) == ("call", {6: 1.0})
    assert credited(*said, ("Done.", {"at": "Granary Quay"})) is None


@pytest.mark.parametrize("seen", ["To Hotel Lindenhof.", "To HOTEL\n  Lindenhof.", "Ｔｏ　Ｈｏｔｅｌ　Ｌｉｎｄｅｎｈｏｆ."])
def test_a_value_in_the_context_is_no_use(seen):
    said = ["Hotel Lindenhof is nice.", "Yes.", "No."]
    call = ("Done.", {"hotel": "Hotel Lindenhof"})
    assert credited(*said, *IDLE, call) == ("call", {0: 1.0})
    for place in range(3):
        assert credited(*said, *IDLE[:place], seen, *IDLE[place + 1 :], call) is None
    assert credited(*said, seen, *IDLE, call) == ("call", {0: 1.0})
    assert credited(*said, seen, *IDLE[1:], call, labeler=Values(context=2, least_pool=1)) == ("call", {0: 1.0})


def test_a_value_of_a_call_in_the_context_is_no_use():
    """A turn that only calls reads as its call."""
    said = ["Leeds it is.", "Yes.", "No.", *IDLE]
    assert credited(*said, ("Done.", {"city": "Leeds"})) == ("call", {0: 1.0})
    assert credited(*said, ("", "search", {"city": "Leeds"}), "It is open.", ("Done.", {"city": "Leeds"})) is None


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("2019-03-08", "Leave on March 8 please."),
        ("2019-03-08", "On the 8th, please."),
        ("2019-03-08", "我们在3月8日出发"),
        ("2019-03-08", "3月8号走"),
        ("17:30", "At 5:30 pm sharp."),
        ("17:30", "At 5:30PM sharp."),
        ("17:00", "Five, I mean 5 pm."),
        ("17:00", "下午5点出发"),
        ("09:00", "9 am."),
        ("茶", "我喜欢喝茶和水"),
        (120, "It costs 120 euro."),
    ],
)
def test_values_are_found_as_people_say_them(value, said):
    assert credited("Hello.", said, "Ok.", *IDLE, ("Done.", {"value": value})) == ("call", {1: 1.0})
    assert credited("Hello.", "Nothing of the kind.", "Ok.", *IDLE, ("Done.", {"value": value})) is None


def test_nested_arguments_and_several_values_add_up():
    said = ["From Leeds to Porto.", "Ok.", "By train, 120 euro.", *IDLE]
    arguments = {"trip": {"ends": ["Leeds", {"last": "Porto"}]}, "fare": 120, "seats": 2, "again": "leeds"}
    assert credited(*said, ("Done.", arguments)) == ("call", {0: 1.0, 2: 0.5})
    _, (one,) = label(stream(*said, ("Done.", arguments)))
    assert [use.evidence for use in one.uses] == ["leeds, porto", "120"]


def test_weak_values_show_nothing():
    said = ["Yes, 2 seats, true or false, none, 12.", "Ok.", "None.", *IDLE]
    for value in (2, "12", True, False, None, "None", "dontcare", "", [], {}):
        assert credited(*said, ("Done.", {"value": value})) is None


def test_names_and_numbers_of_a_reply_that_calls_nothing():
    said = ["See Marek in Leeds.", "Ok.", "The van is KX683.", "Ok.", *IDLE]
    assert credited(*said, "You said Marek has it, number 77.") == ("reply", {0: 1.0})
    assert credited(*said, ("You said Marek has it.", {"seats": 2})) is None  # the tool may have told it
    assert credited(*said, ("You said Marek has it.", {"van": "KX683"})) == ("call", {2: 1.0})
    assert credited(*said, "you said nothing new.") is None
    for seen in ("Ask Marek.", "ask marek.", "ask\nＭＡＲＥＫ."):  # in the context, however it is written
        assert credited(*said[:-1], seen, "You said Marek has it.") is None


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("17:30", "At half past five in the afternoon."),
        ("17:30", "evening 5:30 suits me"),
        ("16:45", "Quarter to 5 in the afternoon."),
        ("12:00", 'At 12 o"clock in the afternoon.'),
        ("17:30", "下午5点半出发"),
        ("2019-03-05", "Next Tuesday, please."),
        ("2019-03-08", "这周五出发"),
        ("2019-03-08", "On the 8th of March."),
        ("San Francisco", "In SF please."),
        ("New York", "Find me a game in NYC."),
        ("Las Vegas", "Off to Vegas!"),
        ("Landmark's Embarcadero Center Cinema", "The Embarcadero Center Cinema is near."),
    ],
)
def test_and_in_the_words_that_people_have_for_them(value, said):
    call = ("Done.", {"value": value})
    assert credited("Hello.", said, "Ok.", *IDLE, call) == ("call", {1: 1.0})
    assert credited("Hello.", said, "Ok.", *IDLE[1:], said, call) is None  # seen in the context, in other words


@pytest.mark.parametrize(
    ("value", "said"),
    [("2019-03-01", "On March 10th or the 21st."), ("07:30", "At 7:30 pm."), ("Leeds", "Leedsville."), (120, "It is 1120.")],
)
def test_what_only_looks_alike_is_no_carrier(value, said):
    assert credited("Hello.", said, "Ok.", *IDLE, ("Done.", {"value": value})) is None


def test_a_reply_names_places_and_days_in_several_words():
    said = ["A room on Tuesday, near Oxford Street.", "Ok.", "Apricot Pit Apartments has one.", "Market Hall too.", *IDLE]
    booked = (*said[:4], ("", {"day": "2019-03-20"}), *IDLE, "Hm.")
    assert credited(*said, "There are Willow Apartments at 2 Hall Street.") is None  # no name is the same
    assert credited(*said, "Visit Apricot Pit Apartments?") == ("reply", {2: 1.0})
    kind, uses = credited(*booked, "Right, Apricot Pit Apartments on March 5th.") or ("", {})
    assert (kind, set(uses)) == ("reply", {0, 2})  # the year is known by then, and the day of the week with it
    assert set((credited(*said, "Right, Apricot Pit Apartments on March 5th.") or ("", {}))[1]) == {2}


LINKS = ["Leeds on March 3rd.", "Ok.", "Ask Marek.", "Ok.", "Leeds.", "Ok.", "Hi there.", "About Marek.", *IDLE]


def test_credit_goes_to_the_session_that_shares_most_with_the_one_that_goes_on():
    call = ("Done.", {"city": "Leeds"})
    assert credited(*LINKS, call, sessions=(4, 6)) == ("call", {0: 1.0})  # Marek is spoken of
    assert credited(*LINKS[:7], "Of nobody.", *IDLE, call, sessions=(4, 6)) == ("call", {4: 1.0})  # the newest


def test_a_date_of_another_session_that_shares_nothing_else_is_a_coincidence():
    call = ("Done.", {"date": "2019-03-03"})
    assert credited(*LINKS, call, sessions=(4, 6)) == ("call", {0: 1.0})
    assert credited(*LINKS[:7], "Of nobody.", *IDLE, call, sessions=(4, 6)) is None
    assert credited(*LINKS[:7], "Of nobody.", *IDLE, call) == ("call", {0: 1.0})


def test_rarer_names_of_a_reply_count_for_more():
    said = ["See Leeds.", "Ok.", "Meet Marek.", "Meet Marek.", *IDLE]
    kind, uses = credited(*said, "On to Leeds with Marek.") or ("", {})
    assert (kind, set(uses), uses[0]) == ("reply", {0, 2}, 1.0) and 0 < uses[2] < 1


def test_first_turns_small_pools_and_the_users_turns_ask_nothing():
    said = ["Granary Wharf.", "Ok.", *IDLE, "Fine.", ("Done.", {"at": "Granary Wharf"})]
    assert credited(*said) == ("call", {0: 1.0})
    assert credited(*said, sessions=(6,)) is None
    assert credited(*said, labeler=Values(least_pool=4)) is None
    # the context keeps to its session, so more are candidates
    assert credited(*said, sessions=(5,), labeler=Values(least_pool=5)) == ("call", {0: 1.0})
    asked = stream(*said[:6], "By the way, is it KX683?", *IDLE, "Well.", "Is KX683 a van?", "And KX683?")
    assert [turn.role for turn in asked[-2:]] == ["assistant", "user"]
    assert set(label(asked)[0]) == {11}
    assert label([]) == ({}, [])


CALLS = [
    "Leeds, Porto, Turin and Basel.", "Ok.", "Marek and Petra.", "Ok.", "Oslo.", *IDLE,
    ("a.", "go", {"to": "Leeds"}), "b.", "c.", "d.",
    ("e.", "ask", {"whom": "Marek"}), "f.", "g.", "h.",
    ("i.", "go", {"to": "Oslo"}), "j.", "k.", "l.",
]  # fmt: skip


def test_hidden_credits_the_newest_where_the_turn_uses_something():
    real, hidden = (label(stream(*CALLS), Values(future=future, least_pool=1))[0] for future in ("real", "hidden"))
    assert real == {8: ("call", {0: 1.0}), 12: ("call", {2: 1.0}), 16: ("call", {4: 1.0})}
    assert hidden == {8: ("call", {4: 1.0}), 12: ("call", {8: 1.0}), 16: ("call", {12: 1.0})}  # just before the context


def test_shuffled_takes_another_turn_of_the_same_tools():
    for seed in range(8):
        shuffled = Values(future="shuffled", least_pool=1, seed=seed)
        found, _ = label(stream(*CALLS), shuffled)
        assert found[8] == ("call", {4: 1.0}) and found[16] == ("call", {0: 1.0})  # the two that go
        assert found.get(12) != ("call", {2: 1.0})  # the only one that asks takes any other
        assert label(stream(*CALLS), shuffled)[0] == found
    lone = stream("Leeds.", "Ok.", *IDLE, "so.", ("a.", {"to": "Leeds"}))
    assert label(lone, Values(future="shuffled", least_pool=1, context=1))[0] == {}  # another turn, which uses nothing
    lone = [turn for turn in lone if turn.role == "user" or turn.calls]
    assert label(lone, Values(future="shuffled", least_pool=1, context=1))[0] == {6: ("call", {0: 1.0})}  # there is no other


def test_calls_and_replies_weigh_the_same_in_total():
    said = ["See Marek in Leeds.", "Ok.", *IDLE, "So.", "Well."]
    found = [label(stream(*said, one))[1][0] for one in ["Ask Marek."] * 5 + [("", {"to": "Leeds"})] * 2]
    total = defaultdict(float)
    for one in PLAIN.balance(found):
        total[one.kind] += one.weight
    assert total["call"] == pytest.approx(total["reply"]) and sum(total.values()) == pytest.approx(7)
    assert [one.weight for one in PLAIN.balance(found[:3])] == [1.0] * 3
    assert PLAIN.balance([]) == []


def test_any_moment_and_its_future_can_be_taught():
    """Such as a suite's; only candidates are credited."""
    turns = stream("Leeds.", "Ok.", "Porto.", *IDLE)
    ((_, past),) = replay(turns, Turns().mine(turns, "u", ""), ENCODER, [6])
    (query,) = [one.query for one in label(stream("Leeds.", "Ok.", "Porto.", *IDLE, ("", {"to": "Leeds"})))[1]]
    known = moment(past, query)
    future = Turn(6, "", "assistant", "assistant", "", None, (ToolCall("c", "go", {"to": "Porto", "by": "Fine"}),))
    one = PLAIN.teach(known, turns[3:6], future)
    assert one is not None and [use.evidence for use in one.uses] == ["porto"]
    one = PLAIN.teach(known, (), future)  # "Fine." stands in the context, so it is no candidate, whatever `before` says
    assert one is not None and [use.evidence for use in one.uses] == ["porto"]
