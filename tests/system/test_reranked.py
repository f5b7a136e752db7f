"""Real models of the real classes, tiny and by chance; what a good one is worth is measured elsewhere (LOG.md)."""

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast, GPT2Config, GPT2LMHeadModel

from hindsight.encoder.hashing import HashingEncoder
from hindsight.miner.turns import Turns
from hindsight.system.baselines import rrf
from hindsight.system.build import systems
from hindsight.system.past import Past
from hindsight.system.reranked import Reranker
from hindsight.types import ConfigError, DataError, Query, Turn

SAID = [
    "I keep parrots in Lisbon.",
    "The bus was late.",
    "My dentist is Dr Mbeki.",
    "Pasta for lunch.",
    "It rains in Lisbon.",
]


def vocabulary(folder):
    letters = "abcdefghijklmnopqrstuvwxyz.?:"
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{letter}" for letter in letters)]
    (folder / "vocab.txt").write_text("\n".join(words))
    return BertTokenizerFast(str(folder / "vocab.txt")), len(words)


def cross_encoder(folder, labels=1):
    folder.mkdir()
    tokenizer, size = vocabulary(folder)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=size, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, num_labels=labels
    )
    BertForSequenceClassification(config).eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture
def past():
    turns = [Turn(i, f"s{i}", "user", "user", text) for i, text in enumerate(SAID)]
    found = Past(Turns(), HashingEncoder(32))
    found.observe("u", turns)
    return found


ASKED = Query("q", "u", "", "Where do my parrots live, in Lisbon?", len(SAID))


def ranked(past, name, reranker):
    (system,) = systems([name], past, None, reranker=reranker).values()  # pyright: ignore[reportArgumentType]
    return [(hit.memory_id, hit.score) for hit in system.recall(ASKED, 5)]


def test_a_cross_encoder_orders_the_first_by_its_own_logits_and_the_rest_follow(past, tmp_path):
    place = str(cross_encoder(tmp_path / "model"))
    cheap = [hit.memory_id for hit in rrf(past).recall(ASKED, 5)]
    found = ranked(past, "cross_encoder", Reranker(first=3, cross_encoder=place, batch=2))
    assert {one for one, _ in found[:3]} == set(cheap[:3]) and [one for one, _ in found[3:]] == cheap[3:]
    model = BertForSequenceClassification.from_pretrained(place).eval()
    tokenizer = BertTokenizerFast.from_pretrained(place)
    texts = {memory.memory_id: memory.text for memory in past.memories(ASKED)}
    with torch.inference_mode():
        logits = {one: float(model(**tokenizer(ASKED.text, texts[one], return_tensors="pt")).logits) for one in cheap[:3]}
    assert [one for one, _ in found[:3]] == sorted(logits, key=logits.__getitem__, reverse=True)
    assert np.allclose([score for _, score in found[:3]], sorted(logits.values(), reverse=True), atol=1e-5)
    assert ranked(past, "cross_encoder", Reranker(first=3, cross_encoder=place, batch=1))[0][0] == found[0][0]


def test_what_is_no_cross_encoder_is_refused(past, tmp_path):
    with pytest.raises(ConfigError, match=r"give reranker\.cross_encoder="):
        ranked(past, "cross_encoder", Reranker())
    with pytest.raises(DataError, match="no such folder"):
        ranked(past, "cross_encoder", Reranker(cross_encoder=str(tmp_path / "none")))
    with pytest.raises(DataError, match="3 labels"):
        ranked(past, "cross_encoder", Reranker(cross_encoder=str(cross_encoder(tmp_path / "three", 3))))
    other = tmp_path / "lm"
    other.mkdir()
    tokenizer, size = vocabulary(other)
    GPT2LMHeadModel(GPT2Config(vocab_size=size, n_embd=16, n_layer=1, n_head=2)).save_pretrained(other)
    tokenizer.save_pretrained(other)
    with pytest.raises(DataError, match=r"no weights for score\.weight"):
        ranked(past, "cross_encoder", Reranker(cross_encoder=str(other)))
    with pytest.raises(ConfigError, match=r"reranker\.first=0"):
        Reranker(first=0)


def test_a_language_model_orders_by_how_likely_the_query_is_after_the_memory(past, tmp_path, monkeypatch):
    monkeypatch.setenv("HINDSIGHT_CACHE", str(tmp_path / "cache"))
    place = tmp_path / "lm"
    place.mkdir()
    tokenizer, size = vocabulary(place)
    torch.manual_seed(1)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=size, n_embd=16, n_layer=1, n_head=2)).eval()
    model.save_pretrained(place)
    tokenizer.save_pretrained(place)
    found = ranked(past, "lm_reranker", Reranker(first=4, model=str(place)))

    def nats(memory):
        start = tokenizer(f"{memory}\nA question that this answers:", add_special_tokens=False)["input_ids"]
        asked = tokenizer(f" {ASKED.text}", add_special_tokens=False)["input_ids"]
        with torch.inference_mode():
            shares = model(torch.tensor([start + asked])).logits[0].log_softmax(-1)
        return float(np.mean([shares[len(start) + n - 1, token] for n, token in enumerate(asked)]))

    texts = {memory.memory_id: memory.text for memory in past.memories(ASKED)}
    assert [score for _, score in found[:4]] == pytest.approx([nats(texts[one]) for one, _ in found[:4]], abs=1e-4)
    assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)
