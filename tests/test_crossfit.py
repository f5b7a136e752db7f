"""Fold by fold: who trains for whom, and what the futures of the controls are."""

import numpy as np
import pytest

from hindsight.audit.suite import FUTURES, audit_suite
from hindsight.crossfit import Recipe, Share, crossfit, gold, mined
from hindsight.encoder.cache import CacheConfig
from hindsight.encoder.hashing import HashingEncoder
from hindsight.evaluate import users_of
from hindsight.labeler.gated import Gated
from hindsight.labeler.values import Values
from hindsight.miner.turns import Turns
from hindsight.scorer.linear import Linear
from hindsight.suite.locomo import LoCoMo
from hindsight.suite.reuse import Reuse
from hindsight.train.learn import Encoding
from hindsight.train.loop import Fit
from hindsight.types import ConfigError, Count
from tests import people

RECIPE = Recipe(Turns(), Gated(least_pool=8), Linear(), Fit(epochs=1), Encoding(HashingEncoder(32), CacheConfig("")), jobs=1)


@pytest.fixture
def users(tmp_path):
    return users_of(list(LoCoMo(people.locomo(tmp_path / "l.json")).cases(Count())))


def state(head):
    return np.concatenate([value.numpy().ravel() for value in head.state_dict().values()])


def test_a_fold_is_a_run_of_users_that_share_heads(users):
    heads, sizes = crossfit(RECIPE, users, ["utility"], 2, [0, 3])
    assert [sorted(one["utility"]) for one in heads] == [[0, 3]] * 3 and sizes["utility"] > 30
    first, second, third = (state(one["utility"][0]) for one in heads)
    assert np.array_equal(first, second) and not np.array_equal(first, third)


def test_the_controls_are_other_heads_and_gold_is_the_suites(users):
    names = ["utility", "utility_hidden", "utility_shuffled", "utility_gold"]
    heads, sizes = crossfit(RECIPE, users, names, 3, [0])
    states = [state(heads[0][name][0]) for name in names]
    assert all(not np.array_equal(a, b) for i, a in enumerate(states) for b in states[i + 1 :])
    assert sizes["utility_gold"] == 12
    stream = mined(RECIPE.miner, users)[0]
    rows = gold(stream, users[0])
    sources = {memory.memory_id: memory.sources for memory in stream.memories}
    assert [sources[one.uses[0].memory_id] for one in rows] == [case.relevant for case in users[0]]


def test_a_share_trains_on_fewer_dialogues_and_fewer_questions(users):
    names = ["utility", "utility_gold"]
    whole, _ = crossfit(RECIPE, users, names, 3, [0])
    less, _ = crossfit(RECIPE, users, names, 3, [0], Share(dialogues=1, gold=2))
    same, _ = crossfit(RECIPE, users, names, 3, [0], Share(dialogues=2, gold=100))  # all that there is
    for name in names:
        assert not np.array_equal(state(whole[0][name][0]), state(less[0][name][0]))
        assert np.array_equal(state(whole[0]["utility_gold"][0]), state(same[0]["utility_gold"][0]))


def test_too_many_folds_and_unknown_systems_are_refused(users):
    with pytest.raises(ConfigError, match="wanted from 2 to the number of users, 3"):
        crossfit(RECIPE, users, ["utility"], 4, [0])
    with pytest.raises(ConfigError, match="'utility_x' cannot be cross-fitted"):
        crossfit(RECIPE, users, ["utility_x"], 3, [0])


@pytest.mark.parametrize(("suite", "labeler"), [(LoCoMo, Gated()), (Reuse, Values())])
def test_an_audit_finds_the_future_and_not_another_one(tmp_path, suite, labeler):
    path = people.locomo(tmp_path / "l.json") if suite is LoCoMo else people.bundled(tmp_path)
    asked = users_of(list(suite(path).cases(Count())))
    recipe = Recipe(Turns(), labeler, Linear(), Fit(), RECIPE.encoding, 1)
    found = audit_suite(asked, recipe)["futures"]
    assert list(found) == list(FUTURES)
    auc = {name: found[name]["by"]["all"]["auc"]["mean"] for name in FUTURES}
    assert auc["real"] > 0.9 and auc["shuffled"] < auc["real"] - 0.1
    # users of one question each have another user's future for a control, not their own
    alone = audit_suite([user[:1] for user in asked], recipe)["futures"]
    assert alone["shuffled"]["by"]["all"]["auc"]["mean"] < alone["real"]["by"]["all"]["auc"]["mean"]
