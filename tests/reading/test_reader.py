"""Reading in batches and in two steps gives what a prompt at a time gives."""

from contextlib import nullcontext

import pytest
import torch

from hindsight.inject import Injection, biased
from hindsight.inject.prompt import Prompt
from hindsight.reading.conditions import Request
from hindsight.reading.reader import Reader
from tests.inject.models import tiny

PROMPTS = [
    Prompt(tuple(range(10, 40)), ((2, 8), (8, 13), (14, 20)), (0, 1, 2)),
    Prompt(tuple(range(30, 52)), ((3, 9), (9, 15)), (0, 1)),
    Prompt(tuple(range(50, 59))),
]
SCORES = [(0.9, 0.1, 0.4), (0.2, 0.8), ()]
TARGETS = [(5, 6, 7), (8,), (9, 11)]
HOW = [
    None, Injection(), Injection(strength=2, queries="after"), Injection(formula="linear", strength=4), Injection(formula="share"),
    Injection(formula="share", queries="after"), Injection(formula="logits", strength=3), Injection(layers=(1,)),
]  # fmt: skip


class Letters:
    """A token is a letter; one is a line's end."""

    def __init__(self, end=96):
        self.end = end

    def decode(self, ids, skip_special_tokens=True):
        return "".join("\n" if n == self.end else chr(0x4E00 + n) for n in ids)


def alone(model, prompt, scores, how, target, new):
    """One prompt by the model itself, in one go."""
    ids = torch.tensor([[*prompt.ids, *target]])
    bias = nullcontext() if how is None or not prompt.spans else biased(model, [prompt.spans], [scores], how)
    with torch.inference_mode(), bias:
        shares = model(ids).logits[0].log_softmax(-1)
        said = model.generate(ids[:, : len(prompt.ids)], max_new_tokens=new, do_sample=False, pad_token_id=0)
    first = len(prompt.ids)
    nats = sum(float(shares[first + n - 1, token]) for n, token in enumerate(target))
    return nats, Letters().decode(said[0, first:].tolist()).split("\n")[0]


@pytest.mark.parametrize("family", ["llama", "gemma3", "gpt2"])
def test_a_batch_is_what_each_is_alone(family):
    model = tiny(family)
    cases = [
        (prompt, scores, how if prompt.spans else None, target)
        for how in HOW
        for prompt, scores, target in zip(PROMPTS, SCORES, TARGETS)
    ]
    if (
        family == "gemma3"
    ):  # its window, of 12 tokens here, counts what fills up between memories and question: alike lengths
        cases = [case for case in cases if case[0] is PROMPTS[0]]
    requests = [Request(prompt, scores if how else (), how) for prompt, scores, how, _ in cases]
    found = Reader(Letters(), model, 6).read(requests, [target for *_, target in cases])
    for (prompt, scores, how, target), read in zip(cases, found):
        nats, reply = alone(model, prompt, scores, how, target, 6)
        assert read.nats == pytest.approx(nats, abs=2e-3) and read.tokens == len(target)
        assert read.reply == reply


def test_without_replies_or_targets():
    model = tiny("llama")
    requests = [Request(PROMPTS[0]), Request(PROMPTS[0], SCORES[0], Injection())]
    plain, other = Reader(Letters(), model, 0).read(requests, [(5, 6), ()])
    assert plain.reply == other.reply == "" and plain.nats < 0 and (other.nats, other.tokens) == (0.0, 0)


def test_memories_are_read_once_where_their_bias_is_for_later_queries(monkeypatch):
    model, seen = tiny("llama"), []
    real = Reader._forward

    def counted(self, ids, mask, cache, keep=1):
        seen.append(tuple(ids.shape))
        return real(self, ids, mask, cache, keep)

    monkeypatch.setattr(Reader, "_forward", counted)
    for queries, rows in (("after", 1), ("all", 3)):
        seen.clear()
        biases = [Injection(strength=n, queries=queries) for n in (1.0, 2.0, 3.0)]
        Reader(Letters(), model, 0).read([Request(PROMPTS[0], SCORES[0], how) for how in biases], [()] * 3)
        assert seen == [(rows, 20), (3, 10)]


@pytest.mark.parametrize("row", range(3))
def test_a_reply_ends_with_its_line_and_the_others_go_on(row):
    model = tiny("llama")
    requests = [Request(prompt, scores, Injection() if scores else None) for prompt, scores in zip(PROMPTS, SCORES)]
    whole = [one.reply for one in Reader(Letters(), model, 8).read(requests, [()] * 3)]
    ends = Letters(ord(whole[row][2]) - 0x4E00)  # what one row says third ends a line now
    found = [one.reply for one in Reader(ends, model, 8).read(requests, [()] * 3)]
    assert found == [reply.split(whole[row][2])[0] for reply in whole] and len(set(map(len, found))) > 1
    assert [len(reply) for reply in whole] == [8, 8, 8]
