"""Need tells the moment, not the memory, and never the template of the query."""

import numpy as np
import pytest

from hindsight.encoder.hashing import HashingEncoder
from hindsight.features import matrix, need
from hindsight.features.moment import utterance
from hindsight.features.replay import moment, replay
from hindsight.labeler.moments import moments
from hindsight.logs.native import NativeReader
from hindsight.logs.stream import by_user
from hindsight.miner.turns import Turns
from hindsight.suite.gold import FOLDER
from hindsight.types import Count, Query


@pytest.fixture(scope="module")
def asked():
    """(past moments of a transcript, the same moment by its last line alone)."""
    _, own = next(iter(by_user(NativeReader().read(FOLDER / "train.jsonl", Count()))))
    turns = tuple(t for d in own for t in d.turns)
    memories = [m for d in own for m in Turns().mine(d.turns, d.user_id, d.dialogue_id)]
    queries = [query for _, query in moments(turns, own[0].user_id, 3) if query.asked_at > 20]
    found = []
    for place, past in replay(turns, memories, HashingEncoder(), [query.asked_at for query in queries]):
        whole = queries[place]
        plain = Query(
            whole.query_id, whole.user_id, "", utterance(whole.text), whole.asked_at, time=whole.time, context=whole.context
        )
        found.append((moment(past, whole), moment(past, plain), matrix.compute(moment(past, whole), need.NAMES)))
    return found, queries, turns, memories


def test_all_candidates_of_a_query_read_the_same(asked):
    for _, _, columns in asked[0]:
        assert (columns == columns[0]).all()


def test_the_template_does_not_show(asked):
    """A transcript and its last utterance alone give the same columns, for the switch and for *ask*."""
    _, queries, turns, memories = asked
    for place, past in replay(turns, memories, HashingEncoder(), [query.asked_at for query in queries]):
        whole = queries[place]
        plain = Query(
            whole.query_id, whole.user_id, "", utterance(whole.text), whole.asked_at, time=whole.time, context=whole.context
        )
        names = (*need.NAMES, *(n for n in matrix.TRAVEL if n.endswith(matrix.LAST)))
        one, other = matrix.compute(moment(past, whole), names), matrix.compute(moment(past, plain), names)
        np.testing.assert_allclose(one, other, atol=1e-5)


def test_a_question_and_a_tool_just_used_show(asked):
    _, queries, turns, memories = asked
    seen = {name: [] for name in ("says_has_question", "tool_used")}
    for place, past in replay(turns, memories, HashingEncoder(), [query.asked_at for query in queries]):
        row = matrix.compute(moment(past, queries[place]), need.NAMES)[0]
        for name, values in seen.items():
            values.append((row[need.NAMES.index(name)], queries[place]))
    for value, query in seen["says_has_question"]:
        assert value == float("?" in utterance(query.text))
    assert len({value for value, _ in seen["tool_used"]}) > 1
