import copy

import pytest
import torch

from hindsight.inject import Injection, biased, tune_bias
from hindsight.inject.prompt import Prompt
from hindsight.inject.tune import Example, likelihoods
from hindsight.types import ConfigError, DataError
from tests.inject.models import tiny


def examples(count, seed, bias):
    """The later turn is what the model says under a bias of that strength and floor: tuning is to find it again."""
    draw = torch.Generator().manual_seed(seed)
    found = []
    for number in range(count):
        ids = torch.randint(2, 97, (26 + number % 3,), generator=draw)
        scores = [1.0, *torch.rand(2, generator=draw).tolist()]
        prompt = Prompt(tuple(ids.tolist()), ((2, 8), (9, 14), (15, 21)), (0, 1, 2))
        with torch.no_grad(), biased(tiny("llama"), [prompt.spans], [scores], bias):
            whole = tiny("llama").generate(ids[None], max_new_tokens=4 + number % 2, do_sample=False, pad_token_id=0)
        found.append(Example(prompt, tuple(scores), tuple(whole[0, len(ids) :].tolist())))
    return found


def test_it_finds_the_strength_that_made_the_later_turns():
    true = Injection(strength=2.0, floor=0.2)
    model = copy.deepcopy(tiny("llama")).requires_grad_(True)
    model.zero_grad()
    tuned = tune_bias(model, examples(8, 0, true), examples(4, 1, true), passes=8, rate=0.3, start=Injection(strength=0.3))
    assert tuned.after < tuned.before and tuned.strength > 0.5
    assert tuned.curve[0][:2] == (0.3, 0.05) and len(tuned.curve) == 9
    assert tuned.after == min(nats for _, _, nats in tuned.curve)
    assert all(weight.requires_grad and weight.grad is None for weight in model.parameters())


def test_what_is_already_best_stays():
    true = Injection(strength=1.0)
    given = examples(2, 3, true)
    other = [Example(one.prompt, one.scores[::-1], one.later) for one in examples(2, 4, Injection(strength=4.0))]
    tuned = tune_bias(tiny("llama"), other, given, passes=1, rate=1e-6)
    assert tuned.after <= tuned.before and tuned.strength == pytest.approx(1.0, abs=1e-3)


def test_likelihoods_are_those_of_one_prompt_at_a_time():
    some = examples(3, 5, Injection())
    with torch.no_grad():
        together = likelihoods(tiny("llama"), some)
        for one, total in zip(some, together):
            ids = torch.tensor([[*one.prompt.ids, *one.later]])
            with biased(tiny("llama"), [one.prompt.spans], [one.scores]):
                shares = tiny("llama")(ids).logits[0].log_softmax(-1)
            first = len(one.prompt.ids)
            alone = sum(float(shares[first + n - 1, token]) for n, token in enumerate(one.later))
            assert float(total) == pytest.approx(alone, abs=1e-4)


def test_bad_input():
    some = examples(1, 0, Injection())
    for wrong in (Injection(formula="linear"), Injection(strength=0.0), Injection(floor=1.0)):
        with pytest.raises(ConfigError):
            tune_bias(tiny("llama"), some, some, start=wrong)
    for few in ([], [Example(some[0].prompt, some[0].scores, ())]):
        with pytest.raises(DataError):
            tune_bias(tiny("llama"), few, some)
