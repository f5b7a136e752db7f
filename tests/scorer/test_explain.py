import numpy as np
import pytest

from hindsight.scorer.explain import explain
from hindsight.scorer.head import logits
from hindsight.scorer.linear import Linear
from hindsight.scorer.mlp import Mlp
from tests.scorer.test_head import drawn, opinionated


def test_linear_shares_are_weight_times_value_and_sum_to_the_group():
    head = opinionated(Linear("act"))
    features = drawn(head, 6)
    for row, reasons in enumerate(explain(head, features, top=99)):
        assert {one.group for one in reasons} == set(head.groups)
        for reason in reasons:
            assert reason.exact
            assert reason.contribution == pytest.approx(sum(one.share for one in reason.shares), abs=1e-4)
            group = head.groups.index(reason.group)
            for one in reason.shares:
                place = head.columns.index(one.feature)
                weight = head.parts[group].straight.weight[0, head.places[group].index(place)].item()
                assert one.value == pytest.approx(features[row, place])
                assert one.share == pytest.approx(weight * one.deviations * 0.7, rel=1e-5)


def test_groups_and_features_come_strongest_first_and_sum_to_the_logit():
    head = opinionated(Mlp())
    features = drawn(head, 4)
    wanted = logits(head.contributions(features))
    for row, reasons in enumerate(explain(head, features)):
        assert sum(one.contribution for one in reasons) - 2.0 == pytest.approx(wanted[row], abs=1e-4)
        sizes = [abs(one.contribution) for one in reasons]
        assert sizes == sorted(sizes, reverse=True)
        for reason in reasons:
            assert not reason.exact
            assert len(reason.shares) == min(3, len(head.places[head.groups.index(reason.group)]))
            shares = [abs(one.share) for one in reason.shares]
            assert shares == sorted(shares, reverse=True)


def test_an_mlp_share_is_what_goes_with_the_feature_at_its_mean():
    head = opinionated(Mlp())
    features = drawn(head, 1)
    (reasons,) = explain(head, features, top=99)
    reason = next(one for one in reasons if one.group == "goal match")
    place = head.columns.index(reason.shares[0].feature)
    without = features.copy()
    without[0, place] = head.mean[place]
    lost = reason.contribution - float(head.contributions(without)["goal match"][0])
    assert reason.shares[0].share == pytest.approx(lost, abs=1e-4)
    assert "about " in str(reason)


def test_no_memories_no_reasons():
    head = opinionated(Linear())
    assert explain(head, np.zeros((0, len(head.columns)), np.float32)) == []
