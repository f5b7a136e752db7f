"""The formula that sets the memories' share of attention."""

import pytest
import torch

from hindsight.inject import Injection, attention_mass, biased
from hindsight.inject.bias import share_bias
from hindsight.inject.prompt import Batch
from tests.inject.models import FAMILIES, batch, generated, logits, tiny


def test_by_hand():
    mass, weights = torch.tensor([0.1, 0.1, 0.0]), torch.tensor([3.0, 1.0, 1.0])
    bias = share_bias(mass, weights, 0.5)
    after = mass * bias.exp()
    assert torch.allclose(after / (after.sum() + 0.8), torch.tensor([0.375, 0.125, 0.0]))
    assert bias[2] == 0  # out of sight
    enough = torch.tensor([0.6, 0.2, 0.0])
    after = enough * share_bias(enough, weights, 0.5).exp()
    assert torch.allclose(after / (after.sum() + 0.2), torch.tensor([0.6, 0.2, 0.0]))  # what they have, they keep
    alone = torch.tensor([0.5, 0.5, 0.0])
    assert torch.allclose(alone * share_bias(alone, weights, 0.5).exp(), torch.tensor([0.75, 0.25, 0.0]))


@pytest.mark.parametrize("family", FAMILIES)
@torch.no_grad()
def test_the_share_is_reached_in_every_layer_and_head(family):
    """Seen in eager attention's own weights, of a query from which all memories are in sight."""
    from hindsight.inject.register import WATCHING

    model, (given, spans) = tiny(family, "eager"), batch("none")
    spans = [[(20, 23), (24, 26)]]
    seen = []
    WATCHING[id(model.config)] = [lambda layer, weights: seen.append(weights[0, :, -1])]
    try:
        with biased(model, spans, [[0.9, 0.3]], Injection(formula="share", target=0.5)):
            logits(model, given)
        logits(model, given)
    finally:
        del WATCHING[id(model.config)]
    assert len(seen) == model.config.num_hidden_layers  # ours are not asked once the context is closed
    for weights in seen:
        first, second = weights[:, 20:23].sum(-1), weights[:, 24:26].sum(-1)
        assert torch.allclose(first, 3 * second, rtol=1e-3)
        assert (first + second).min() > 0.5 - 1e-4


@torch.no_grad()
def test_backends_agree_and_caches_too():
    given, spans = batch()
    seen, found, share = given["attention_mask"].bool(), [], Injection(formula="share")
    for backend in ("eager", "sdpa", "flex_attention"):
        model = tiny("llama", backend)
        if backend == "flex_attention":
            from hindsight.inject.stock import flex_takes_bias

            if not flex_takes_bias():
                continue
        with torch.compiler.set_stance("force_eager"), biased(model, spans, [[0.9, 0.2, 0.5]] * 2, share):
            found.append(logits(model, given)[seen])
    assert all(float((one - found[0]).abs().max()) < 1e-5 for one in found)
    model = tiny("gemma3")
    with biased(model, spans, [[0.9, 0.2, 0.5]] * 2, share):
        tokens, _ = generated(model, given, new=8)
    with biased(model, spans, [[0.9, 0.2, 0.5]] * 2, share):
        assert torch.equal(generated(model, given, new=8, use_cache=False)[0], tokens)


@torch.no_grad()
def test_mass_before_and_after():
    model, (given, spans) = tiny("llama"), batch()
    read = Batch(**given, spans=tuple(map(tuple, spans)))
    before = attention_mass(model, read, 3)
    with biased(model, spans, [[1.0, 0.05, 0.05]] * 2):
        after = attention_mass(model, read, 3)
    with biased(model, spans, [[0.0, -torch.inf, -torch.inf]] * 2, Injection(formula="logits")):
        only = attention_mass(model, read, 3)
    for plain, moved, first in zip(before, after, only):
        assert plain.shape == (3,) and 0.2 < plain.sum() < 1
        assert moved[0] > plain[0] and moved[1] < plain[1] / 3 and moved[2] < plain[2] / 3
        assert first[1] == first[2] == 0 and first[0] > moved[0]
    weights = torch.stack(tiny("llama", "eager")(**given, output_attentions=True).attentions)[:, 1, :, -3:]
    mean = weights.mean((0, 1, 2))
    assert before[1] == pytest.approx([float(mean[start:end].sum()) for start, end in spans[1]], abs=1e-6)
    assert model.config._attn_implementation == "sdpa"
