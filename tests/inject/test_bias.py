import math

import pytest
import torch

from hindsight.inject import Injection
from hindsight.inject.bias import attention_bias, linear_bias, log_bias, logits_of, relative
from hindsight.types import AttentionBias, ConfigError, DataError


def test_formulas_by_hand():
    scores = torch.tensor([1.0, 0.5, 0.0])
    assert torch.allclose(log_bias(scores), torch.tensor([0.0, math.log(0.5), math.log(0.05)]))
    assert torch.allclose(log_bias(scores, 2.0, 0.1), 2 * torch.tensor([0.0, math.log(0.5), math.log(0.1)]))
    assert torch.allclose(linear_bias(scores, 0.3), torch.tensor([0.15, 0.0, -0.15]))
    assert torch.allclose(relative(torch.tensor([0.2, 0.1])), torch.tensor([1.0, 0.5]))
    assert torch.equal(relative(torch.zeros(2)), torch.zeros(2)) and relative(torch.zeros(0)).shape == (0,)


def test_small_calibrated_scores_are_taken_over_the_highest():
    scores = torch.tensor([0.04, 0.02])
    assert torch.allclose(logits_of(scores, Injection()), torch.tensor([0.0, math.log(0.5)]))
    assert torch.allclose(
        logits_of(scores, Injection(relative=False)), torch.full((2,), math.log(0.05))
    )  # the floor takes both


def test_strength_scales_logits_too():
    assert torch.allclose(logits_of(torch.tensor([-1.0, 3.0]), Injection(2.0, "logits")), torch.tensor([-2.0, 6.0]))
    assert logits_of(torch.tensor([-math.inf]), Injection(formula="logits")).item() == -math.inf
    for wrong in (math.inf, math.nan):
        with pytest.raises(DataError):
            logits_of(torch.tensor([wrong]), Injection(formula="logits"))


def test_as_plain_values():
    found = attention_bias([(4, 9), (1, 3)], [0.4, 0.2])
    assert found == AttentionBias(((4, 9), (1, 3)), (0.0, pytest.approx(math.log(0.5))))
    with pytest.raises(DataError, match="overlap"):
        attention_bias([(4, 9), (1, 5)], [0.4, 0.2])
    with pytest.raises(ConfigError, match="share"):
        attention_bias([(4, 9)], [0.4], Injection(formula="share"))
