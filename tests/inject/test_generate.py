import pytest
import torch

from hindsight.inject import Injection, biased, generate_with_memories
from hindsight.inject.prompt import assemble, batched, line
from hindsight.types import ConfigError, DataError, Hit, Memory
from tests.inject.models import speaking, tokenizer

CHAT = [{"role": "user", "content": "Where does Ann live?"}]
MEMORIES = {
    name: Memory(name, "u", "d", "1", "turn", "Ann", "user", text, text, 1, (1,), time="2023-05-08")
    for name, text in {"a": "Ann: I moved to Oslo.", "b": "Ann: I live in Rome.", "c": "Bo: Rye."}.items()
}
HITS = [Hit("q", name, 1.0, utility=utility) for name, utility in (("a", 0.6), ("c", 0.3), ("b", 0.02))]


@pytest.fixture(scope="module")
def speaker():
    words = tokenizer()
    return speaking(len(words)), words


def test_it_is_what_its_parts_give(speaker):
    model, words = speaker
    reply = generate_with_memories(model, words, CHAT, HITS, MEMORIES, max_new_tokens=12)
    lines = [line(number, MEMORIES[name]) for number, name in enumerate("acb", 1)]
    prompt = assemble(words, CHAT, lines)
    assert reply.prompt == prompt and reply.scores == (0.6, 0.3, 0.02)
    batch = batched([prompt], 0)
    how = {"max_new_tokens": 12, "do_sample": False, "pad_token_id": 0}
    with torch.no_grad(), biased(model, batch.spans, [[0.6, 0.3, 0.02]]):
        whole = model.generate(input_ids=batch.input_ids, attention_mask=batch.attention_mask, **how)
    assert reply.ids == tuple(whole[0, len(prompt.ids) :].tolist()) and len(reply.ids) == 12
    assert words.decode(reply.ids, skip_special_tokens=True) == reply.text


def test_a_budget_and_a_bias_of_ones_own(speaker):
    model, words = speaker
    reply = generate_with_memories(model, words, CHAT, HITS, MEMORIES, Injection(strength=3), budget=100, max_new_tokens=2)
    assert len(reply.prompt.spans) < 3 and len(reply.scores) == len(reply.prompt.spans)
    assert generate_with_memories(model, words, CHAT, [], MEMORIES, max_new_tokens=2).prompt.spans == ()


def test_bad_input(speaker):
    from transformers import GenerationConfig

    model, words = speaker
    with pytest.raises(DataError, match="no utility of a"):
        generate_with_memories(model, words, CHAT, [Hit("q", "a", 1.0)], MEMORIES)
    with pytest.raises(DataError, match="id x"):
        generate_with_memories(model, words, CHAT, [Hit("q", "x", 1.0, utility=0.5)], MEMORIES)
    with pytest.raises(DataError, match="at most 2048"):
        generate_with_memories(model, words, CHAT, HITS, MEMORIES, max_new_tokens=2000)
    with pytest.raises(ConfigError, match="num_return_sequences"):
        several = GenerationConfig(num_return_sequences=2, num_beams=2, max_new_tokens=2)
        generate_with_memories(model, words, CHAT, HITS, MEMORIES, generation=several)
