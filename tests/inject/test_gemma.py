"""The real model, from its PyPI package: `make test-lm`."""

import pytest
import torch

from hindsight.inject import Injection, assemble, attention_mass, batched, biased
from hindsight.inject.tune import Example, likelihoods
from hindsight.lm import local
from hindsight.lm.local import LocalLm

pytestmark = [
    pytest.mark.lm,
    pytest.mark.skipif(
        not all(map(local.importlib.util.find_spec, (local.PACKAGE, "gguf"))),
        reason="needs `pip install hindsight-scorer[lm]`",
    ),
]
LINES = [
    "- [memory 1 | 2023-05-08] Ann: My dog is called Biscuit.",
    "- [memory 2 | 2023-05-09] Ann: My dog is called Pepper.",
]
CHAT = [{"role": "user", "content": "What is the name of Ann's dog?"}]


@pytest.fixture(scope="module")
def read():
    tokenizer, model = LocalLm(dtype="float32").build()._loaded
    tokenizer.chat_template = None  # this one was not taught to chat
    prompt = assemble(tokenizer, CHAT, LINES)
    named = tokenizer(" Ann's dog is called", add_special_tokens=False)["input_ids"]
    names = [tuple(tokenizer(f" {name}", add_special_tokens=False)["input_ids"]) for name in ("Biscuit", "Pepper")]
    return model, prompt.followed(named), names


@torch.inference_mode()
def test_zero_bias_is_the_plain_model_to_the_bit(read):
    model, prompt, _ = read
    batch = batched([prompt], 0)
    plain = model(batch.input_ids).logits
    for spared in (True, False):
        with biased(model, batch.spans, [[0.0, 0.0]], Injection(formula="logits")) as context:
            context.idle = spared
            found = model(batch.input_ids).logits
        assert torch.equal(found, plain)
    assert torch.equal(model(batch.input_ids).logits, plain)


@torch.inference_mode()
def test_the_memory_of_the_higher_score_wins_a_conflict(read):
    model, prompt, names = read
    margins = {}
    for scores in ((1.0, 1.0), (1.0, 0.05), (0.05, 1.0)):
        first, second = likelihoods(model, [Example(prompt, scores, name) for name in names]).tolist()
        margins[scores] = first - second
    assert margins[1.0, 0.05] > margins[1.0, 1.0] + 1 and margins[0.05, 1.0] < margins[1.0, 1.0] - 1
    assert margins[1.0, 0.05] > 0 > margins[0.05, 1.0]


@torch.inference_mode()
def test_attention_moves_to_it(read):
    model, prompt, _ = read
    batch = batched([prompt], 0)
    (before,) = attention_mass(model, batch)
    with biased(model, batch.spans, [[1.0, 0.05]]):
        (after,) = attention_mass(model, batch)
    assert after[1] < before[1] / 3 and after[0] > before[0]
