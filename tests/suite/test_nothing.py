"""Questions that nothing in the past answers: there, apart from the others, and silent in the table."""

import numpy as np

from hindsight.evaluate import users_of, with_nothing
from hindsight.judging import KEPT, abstention_of
from hindsight.suite.bundled import Bundled
from hindsight.suite.reuse import NOTHING, Reuse
from hindsight.types import Count


def test_they_join_their_users_questions_in_stream_order():
    suite = Bundled()
    users, nothing = users_of(list(suite.cases(Count()))), suite.unanswerable()
    assert nothing and all(not case.relevant for case in nothing)
    joined = with_nothing(users, nothing)
    assert sum(map(len, joined)) == sum(map(len, users)) + len(nothing)
    for cases in joined:
        assert len({case.query.user_id for case in cases}) == 1
        assert [c.query.asked_at for c in cases] == sorted(c.query.asked_at for c in cases)


def test_a_task_has_moments_without_need(tmp_path):
    found = Reuse().unanswerable()
    assert all(not case.relevant for case in found)
    assert max((sum(one.query.user_id == case.query.user_id for one in found) for case in found), default=0) <= NOTHING


def test_the_threshold_keeps_most_answers_and_says_what_it_silences():
    chances = [(np.array([0.1, level]), np.array([0.0, 1.0])) for level in np.linspace(0.5, 0.9, 11)]
    told = abstention_of({"utility": chances}, {"utility": [0.2, 0.3, 0.95]})["utility"]
    assert told["n"] == 11 and told["nothing"] == 3
    assert np.mean([c.max() >= told["threshold"] for c, _ in chances]) >= KEPT
    assert told["silent"] == 2 / 3
    assert told["auc"] == 2 / 3
    assert abstention_of({"utility": chances}, {}) == {}
