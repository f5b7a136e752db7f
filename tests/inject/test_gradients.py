import copy

import pytest
import torch

from hindsight.inject import Injection, biased
from hindsight.types import ConfigError
from tests.inject.models import PAIRS, batch, logits, tiny

START = [[0.9, 0.2, 0.5]] * 2


def told(model, given):
    return logits(model, given).log_softmax(-1)[0, -1, 5]


@pytest.mark.parametrize("family, backend", PAIRS)
@pytest.mark.parametrize("formula", ["log", "linear", "share"])
def test_against_finite_differences(family, backend, formula):
    model, (given, spans) = tiny(family, backend), batch()
    injection = Injection(formula=formula, relative=False, queries="after")
    scores = torch.tensor(START, requires_grad=True)
    with biased(model, spans, scores, injection):
        told(model, given).backward()
    step, numeric = 5e-3, []
    with torch.no_grad():
        for memory in range(3):
            sides = []
            for sign in (1, -1):
                moved = torch.tensor(START)
                moved[0, memory] += sign * step
                with biased(model, spans, moved, injection):
                    sides.append(float(told(model, given)))
            numeric.append((sides[0] - sides[1]) / (2 * step))
    assert scores.grad[0].tolist() == pytest.approx(numeric, rel=0.03, abs=4e-3)
    assert scores.grad[0].abs().max() > 1e-3 and not scores.grad[1].any()


@pytest.fixture
def checkpointed():
    model = copy.deepcopy(tiny("llama"))
    model.gradient_checkpointing_enable({"use_reentrant": False})
    return model.train()


@pytest.mark.parametrize("path", ["mask", "head", "share"])
def test_gradient_checkpointing_changes_nothing(checkpointed, path):
    given, spans = batch()
    injection = Injection(formula="share") if path == "share" else Injection(path=path)
    found = []
    for model in (checkpointed, tiny("llama")):
        scores = [torch.tensor(row, requires_grad=True) for row in START]
        with biased(model, spans, scores, injection):
            value = told(model, given) + told(
                model, {name: each.clone() for name, each in given.items()}
            )  # two passes, one backward
            value.backward()
        found.append(scores[0].grad)
    assert torch.allclose(*found, atol=1e-6) and found[0].abs().max() > 1e-3


def test_backward_outside_of_the_context_is_refused_where_attention_is_computed_anew(checkpointed):
    given, spans = batch()
    scores = torch.tensor(START, requires_grad=True)
    with biased(checkpointed, spans, scores):
        value = told(checkpointed, given)
    with pytest.raises(Exception, match=r"outside of the bias|different metadata|different number of tensors"):
        value.backward()
    plain = torch.tensor(START, requires_grad=True)
    with biased(tiny("llama"), spans, plain):
        value = told(tiny("llama"), given)
    value.backward()  # nothing is computed anew here
    assert plain.grad.abs().max() > 1e-3


def test_reentrant_checkpointing_is_refused():
    model = copy.deepcopy(tiny("llama"))
    model.gradient_checkpointing_enable({"use_reentrant": True})
    with pytest.raises(ConfigError, match="reentrant"), biased(model, [[(0, 2)]], torch.tensor([[0.5]], requires_grad=True)):
        pass


def test_scores_with_grad_do_not_train_the_floor_away():
    scores = torch.tensor([[0.01, 0.9, 0.5]] * 2, requires_grad=True)
    model, (given, spans) = tiny("llama"), batch()
    with biased(model, spans, scores, Injection(relative=False)):
        told(model, given).backward()
    assert scores.grad[0, 0] == 0  # under the floor
