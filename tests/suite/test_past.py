import pickle
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight.suite.past import Prefix, at_least_one, places_of, report, streams
from hindsight.types import Case, Count, DataError, Dialogue, Query, Turn, opaque


def turns(n, first=0):
    return tuple(Turn(i, "s", "user", "user", f"t{i}") for i in range(first, first + n))


@given(st.integers(0, 8), st.integers(0, 10), st.slices(8), st.integers(-9, 9))
def test_a_prefix_is_the_list_that_it_stands_for(size, length, cut, index):
    stream = list(turns(size))
    prefix, plain = Prefix(stream, length), stream[:length]
    assert prefix == plain and len(prefix) == len(plain) and list(reversed(prefix)) == plain[::-1]
    assert list(prefix[cut]) == plain[cut] and list(prefix[:3][1:]) == plain[:3][1:]
    if -len(plain) <= index < len(plain):
        assert prefix[index] is plain[index]
    else:
        with pytest.raises(IndexError):
            prefix[index]


def test_a_prefix_shows_nothing_of_the_future_and_copies_nothing():
    stream = list(turns(6))
    prefix = Prefix(stream, 3)
    assert prefix != stream and stream[4] not in prefix
    with pytest.raises(IndexError):
        prefix[3]
    assert len(prefix[:100]) == 3 and len(Prefix(prefix, 100)) == 3
    assert pickle.loads(pickle.dumps(prefix)) == prefix
    stream[1] = replace(stream[1], text="changed")
    assert prefix[1].text == "changed"  # the stream itself, not a copy


def test_of_an_id_that_stands_twice_the_first_turn_counts():
    count = Count()
    assert places_of(["a", "b", "a", "", ""], "file:0", count) == {"a": 0, "b": 1, "": 3}
    assert count.notes == {"turn id stands twice: the first turn counts": 1}
    assert count.places == {"turn id stands twice: the first turn counts": ["file:0: a"]}


def test_what_the_reader_left_out_is_told_without_counting_as_questions():
    reading, count = Count(), Count()
    for place in range(5):
        reading.skip("no turns", f"f:{place}")
    reading.note("mended", 2)
    report(reading, count)
    assert (count.seen, count.skipped) == (0, {})
    assert count.notes == {"dialogue left out with its questions: no turns": 5, "mended": 2}
    assert count.places == {"dialogue left out with its questions: no turns": ["f:0", "f:1", "f:2"]}


def test_no_case_is_an_error_with_the_reasons(tmp_path):
    count = Count()
    count.skip("no evidence", "f:0")
    with pytest.raises(DataError, match=r"no evidence \(f:0\).*wanted questions"):
        list(at_least_one(iter([]), tmp_path, count, "questions"))
    case = Case(Query("q", "u", "d", "?", 1), turns(1), (0,))
    assert list(at_least_one(iter([case]), tmp_path, count, "questions")) == [case]


def test_streams_find_turns_by_the_logs_own_ids():
    def one(name, n):
        return Dialogue(opaque("dialogue", "ana", name), opaque("user", "ana"), turns(n))

    (stream,) = streams([one("a", 2), one("b", 1), one("a", 2)])  # a conversation of two sittings
    assert [turn.position for turn in stream.turns] == [0, 1, 2, 3, 4]
    assert [stream.position("ana", "a", i, "") for i in range(4)] == [0, 1, 3, 4]
    assert stream.position("ana", "b", 0, "") == 2
    assert stream.position("", opaque("dialogue", "ana", "b"), 0, "") == 2
    assert stream.dialogue_at(2) == opaque("dialogue", "ana", "b")
    for dialogue, turn in (("a", 4), ("a", -1), ("c", 0)):
        with pytest.raises(DataError, match="gold:3"):
            stream.position("ana", dialogue, turn, "gold:3")
