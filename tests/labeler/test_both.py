"""Queries of both regimes from one log, in both templates, and moments at which nothing is needed."""

from dataclasses import replace

import pytest

from hindsight.encoder.hashing import HashingEncoder
from hindsight.features.moment import utterance
from hindsight.features.replay import moment, replay
from hindsight.labeler.both import ALONE, NOTHING, Both
from hindsight.logs.native import NativeReader
from hindsight.logs.stream import by_user
from hindsight.miner.turns import Turns
from hindsight.suite.gold import FOLDER
from hindsight.types import Count


@pytest.fixture(scope="module")
def stream():
    """The first of the bundled people."""
    _, own = next(iter(by_user(NativeReader().read(FOLDER / "train.jsonl", Count()))))
    turns = tuple(t for d in own for t in d.turns)
    return turns, [m for d in own for m in Turns().mine(d.turns, d.user_id, d.dialogue_id)]


@pytest.fixture(scope="module")
def labelled(stream):
    return Both(most=50).label(*stream, HashingEncoder())


def test_every_kind_is_there_and_ids_are_apart(labelled):
    kinds = {one.kind for one in labelled}
    assert {"HQ", "HP", "PQ", "call", "call alone", *NOTHING} <= kinds
    assert "HQ in place" not in kinds  # there is an assistant: values has these moments
    assert len({one.query.query_id for one in labelled}) == len(labelled)
    assert all(use.query_id == one.query.query_id for one in labelled for use in one.uses)


def test_a_moment_alone_uses_what_it_uses_in_place(labelled):
    whole = {one.query.asked_at: one for one in labelled if one.kind in ("call", "reply")}
    alone = [one for one in labelled if one.kind in ALONE]
    assert alone
    for one in alone:
        twin = whole[one.query.asked_at]
        assert one.query.text == utterance(twin.query.text)
        assert [(u.memory_id, u.gain) for u in one.uses] == [(u.memory_id, u.gain) for u in twin.uses]


def test_what_has_no_use_says_so_and_its_answer_is_out_of_sight(stream, labelled):
    turns, memories = stream
    nothing = [one for one in labelled if one.kind in NOTHING]
    assert all(not one.uses for one in nothing)
    asked = [one for one in nothing if one.kind == NOTHING[0]]
    answers = {one.query.text: one.uses[0].memory_id for one in labelled if one.kind == "PQ"}
    for place, past in replay(turns, memories, HashingEncoder(), [one.query.asked_at for one in asked]):
        known = moment(past, asked[place].query, asked[place].hidden)
        seen = {past.memories[row].memory_id for row in known.rows}
        assert answers[asked[place].query.text] not in seen


def test_between_people_a_question_also_stands_in_its_place(stream):
    turns, memories = stream
    people = [replace(turn, role="user", calls=()) for turn in turns]
    found = Both(most=50).label(people, [replace(m, role="user") for m in memories], HashingEncoder())
    placed = [one for one in found if one.kind == "HQ in place"]
    assert placed
    alone = {one.query.asked_at: one for one in found if one.kind == "HQ"}
    for one in placed:
        assert one.query.text.count("\n") == len(one.query.context) - 1
        assert [u.memory_id for u in one.uses] == [u.memory_id for u in alone[one.query.asked_at].uses]


def test_most_bounds_each_kind(stream):
    found = Both(most=2).label(*stream, HashingEncoder())
    assert sum(one.kind == "PQ" for one in found) == 2
    assert sum(one.kind == "call" for one in found) <= 8


def test_both_regimes_weigh_the_same_in_total(labelled):
    weight = dict.fromkeys(("ask", "act"), 0.0)
    for one in Both().balance(labelled):
        if one.kind in ("HQ", "HP", "PQ", "RQ"):
            weight["ask"] += one.weight
        elif one.kind in ("call", "reply"):
            weight["act"] += one.weight
    assert weight["ask"] == pytest.approx(weight["act"])
