"""The same merges, and what could contradict never does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight.encoder.hashing import HashingEncoder
from hindsight.memory.duplicates import merges
from hindsight.memory.engine import Engine
from hindsight.memory.store import open_store
from hindsight.system.bionic import Bionic
from hindsight.types import Query, Turn

SAME = [
    ("I live in Oslo.", "Well, I live in Oslo"),
    ("My gate code is 8841", "my gate code is 8841!"),
    ("We keep two parrots in the kitchen.", "Oh, and we keep two parrots in the kitchen."),
    ("我住在奥斯陆", "嗯，我住在奥斯陆啊"),
]
OTHER = [
    ("I live in Oslo.", "I live in Bergen."),
    ("My gate code is 8841", "My gate code is 8842"),
    ("My gate code is 8841", "My old gate code was 8841"),
    ("I like tea", "I don't like tea"),
    ("I like tea in the morning", "I used to like tea in the morning"),
    ("We keep two parrots in the kitchen.", "We keep three parrots in the kitchen."),
    ("Maybe I will take the train to Rome", "I will take the train to Rome"),
    ("My sister works in the bakery", "My brother works in the bakery"),
    ("The dentist is on Monday", "The dentist is on Tuesday"),
    ("I drink coffee without sugar", "I drink coffee with sugar"),
    ("我住在奥斯陆", "我不住在奥斯陆"),
    ("我养了两只猫", "我养了三只猫"),
    ("Thanks", ""),
]


@pytest.mark.parametrize(("a", "b"), SAME)
def test_the_same_merges(a, b):
    assert merges(a, b) and merges(b, a)


@pytest.mark.parametrize(("a", "b"), OTHER)
def test_a_contradiction_and_another_thing_never_merge(a, b):
    assert not merges(a, b) and not merges(b, a)


@given(st.text(max_size=40), st.text(max_size=40))
def test_it_is_the_same_from_both_sides(a, b):
    assert merges(a, b) == merges(b, a)


@given(st.integers(0, 9999), st.integers(0, 9999))
def test_two_numbers_never_merge(one, other):
    assert merges(f"The code of the blue door is {one}", f"The code of the blue door is {other}") == (one == other)


def said(texts):
    return [Turn(n, "s", ("user", "assistant")[n % 2], ("user", "assistant")[n % 2], text) for n, text in enumerate(texts)]


TEXTS = [
    "We keep parrots in the kitchen.",
    "Noted.",
    "The rent is 900.",
    "Fine.",
    "Oh, and we keep parrots in the kitchen.",
    "Yes.",
]


def test_the_newer_one_stays_with_the_sources_of_both():
    with open_store(":memory:") as store:
        engine = Engine(store.user("ann"), Bionic("ann"), HashingEncoder(16), merge=True)
        engine.record(said([*TEXTS, "The rent is 950.", "Fine."]))
        done = engine.consolidate()
        texts = {one.memory_id: one.memory.text for one in engine.view.records}
        assert {texts[old]: texts[new] for old, new in done.superseded.items() if "parrots" in texts[old]} == {
            "User: We keep parrots in the kitchen.": "User: Oh, and we keep parrots in the kitchen."
        }
        active = [one.memory for one in engine.view.of(engine.view.rows())]
        assert [one.sources for one in active if "parrots" in one.text] == [(0, 4)]
        assert sum("rent" in one.text for one in active if one.kind == "turn") == 2
        hits = engine.recall(Query("q", "ann", "", "Where do we keep parrots?", engine.next_position), 8)
        assert sum("parrots" in texts[hit.memory_id] for hit in hits) == 1
        assert not engine.consolidate().superseded  # nothing is left to merge


def test_without_merge_all_stays():
    with open_store(":memory:") as store:
        engine = Engine(store.user("ann"), Bionic("ann"), HashingEncoder(16))
        engine.record(said(TEXTS))
        assert not engine.consolidate().superseded
