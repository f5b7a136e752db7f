"""What ATTENTION holds of every family: on tiny random models, in float32, against the plain model."""

import pytest
import torch

from hindsight.inject import Injection, biased, memory_bias
from tests.inject.models import LOGITS, PAD, PAIRS, SPANS, TOKENS, WINDOW, batch, generated, logits, tiny

RAW = Injection(formula="logits")
families = pytest.mark.parametrize("family, backend", PAIRS)
CLOSE = 1e-5


def apart(a, b):
    return float((a - b).abs().max())


@families
@torch.no_grad()
def test_zero_bias_is_the_plain_model_to_the_bit(family, backend):
    model, (given, spans) = tiny(family, backend), batch()
    plain = logits(model, given)
    with biased(model, spans, [[0.0] * 3] * 2, RAW):
        assert torch.equal(logits(model, given), plain)
    with biased(model, spans, [[0.0] * 3] * 2, RAW) as context:
        context.idle = False  # a mask of zeros, which it would have spared
        masked = logits(model, given)
    seen = given["attention_mask"].bool()
    assert torch.equal(masked[seen], plain[seen])
    assert model.config._attn_implementation == backend


@families
@torch.no_grad()
def test_minus_infinity_is_to_remove_the_span(family, backend):
    model, (given, spans) = tiny(family, backend), batch()
    without = given["attention_mask"].clone()
    for row, each in enumerate(spans):
        without[row, slice(*each[1])] = 0
    removed = logits(model, {**given, "attention_mask": without})
    with biased(model, spans, [[0.0, -torch.inf, 0.0]] * 2, RAW):
        muted = logits(model, given)
    seen = without.bool()
    assert apart(muted[seen], removed[seen]) < CLOSE
    assert apart(logits(model, given)[seen], removed[seen]) > 1e-2  # the span did matter
    assert not muted.isnan().any()


@families
@pytest.mark.parametrize("side", ["left", "right"])
@torch.no_grad()
def test_a_padded_row_is_the_row_alone(family, backend, side):
    model, (given, spans) = tiny(family, backend), batch(side)
    with biased(model, spans, LOGITS, RAW):
        padded = logits(model, given)[1][given["attention_mask"][1].bool()]
    alone = {"input_ids": given["input_ids"][1:][:, given["attention_mask"][1].bool()]}
    shifted = [[(start - PAD, end - PAD) for start, end in SPANS[1]]]
    with biased(model, shifted, LOGITS[:1], RAW):
        assert apart(logits(model, alone)[0], padded) < CLOSE


@families
@torch.no_grad()
def test_cached_decoding_is_uncached(family, backend):
    """Past the sliding window too: 30 tokens and 24 more, a window of 12."""
    model, (given, spans) = tiny(family, backend), batch()
    assert TOKENS > 2 * WINDOW
    caches = [
        {"use_cache": True},
        {"cache_implementation": "static", "disable_compile": True},
    ]
    with biased(model, spans, LOGITS, RAW):
        tokens, steps = generated(model, given, use_cache=False)
    plain, _ = generated(model, given)
    assert not torch.equal(plain, tokens)
    for how in caches:
        with biased(model, spans, LOGITS, RAW):
            cached, values = generated(model, given, **how)
        assert torch.equal(cached, tokens), how
        assert apart(values, steps) < 1e-4, how  # 24 steps of logits near 10


@families
@torch.no_grad()
def test_a_prompt_read_in_chunks(family, backend):
    """Of one row: transformers 4 itself misplaces the chunks of a padded one."""
    model, (given, spans) = tiny(family, backend), batch("none")
    with biased(model, spans, LOGITS[:1], RAW):
        tokens, _ = generated(model, given, use_cache=False)
    with biased(model, spans, LOGITS[:1], RAW):
        assert torch.equal(generated(model, given, prefill_chunk_size=8)[0], tokens)


@pytest.mark.parametrize("family, backend", [("llama", "sdpa"), ("gemma3", "eager"), ("gpt2", "sdpa")])
@torch.no_grad()
def test_beams_and_several_returned_sequences_take_their_rows_bias(family, backend):
    model, (given, spans) = tiny(family, backend), batch()
    how = {"num_beams": 3, "num_return_sequences": 2, "max_new_tokens": 12, "do_sample": False, "pad_token_id": 0}
    ids = {name: given[name] for name in ("input_ids", "attention_mask")}
    rows = []
    for use_cache in (True, False):
        with biased(model, spans, [[1.5, -2.0, 0.7], [-1.0, 2.0, -3.0]], RAW):
            rows.append(model.generate(**ids, **how, use_cache=use_cache))
    assert torch.equal(*rows)
    only = {name: value[1:] for name, value in ids.items()}
    with biased(model, spans[1:], [[-1.0, 2.0, -3.0]], RAW):
        assert torch.equal(model.generate(**only, **how), rows[0][2:])


@families
@torch.no_grad()
def test_only_queries_after_the_memories(family, backend):
    model, (given, spans) = tiny(family, backend), batch()
    plain = logits(model, given)
    with biased(model, spans, LOGITS, Injection(formula="logits", queries="after")):
        after = logits(model, given)
    assert apart(after[0, :20], plain[0, :20]) < CLOSE
    assert apart(after[0, 20:], plain[0, 20:]) > 1e-3
    with biased(model, spans, LOGITS, Injection(formula="logits", queries="after")):
        cached, _ = generated(model, given, new=6)
    with biased(model, spans, LOGITS, Injection(formula="logits", queries="after")):
        assert torch.equal(cached, generated(model, given, new=6, use_cache=False)[0])


@torch.no_grad()
def test_only_the_layers_that_were_chosen():
    model, (given, spans) = tiny("llama"), batch()
    states = {}
    for layers in ((), (2,), None):
        with biased(model, spans, LOGITS, Injection(formula="logits", layers=layers)):
            states[layers] = model(**given, output_hidden_states=True).hidden_states
    plain = model(**given, output_hidden_states=True).hidden_states
    assert all(map(torch.equal, states[()], plain))
    assert all(map(torch.equal, states[2,][:3], plain[:3]))  # embeddings, and what the first two layers give
    assert apart(states[2,][3], plain[3]) > 1e-3
    assert apart(states[None][1], plain[1]) > 1e-3


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("family, backend", [("llama", "sdpa"), ("gemma3", "sdpa"), ("gemma2", "eager"), ("gpt2", "eager")])
@torch.no_grad()
def test_half_precision_has_no_nan(family, backend, dtype):
    model, (given, spans) = tiny(family, backend, dtype), batch()
    for row in ([0.0, -torch.inf, 2.0], [-torch.inf] * 3, [-1e30, 30.0, 0.0]):
        with biased(model, [[(0, 8), *spans[0][1:]], spans[1]], [row] * 2, RAW):
            assert not logits(model, given)[given["attention_mask"].bool()].isnan().any()


@torch.no_grad()
def test_a_muted_beginning_never_shows_the_future():
    """The first tokens see only muted keys; they must not spread over later ones."""
    model, (given, _) = tiny("llama"), batch("none")
    changed = {**given, "input_ids": given["input_ids"].clone()}
    changed["input_ids"][0, 6:] = 5
    with biased(model, [[(0, 5)]], [[-torch.inf]], RAW):
        assert torch.equal(logits(model, given)[0, :6], logits(model, changed)[0, :6])


@torch.no_grad()
def test_backends_agree():
    given, spans = batch()
    seen = given["attention_mask"].bool()
    for family in ("llama", "gemma3", "gpt_neox"):
        found = []
        for backend in ("eager", "sdpa"):
            with memory_bias(tiny(family, backend), spans, [[0.9, 0.05, 0.4]] * 2):
                found.append(logits(tiny(family, backend), given)[seen])
        assert apart(*found) < CLOSE


@torch.no_grad()
def test_autocast():
    model, (given, spans) = tiny("llama"), batch()
    with torch.autocast("cpu", torch.bfloat16), biased(model, spans, [[0.0, -torch.inf, 1.0]] * 2, RAW):
        found = logits(model, given)
    with biased(model, spans, [[0.0, -torch.inf, 1.0]] * 2, RAW):
        exact = logits(model, given)
    seen = given["attention_mask"].bool()
    assert not found[seen].isnan().any() and apart(found[seen], exact[seen]) < 0.2 * float(exact.abs().max())
