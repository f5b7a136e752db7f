"""Flex attention, run without its compiler: that takes minutes on a CPU, and has no backward there."""

import pytest
import torch

from hindsight.inject import Injection, biased
from tests.inject.models import LOGITS, batch, generated, logits, tiny

RAW = Injection(formula="logits")


@pytest.fixture(autouse=True)
def uncompiled():
    with torch.no_grad(), torch.compiler.set_stance("force_eager"):
        yield


@pytest.mark.parametrize("family", ["llama", "gemma3", "gemma2", "gpt_neox"])
def test_flex_gives_what_eager_gives(family):
    (given, spans), model = batch(), tiny(family, "flex_attention")
    seen, plain = given["attention_mask"].bool(), logits(model, given)
    for injection in (RAW, Injection(formula="logits", queries="after", layers=(0, 2))):
        for row in (LOGITS[0], [0.0, -torch.inf, 0.0]):
            found = []
            for backend in ("flex_attention", "eager"):
                with biased(tiny(family, backend), spans, [row] * 2, injection):
                    found.append(logits(tiny(family, backend), given)[seen])
            assert float((found[0] - found[1]).abs().max()) < 1e-5
    for spared in (True, False):
        with biased(model, spans, [[0.0] * 3] * 2, RAW) as context:
            context.idle = spared
            assert torch.equal(logits(model, given)[seen], plain[seen])


def test_flex_decodes_with_a_cache():
    given, spans = batch()
    model = tiny("gemma3", "flex_attention")
    with biased(model, spans, LOGITS, RAW):
        tokens, _ = generated(model, given, new=4)
    with biased(tiny("gemma3", "eager"), spans, LOGITS, RAW):
        assert torch.equal(tokens, generated(tiny("gemma3", "eager"), given, new=4)[0])
