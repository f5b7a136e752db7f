"""The bias as a further dimension of the heads."""

import pytest
import torch

from hindsight.inject import Injection, biased
from hindsight.types import ConfigError
from tests.inject.models import LOGITS, batch, config_of, generated, logits, tiny

RAW, HEAD = Injection(formula="logits"), Injection(formula="logits", path="head")


@pytest.mark.parametrize("family", ["llama", "qwen2", "qwen3", "mistral", "gemma3", "gpt_neox", "gpt2"])
@pytest.mark.parametrize("side", ["none", "left", "right"])
@torch.no_grad()
def test_it_gives_what_the_mask_gives(family, side):
    model, (given, spans) = tiny(family), batch(side)
    seen = given["attention_mask"].bool()
    for row in (LOGITS[0], [0.0, -torch.inf, 0.0]):
        for queries in ("all", "after"):
            found = []
            for path in ("mask", "head"):
                with biased(model, spans, [row] * len(spans), Injection(formula="logits", path=path, queries=queries)):
                    found.append(logits(model, given)[seen])
            assert float((found[0] - found[1]).abs().max()) < 2e-5


@torch.no_grad()
def test_the_causal_kernel_stays_in_use(monkeypatch):
    """Without padding no mask is made, so torch may take its fused causal kernel."""
    from torch.nn import functional

    calls, usual = [], functional.scaled_dot_product_attention

    def watched(*given, **how):
        calls.append((how.get("attn_mask") is None, how.get("is_causal"), given[0].shape[-1]))
        return usual(*given, **how)

    monkeypatch.setattr(functional, "scaled_dot_product_attention", watched)
    model, (given, spans) = tiny("llama"), batch("none")
    with biased(model, spans, LOGITS[:1], HEAD):
        logits(model, given)
    assert calls == [(True, True, 24)] * 3  # 16 dimensions and 8
    calls.clear()
    with biased(model, spans, LOGITS[:1], RAW):
        logits(model, given)
    assert calls == [(False, False, 16)] * 3


@pytest.mark.parametrize("family", ["llama", "gemma3"])
@torch.no_grad()
def test_decoding_and_static_cache(family):
    model, (given, spans) = tiny(family), batch("none")
    with biased(model, spans, LOGITS[:1], RAW):
        tokens, _ = generated(model, given)
    for how in ({}, {"cache_implementation": "static", "disable_compile": True}, {"prefill_chunk_size": 8}):
        with biased(model, spans, LOGITS[:1], HEAD):
            assert torch.equal(generated(model, given, **how)[0], tokens)


@torch.no_grad()
def test_half_precision_keeps_the_bias_digits():
    """Heads that say nothing, so only the bias does: -30.1 against -30, which bfloat16 can't tell apart."""
    from types import SimpleNamespace

    from hindsight.inject.context import Context
    from hindsight.inject.stock import attention
    from hindsight.inject.ways import widened

    context = Context.of([[(0, 1), (1, 2)]], [torch.tensor([-30.1, -30.0])], HEAD, 1)
    heads = torch.zeros(1, 2, 2, 16, dtype=torch.bfloat16)
    value = torch.tensor([1.0, 0.0], dtype=torch.bfloat16)[None, None, :, None].expand(1, 2, 2, 16)
    module = SimpleNamespace(num_key_value_groups=1, is_causal=False)
    place = torch.arange(2)
    found, _ = widened(attention("sdpa", module), module, heads, heads, value, None, context, place, place)
    assert found.shape == (1, 2, 2, 16)
    assert torch.allclose(found.float(), torch.tensor([-30.1, -30.0]).softmax(0)[0], atol=2e-3)


def test_refused_where_heads_are_too_wide_or_attention_is_not_sdpa():
    from transformers import AutoModelForCausalLM

    wide = AutoModelForCausalLM.from_config(config_of("qwen3", head_dim=256))
    odd = AutoModelForCausalLM.from_config(config_of("llama", head_dim=20))
    for model, words in ((wide, "256 dimensions"), (odd, "20 dimensions"), (tiny("llama", "eager"), "attention is eager")):
        with pytest.raises(ConfigError, match=words), biased(model, [[(0, 2)]], [[-1.0]], HEAD):
            pass
    with pytest.raises(ConfigError, match="share"):
        Injection(formula="share", path="head")
    outer, inner = biased(tiny("llama"), [[(0, 2)]], [[-1.0]], HEAD), biased(tiny("llama"), [[(2, 4)]], [[-1.0]], RAW)
    with pytest.raises(ConfigError, match="path=head"), outer, inner:
        pass


def test_gradients_are_those_of_the_mask():
    model, (given, spans) = tiny("llama"), batch()
    found = []
    for injection in (RAW, HEAD):
        scores = torch.tensor(LOGITS, requires_grad=True)
        with biased(model, spans, scores, injection):
            logits(model, given).log_softmax(-1)[0, -1, 5].backward()
        found.append(scores.grad)
    assert torch.allclose(*found, atol=1e-5) and found[0][0].abs().min() > 1e-4
