from dataclasses import replace
from io import StringIO

import pytest

from hindsight.audit.suite import FUTURES, audit_suite
from hindsight.crossfit import Recipe
from hindsight.encoder.cache import CacheConfig
from hindsight.encoder.hashing import HashingEncoder
from hindsight.evaluate import users_of
from hindsight.labeler.gated import Gated
from hindsight.labeler.values import Values
from hindsight.miner.turns import Turns
from hindsight.report.audit import show
from hindsight.scorer.linear import Linear
from hindsight.suite.bundled import Bundled
from hindsight.suite.reuse import Reuse
from hindsight.train.learn import Encoding
from hindsight.train.loop import Fit
from hindsight.types import Count
from tests import people

MEANS = ("auc", "ndcg@10", "gain_on_gold")


def recipe(labeler):
    return Recipe(Turns(), labeler, Linear(), Fit(), Encoding(HashingEncoder(32), CacheConfig("")), 1)


@pytest.fixture
def folder(tmp_path):
    return people.bundled(tmp_path)


def users(suite):
    return users_of(list(suite.cases(Count())))


def means(found, name):
    return [found["futures"][future]["by"]["all"][name]["mean"] for future in FUTURES]


def test_of_value_reuse_the_future_tells_what_was_used_and_the_controls_do_not(folder):
    found = audit_suite(users(Reuse(folder)), recipe(Values()))
    assert {one["n"] for one in found["futures"].values()} == {9}
    assert not any(one["skipped"] or one["notes"] for one in found["futures"].values())
    for name in MEANS:
        real, shuffled, hidden = means(found, name)
        assert real == 1 and max(shuffled, hidden) < 0.8, name
    assert means(found, "gain_on_gold")[2] == 0  # the newest candidate is never the one


def test_of_questions_the_future_is_the_answer(folder):
    answers = {asked: (answer,) for _, asked, answer in people.FACTS}
    own = [[replace(case, answers=answers[case.query.text]) for case in user] for user in users(Bundled(folder))]
    found = audit_suite(own, recipe(Gated()))
    assert set(found["futures"]["real"]["by"]) == {"all", "single"}
    for name in MEANS:
        real, shuffled, hidden = means(found, name)
        assert real > max(shuffled, hidden), name


def test_hidden_knows_nothing_of_the_future_but_that_it_uses_something(folder):
    own = users(Reuse(folder))
    other = [[*cases[:-1], replace(cases[-1], future=cases[0].future)] for cases in own]  # which uses an older value
    one, two = (audit_suite(some, recipe(Values()))["futures"] for some in (own, other))
    assert one["hidden"] == two["hidden"]
    assert one["real"]["by"]["all"]["gain_on_gold"]["mean"] == 1
    assert two["real"]["by"]["all"]["gain_on_gold"]["mean"] == pytest.approx(6 / 9)


def test_a_query_that_shows_no_use_counts_as_one_without_gain(folder):
    """Else a labeler that says little would look good."""
    (first, *others), *rest = users(Reuse(folder))
    assert first.future is not None
    silent = replace(first, future=replace(first.future, calls=(), text="Well."))
    found = audit_suite([[silent, *others], *rest], recipe(Values()))["futures"]["real"]
    assert found["n"] == 9
    assert found["by"]["all"]["gain_on_gold"]["mean"] == pytest.approx(8 / 9)


def test_the_same_again_and_in_any_order_of_users(folder):
    own = users(Reuse(folder))
    found = audit_suite(own, recipe(Values()))
    assert audit_suite(own, recipe(Values())) == found
    turned = audit_suite(own[::-1], recipe(Values()))
    for future in FUTURES:
        for name in MEANS:
            one, two = (some["futures"][future]["by"]["all"][name]["mean"] for some in (found, turned))
            assert one == pytest.approx(two)


def test_it_can_be_shown(folder):
    report = audit_suite(users(Reuse(folder)), recipe(Values()))
    report |= {"suite": "reuse", "skipped": {"nothing to find": 3}, "data_sha256": "0123456789abcdef0000"}
    show(report, out := StringIO())
    text = out.getvalue()
    assert text.startswith("audit on reuse; left out: nothing to find 3; data sha256 0123456789abcdef\n")
    for future in FUTURES:  # a line each, whole, to be pasted or searched
        assert f"| {future:<8} | call, earlier session | 9 " in text
    report |= {"skipped": {}, "futures": {}}
    show(report, out := StringIO())
    assert "left out: none" in out.getvalue()
