from hypothesis import given
from hypothesis import strategies as st

from hindsight.logs.stream import by_user
from hindsight.types import Dialogue, Turn


def dialogue(name, user, *times):
    turns = tuple(Turn(i, name, "user", "user", f"{name}{i}", time) for i, time in enumerate(times))
    return Dialogue(name, user, turns)


def order(dialogues):
    return {user: [one.dialogue_id for one in own] for user, own in by_user(dialogues)}


def test_users_apart_and_positions_through_the_stream():
    log = [dialogue("a", "u", None, None), dialogue("b", "v", None), dialogue("c", "u", None)]
    streams = dict(by_user(log))
    assert list(streams) == ["u", "v"]
    assert [turn.position for one in streams["u"] for turn in one.turns] == [0, 1, 2]
    assert [turn.text for one in streams["u"] for turn in one.turns] == ["a0", "a1", "c0"]
    assert [turn.position for turn in streams["v"][0].turns] == [0]


def test_order_is_time_then_place_and_the_undated_follow_the_one_before():
    log = [
        dialogue("first", "u", None),
        dialogue("late", "u", "2026-03-01T00:00:00"),
        dialogue("after late", "u", None),
        dialogue("early", "u", "2026-01-01T00:00:00"),
        dialogue("same as early", "u", "2026-01-01T00:00:00+00:00"),
    ]
    assert order(log) == {"u": ["first", "early", "same as early", "late", "after late"]}


def test_zones_are_instants_and_the_first_known_time_counts():
    log = [
        dialogue("five utc", "u", "2026-01-01T05:00:00+00:00"),
        dialogue("four utc", "u", None, "2026-01-01T05:00:00+01:00"),
        dialogue("bare day", "u", "2026-01-01"),
    ]
    assert order(log) == {"u": ["bare day", "four utc", "five utc"]}


@given(st.lists(st.tuples(st.sampled_from("uvw"), st.integers(1, 3), st.sampled_from([None, "2026-01-02", "2026-01-01"]))))
def test_nothing_is_lost_and_positions_have_no_gap(shape):
    log = [dialogue(str(i), user, *[time] * size) for i, (user, size, time) in enumerate(shape)]
    seen = [one.dialogue_id for _, own in by_user(log) for one in own]
    assert sorted(seen) == sorted(one.dialogue_id for one in log)
    for user, own in by_user(log):
        assert all(one.user_id == user for one in own)
        positions = [turn.position for one in own for turn in one.turns]
        assert positions == list(range(len(positions)))
