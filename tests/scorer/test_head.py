from functools import cache

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight.features import matrix
from hindsight.scorer.head import BIAS, INTERACTION, logits, probability
from hindsight.scorer.linear import Linear
from hindsight.scorer.mlp import Mlp
from hindsight.types import ConfigError

KINDS = (Linear("act"), Mlp("act"), Mlp("ask", interaction=0), Linear("narrow"))


@cache
def opinionated(config, seed=0):
    """A head with weights everywhere, as if trained."""
    head = config.build()
    draw = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in head.parameters():
            weight.copy_(torch.randn(weight.shape, generator=draw))
    wide = len(head.columns)
    head.standardise(np.linspace(-1, 1, wide, dtype=np.float32), np.linspace(0, 3, wide, dtype=np.float32))
    head.calibrate(0.7, -2.0)
    return head.eval()


def drawn(head, rows, seed=0):
    return np.random.default_rng(seed).standard_normal((rows, len(head.columns))).astype(np.float32)


@pytest.mark.parametrize("config", KINDS, ids=str)
@given(st.integers(0, 30), st.integers(0, 99))
@settings(max_examples=15, deadline=None)
def test_contributions_sum_to_the_logit_bit_for_bit(config, rows, seed):
    head = opinionated(config)
    found = head.contributions(drawn(head, rows, seed))
    assert list(found) == [*head.groups, BIAS]
    total = np.zeros(rows)
    for part in found.values():
        total = total + part.astype(np.float64)
    assert total.tobytes() == logits(found).tobytes()


@pytest.mark.parametrize("config", KINDS, ids=str)
def test_the_logit_is_what_training_ranked_by(config):
    head = opinionated(config)
    features = drawn(head, 40)
    with torch.inference_mode():
        ranked = head(head.standard(torch.from_numpy(features))).sum(-1).numpy()
    np.testing.assert_allclose(logits(head.contributions(features)), ranked - 2.0, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("config", KINDS, ids=str)
@given(st.permutations(range(12)), st.integers(1, 11))
@settings(max_examples=15, deadline=None)
def test_order_and_company_of_the_memories_do_not_matter(config, order, some):
    head = opinionated(config)
    features = drawn(head, 12)
    whole, mixed = head.contributions(features), head.contributions(features[list(order)])
    few = head.contributions(features[list(order)[:some]])
    for group, values in whole.items():
        np.testing.assert_allclose(mixed[group], values[list(order)], rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(few[group], values[list(order)[:some]], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("config", KINDS, ids=str)
def test_a_group_reads_its_own_columns_alone(config):
    head = opinionated(config)
    features = drawn(head, 5)
    before = head.contributions(features)
    poisoned = features.copy()
    poisoned[:, [matrix.GROUP_OF[c] == "context" for c in head.columns]] += 9
    after = head.contributions(poisoned)
    for group in head.groups:
        assert (before[group] == after[group]).all() == (group not in ("context", INTERACTION))


def test_the_memory_at_every_mean_gets_the_bias_alone():
    head = opinionated(Mlp())
    found = head.contributions(head.mean.numpy()[None])
    assert all(found[group] == 0 for group in head.groups)
    assert logits(found) == -2.0


def test_an_untrained_linear_head_has_no_opinion_and_a_seed_gives_one_mlp():
    assert not Linear().build().contributions(drawn(Linear().build(), 3))["text relevance"].any()
    one, two, other = Mlp().build(), Mlp().build(), Mlp().build()
    other.reset(1)
    states = [torch.cat([w.flatten() for w in head.parameters()]) for head in (one, two, other)]
    assert states[0].equal(states[1])
    assert not states[0].equal(states[2])


def test_the_interaction_is_optional():
    assert INTERACTION in Mlp(interaction=4).build().groups
    assert INTERACTION not in Mlp().build().groups


@pytest.mark.parametrize(
    "make", [Linear("all").build, Mlp(hidden=0).build, lambda: Linear().over(["bm25", "length_of_hair"])]
)
def test_wrong_settings_say_what_is_known(make):
    with pytest.raises(ConfigError, match=r"known|wanted"):
        make()


def test_probability_is_finite_at_any_logit():
    found = probability(np.array([-1e9, 0.0, 1e9]))
    assert found[1] == 0.5
    assert 0 < found[0] < 1e-20
    assert found[2] <= 1
