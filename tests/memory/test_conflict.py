import string

from hypothesis import given
from hypothesis import strategies as st

from hindsight.memory.conflict import Decision, decide, in_order, last
from hindsight.types import Hit
from tests.memory.records import record


def fact(value, place=0, kind="fact", about="user/home"):
    return record("ann", f"{about}: {value}", place, kind=kind, layer="semantic", about=about, value=value)


def test_facts_replace_preferences_coexist_guesses_are_marked():
    oslo, rome = fact("oslo"), fact("rome", 5)
    assert decide(rome, [oslo]) == Decision("replace", (oslo.memory_id,))
    assert decide(rome, []) == Decision("add")
    assert decide(rome, [fact("oslo", about="sister/home")]) == Decision("add")
    assert decide(fact("oslo", 9), [oslo]) == Decision("drop", (oslo.memory_id,))
    guess = fact("rome", 5, "guess")
    assert decide(guess, [oslo]) == Decision("add")
    assert decide(fact("rome", 9), [guess]) == Decision("replace", (guess.memory_id,))  # the fact is surer
    assert decide(fact("bonn", 9), [guess]).what == "replace"
    tea, jazz = fact("tea", 0, "preference", "user/likes"), fact("jazz", 4, "preference", "user/likes")
    assert decide(jazz, [tea]) == Decision("add")


def test_a_vague_change_weakens_and_a_second_one_replaces():
    oslo, rome = fact("oslo"), fact("rome", 5)
    assert decide(rome, [oslo], "vague") == Decision("weaken", (oslo.memory_id,))
    assert decide(rome, [oslo], "vague", again=True) == Decision("replace", (oslo.memory_id,))


names = st.sampled_from(string.ascii_lowercase[:8])


@given(st.lists(names, unique=True), st.dictionaries(names, names))
def test_no_old_value_stands_before_what_came_after_it(order, links):
    chains = {old: new for old, new in links.items() if old < new}  # no circles
    found = [hit.memory_id for hit in in_order([Hit("q", one, 0.0) for one in order], chains)]
    assert sorted(found) == sorted(order)
    place = {one: n for n, one in enumerate(found)}
    for old in chains:
        new = old
        while new in chains:
            new = chains[new]
            if old in place and new in place:
                assert place[new] < place[old]


@given(st.lists(names, unique=True), st.dictionaries(names, names))
def test_links_in_a_circle_hang_nothing(order, links):
    found = in_order([Hit("q", one, 0.0) for one in order], links)
    assert sorted(hit.memory_id for hit in found) == sorted(order)
    assert all(isinstance(last(one, links), str) for one in order)


def test_what_has_no_links_keeps_its_order():
    hits = [Hit("q", one, 0.0) for one in "dbca"]
    assert in_order(hits, {}) == hits
