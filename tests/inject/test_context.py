"""What is refused, what comes back, and what nests."""

import threading

import pytest
import torch

from hindsight.inject import Injection, biased, memory_bias, stock
from hindsight.inject.context import ACTIVE
from hindsight.types import ConfigError, DataError
from tests.inject.models import LOGITS, batch, config_of, logits, tiny

RAW = Injection(formula="logits")


@pytest.fixture(autouse=True)
def nothing_is_left_behind():
    with torch.no_grad():
        yield
    assert not ACTIVE
    assert tiny("llama").config._attn_implementation == "sdpa"


@pytest.mark.parametrize(
    "spans, scores, words",
    [
        ([[(2, 8), (7, 9)]], [[0.5, 0.5]], "do not overlap"),
        ([[(7, 9), (2, 8)]], [[0.5, 0.5]], "do not overlap"),
        ([[(2, 2)]], [[0.5]], "one token or more"),
        ([[(-1, 2)]], [[0.5]], "from 0"),
        ([[(2, 4)]], [[0.5, 0.5]], "one span a score"),
        ([[(2, 4)], []], [[0.5]], "rows"),
        ([], [], "a row"),
        ([[(2, 4)]], [[float("nan")]], "none missing"),
        ([[(2, 4)]], [[1.2]], "from 0 to 1"),
        ([[(2, 4)]], [[-0.1]], "from 0 to 1"),
    ],
)
def test_bad_spans_and_scores(spans, scores, words):
    with pytest.raises(DataError, match=words), memory_bias(tiny("llama"), spans, scores):
        pass


@pytest.mark.parametrize("spans", [[[(20, 31)]], [[(40, 45)]]])
def test_spans_past_what_was_read(spans):
    given, _ = batch("none")
    with pytest.raises(DataError, match="30 tokens that were read"), memory_bias(tiny("llama"), spans, [[0.5]]):
        logits(tiny("llama"), given)


def test_options():
    with pytest.raises(ConfigError) as error:
        Injection(strength=-1, formula="cube", floor=0, pivot=2, target=1, layers=(-1,), queries="some", path="side")
    assert len(error.value.problems) == 8
    with pytest.raises(ConfigError, match="layers="), memory_bias(tiny("llama"), [[(0, 2)]], [[0.5]], layers=(3,)):
        pass
    with pytest.raises(ConfigError, match="formula=cube"), memory_bias(tiny("llama"), [[(0, 2)]], [[0.5]], formula="cube"):
        pass


def test_a_bias_that_was_never_applied():
    with pytest.raises(ConfigError, match="never applied"), memory_bias(tiny("llama"), [[(0, 2)]], [[0.5]]):
        pass
    given, _ = batch("none")
    with pytest.raises(ConfigError, match="never applied"), memory_bias(tiny("llama"), [[(0, 2)]], [[0.5]]):
        logits(tiny("gpt2"), given)  # another model
    with pytest.raises(ZeroDivisionError), memory_bias(tiny("llama"), [[(0, 2)]], [[0.5]]):
        raise ZeroDivisionError  # says more than that nothing was applied


@pytest.mark.parametrize("family, words", [("mamba", "AttentionInterface"), ("bloom", "AttentionInterface")])
def test_an_attention_that_takes_no_bias(family, words):
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_config(config_of(family))
    with pytest.raises(ConfigError, match=words), memory_bias(model, [[(0, 2)]], [[0.5]]):
        pass


def test_an_attention_implementation_without_a_place_for_a_bias(monkeypatch):
    model = tiny("llama")
    monkeypatch.setattr(model.config, "_attn_implementation_internal", "flash_attention_2")
    with pytest.raises(ConfigError, match="flash_attention_2; wanted sdpa"), memory_bias(model, [[(0, 2)]], [[0.5]]):
        pass


def test_an_encoder_and_decoder():
    from transformers import T5Config, T5ForConditionalGeneration

    model = T5ForConditionalGeneration(T5Config(vocab_size=9, d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2))
    with pytest.raises(ConfigError, match="encoder"), memory_bias(model, [[(0, 2)]], [[0.5]]):
        pass


@pytest.mark.parametrize("version", ["4.55.4", "6.0.0"])
def test_another_transformers(monkeypatch, version):
    monkeypatch.setattr(stock.transformers, "__version__", version)
    with (
        pytest.raises(ConfigError, match=f"transformers {version}.*from 4.56, below 6"),
        memory_bias(tiny("llama"), [[(0, 2)]], [[0.5]]),
    ):
        pass


def test_a_batch_of_other_rows():
    given, spans = batch()
    three = {name: torch.cat([value, value[:1]]) for name, value in given.items()}
    with pytest.raises(DataError, match="3 rows"), biased(tiny("llama"), spans, LOGITS, RAW):
        logits(tiny("llama"), three)


def test_a_mask_of_ones_own():
    given, spans = batch("none")
    own = torch.ones(1, 1, 30, 30, dtype=torch.bool).tril()
    with pytest.raises(ConfigError, match="can't tell where"), biased(tiny("llama"), spans, LOGITS[:1], RAW):
        tiny("llama")(input_ids=given["input_ids"], attention_mask=own)


def test_no_memories_are_no_bias():
    given, _ = batch("none")
    plain = logits(tiny("llama"), given)
    with memory_bias(tiny("llama"), [[]], [[]]):
        assert torch.equal(logits(tiny("llama"), given), plain)


def test_rows_with_different_numbers_of_memories():
    given, spans = batch()
    model = tiny("llama")
    with biased(model, [spans[0], spans[1][:1]], [LOGITS[0], [2.0]], RAW):
        both = logits(model, given)
    with biased(model, [spans[0], spans[1][:1]], [[0.0] * 3, [2.0]], RAW):
        second = logits(model, given)
    assert torch.equal(both[1], second[1]) and not torch.allclose(both[0], second[0], atol=1e-3)


def test_contexts_on_one_model_add_up():
    given, spans = batch()
    model = tiny("llama")
    with biased(model, spans, [[1.5, -2.0, 0.7]] * 2, RAW):
        whole = logits(model, given)
    with biased(model, [row[:1] for row in spans], [[1.5]] * 2, RAW):
        with biased(model, [row[1:] for row in spans], [[-2.0, 0.7]] * 2, RAW):
            assert model.config._attn_implementation == "hindsight_sdpa"
            nested = logits(model, given)
        outer = logits(model, given)
    with biased(model, [row[:1] for row in spans], [[1.5]] * 2, RAW):
        assert torch.equal(logits(model, given), outer)
    seen = given["attention_mask"].bool()
    assert float((nested - whole)[seen].abs().max()) < 1e-5
    assert float((outer - whole)[seen].abs().max()) > 1e-2


def test_nested_contexts_choose_layers_apart():
    given, spans = batch("none")
    model, first, second = tiny("llama"), [spans[0][:1]], [spans[0][1:2]]
    early, late, all_three = (Injection(formula="logits", layers=layers) for layers in ((0, 1), (1, 2), (0, 1, 2)))
    with biased(model, first, [[1.5]], early), biased(model, second, [[-2.0]], late):
        states = model(**given, output_hidden_states=True).hidden_states
    with biased(model, first, [[1.5]], RAW):
        once = model(**given, output_hidden_states=True).hidden_states
    with biased(model, [spans[0][:2]], [[1.5, -2.0]], RAW):
        both = model(**given, output_hidden_states=True).hidden_states
    assert torch.allclose(states[1], once[1], atol=1e-5)
    assert not torch.allclose(states[2], both[2], atol=1e-4)  # its first layer saw one bias alone
    with biased(model, first, [[1.5]], all_three), biased(model, second, [[-2.0]], late):
        alike = model(**given, output_hidden_states=True).hidden_states
    assert torch.allclose(states[2], alike[2], atol=1e-5)
    assert not torch.allclose(states[3], alike[3], atol=1e-4)


def test_clashing_nested_spans_and_rows():
    model, (_, spans) = tiny("llama"), batch()
    given, _ = batch()
    with biased(model, spans, LOGITS, RAW):
        with pytest.raises(DataError, match="do not overlap"), biased(model, [[(7, 9)], []], [[0.5], []], RAW):
            pass
        with pytest.raises(DataError, match="the rows of the bias around it"), biased(model, [[(25, 27)]], [[0.5]], RAW):
            pass
        with (
            pytest.raises(ConfigError, match="share"),
            biased(model, [[(25, 27)], []], [[0.5], []], Injection(formula="share")),
        ):
            pass
        logits(model, given)  # as if nothing had been tried


def test_two_models_do_not_see_each_other():
    given, spans = batch()
    first, second = tiny("llama"), tiny("gemma3")
    plain = logits(second, given)
    with biased(first, spans, LOGITS, RAW):
        alone = logits(first, given)
        assert torch.equal(logits(second, given), plain)
        with biased(second, spans, [[-1.0, 1.0, 0.0]] * 2, RAW):
            both = logits(first, given), logits(second, given)
    with biased(second, spans, [[-1.0, 1.0, 0.0]] * 2, RAW):
        assert torch.equal(logits(second, given), both[1])
    assert torch.equal(both[0], alone) and not torch.allclose(both[1], plain, atol=1e-3)


def test_another_thread_sees_the_bias():
    """Backward runs in threads of its own."""
    given, spans = batch()
    found = []
    with biased(tiny("llama"), spans, LOGITS, RAW):
        here = logits(tiny("llama"), given)

        def there():
            with torch.no_grad():
                found.append(logits(tiny("llama"), given))

        thread = threading.Thread(target=there)
        thread.start()
        thread.join()
    assert torch.equal(found[0], here)


def test_it_comes_back_after_an_exception():
    given, spans = batch()
    plain = logits(tiny("llama"), given)
    with pytest.raises(KeyError), biased(tiny("llama"), spans, LOGITS, RAW):
        logits(tiny("llama"), given)
        raise KeyError
    assert torch.equal(logits(tiny("llama"), given), plain)


def test_masks_die_with_their_forward_pass():
    import gc
    import weakref

    given, spans = batch()
    seen = []
    model = tiny("llama")
    handle = model.model.layers[0].self_attn.register_forward_pre_hook(
        lambda _, args, kw: seen.append(weakref.ref(kw["attention_mask"])), with_kwargs=True
    )
    gc.disable()
    try:
        with biased(model, spans, LOGITS, RAW):
            logits(model, given)
            assert seen and seen[0]() is None
    finally:
        gc.enable()
        handle.remove()
