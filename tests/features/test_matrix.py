import json
from dataclasses import replace

import numpy as np
import pytest

from hindsight.encoder.hashing import HashingEncoder
from hindsight.features import matrix
from hindsight.features.moment import Moment, match_together
from hindsight.features.replay import moment, pool, replay
from hindsight.features.timeline import Timeline
from hindsight.miner.turns import Turns
from hindsight.types import ConfigError
from tests.features import golden
from tests.system.stream import query, turns

ENCODER = HashingEncoder(32)
ALL = golden.COLUMNS
ASK = query("When did User see the red museum in Lisbon?", 60)
ACT = query(golden.ACT, 60, context=(57, 58, 59), goal="train ticket to Porto\na piano lesson on Monday")


def past_of(stream, encoder=ENCODER) -> Timeline:
    past = Timeline(encoder)
    past.observe(stream, Turns().mine(stream, "u", ""))
    return past


def at(stream, asked, columns=ALL):
    memories = Turns().mine(stream, "u", "")
    _, past = next(iter(replay(stream, memories, ENCODER, [asked.asked_at])))
    return matrix.compute(moment(past, asked), columns)


def test_values_are_those_of_the_measured_results():
    wanted = json.loads(golden.PATH.read_text())
    names = tuple(wanted["columns"])
    for case, (found, values) in enumerate(zip(golden.features(names), wanted["cases"], strict=True)):
        for name, column, right in zip(names, found.T, values, strict=True):
            assert np.allclose(column, right, atol=2e-5), (case, name)


@pytest.mark.parametrize("asked", [ASK, ACT])
def test_a_column_is_the_same_alone_and_among_others(asked):
    past = past_of(turns(60))
    whole = matrix.compute(moment(past, asked), ALL)
    for place, name in enumerate(ALL):
        alone = matrix.compute(moment(past, asked), (name,))
        assert np.array_equal(alone[:, 0], whole[:, place]), name
    assert np.array_equal(matrix.compute(moment(past, asked), ALL[::-1]), whole[:, ::-1])


@pytest.mark.parametrize("asked", [ASK, ACT])
def test_asking_one_moment_twice_gives_the_same(asked):
    known = moment(past_of(turns(60)), asked)
    first = matrix.compute(known, ("bm25", "speaker"))
    whole = matrix.compute(known, ALL)
    assert np.array_equal(first, whole[:, [ALL.index("bm25"), ALL.index("speaker")]])
    assert np.array_equal(whole, matrix.compute(known, ALL))


def test_matched_together_is_matched_alone():
    past = past_of(turns(60))
    asked = [moment(past, ASK), moment(past, ACT), moment(past, query("zebra", 30)), moment(past, query("?", 60), (5, 6))]
    match_together([*asked, moment(past, query("tea", 0))])
    for one in asked:
        alone = Moment(past, one.query, one.rows, one.hidden)
        assert np.allclose(one.query_matches, alone.query_matches, atol=1e-6)
    match_together([])


@pytest.mark.parametrize("asked", [replace(ASK, asked_at=40), replace(ACT, asked_at=40, context=(37, 38, 39))])
def test_turns_at_or_after_asked_at_change_nothing(asked):
    stream = turns(60)
    poison = [replace(t, text="red museum Lisbon POISON 8:30 pm?", session="x", speaker="Eve", role="user") for t in stream]
    clean = at(stream, asked)
    assert np.array_equal(clean, at([*stream[:40], *poison[40:]], asked))
    assert not np.array_equal(clean, at([*stream[:30], poison[30], *stream[31:]], asked))  # the poison would be seen


def test_ids_never_reach_a_feature():
    """Other session names, other speakers' names of the same kind, other memory ids."""
    stream = turns(60)
    renamed = [replace(t, session=f"renamed {t.session[::-1]}") for t in stream]
    assert np.array_equal(at(stream, ASK), at(renamed, ASK))


def test_a_row_depends_on_its_own_candidates_only_by_standardising():
    """Raw columns of a subset are those of the whole: padding with other candidates changes none."""
    raw = ("cosine_raw", "cosine_window_raw", "coverage", "coverage_window", "shared_names", "age_log", "news", "speaker")
    past = past_of(turns(60))
    rows = np.array([1, 2, 3, 17, 18, 30, 55], np.int64)
    whole = matrix.compute(Moment(past, ASK, pool(past, ASK)), raw)
    some = matrix.compute(Moment(past, ASK, rows), raw)
    assert np.allclose(some, whole[rows], atol=1e-6)


@pytest.mark.parametrize("hidden", [frozenset(), frozenset({0, 5})])
@pytest.mark.parametrize("rows", [[], [0], [59], [0, 59]])
def test_few_candidates(rows, hidden):
    found = matrix.compute(Moment(past_of(turns(60)), ACT, np.array(rows, np.int64), hidden), ALL)
    assert found.shape == (len(set(rows) - hidden), len(ALL)) and np.isfinite(found).all()


def test_a_timeline_without_rows():
    found = matrix.compute(Moment(Timeline(ENCODER), ACT, np.zeros(0, np.int64)), ALL)
    assert found.shape == (0, len(ALL))


def test_every_column_has_a_group_and_sets_are_checked():
    assert set(matrix.GROUP_OF.values()) == set(matrix.GROUPS)
    for name in matrix.SETS:
        matrix.check(matrix.columns_of(name))
    with pytest.raises(ConfigError, match="features='asks'"):
        matrix.columns_of("asks")
    with pytest.raises(ConfigError) as raised:
        matrix.check(("bm25", "a", "b"))
    assert len(raised.value.problems) == 2


def test_a_set_without_some_columns_and_groups():
    whole = matrix.columns_of("travel")
    assert matrix.columns_of("travel", ("speaker", "need")) == tuple(
        name for name in whole if name != "speaker@last" and matrix.GROUP_OF[name] != "need"
    )
    assert not {"called", "accepted"} & set(matrix.columns_of("act", ("outcome feedback",)))
    with pytest.raises(ConfigError) as raised:
        matrix.columns_of("act", ("outcome", "called", "hair"))
    assert len(raised.value.problems) == 2 and "outcome feedback" in raised.value.problems[0]
    with pytest.raises(ConfigError, match="nothing is left"):
        matrix.columns_of("act", matrix.GROUPS)
