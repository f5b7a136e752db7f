"""The gate learns from which head explains the uses, and from nothing else."""

import numpy as np
import pytest
import torch

from hindsight.features import need
from hindsight.scorer.switch import Switch
from hindsight.train.batches import Listed
from hindsight.train.gate import fit_gate, responsibility, sharpen
from hindsight.types import DataError


def opinionated():
    """Ask scores by its first column, act by its own."""
    switch = Switch().build()
    with torch.no_grad():
        for weight in switch.parameters():
            weight.zero_()
        switch.ask.parts[0].straight.weight[0, 0] = 3.0
        switch.act.parts[0].straight.weight[0, 0] = 3.0
    return switch.eval()


def lists(switch, n=200, seed=0):
    """A use is where ask's column is high if the moment asks, else where act's is. Kinds are all the same: no label tells."""
    draw, found = np.random.default_rng(seed), []
    question = switch.columns.index("says_has_question")
    for number in range(n):
        features = draw.standard_normal((30, len(switch.columns))).astype(np.float16)
        features[:, switch.needs] = draw.standard_normal(len(switch.needs)).astype(np.float16)
        asks = number % 2
        features[:, question] = asks
        column = switch.asked[0] if asks else switch.acted[0]
        gain = np.zeros(30, np.float32)
        gain[features[:, column].argmax()] = 1
        found.append((Listed(str(number), f"user {number % 9}", "reply", features, gain, 0.0), 1.0))
    return found


def test_the_gate_finds_what_tells_the_regimes_apart():
    switch = opinionated()
    facts = fit_gate(switch, lists(switch))
    assert facts["right"] > 0.95
    fresh = lists(switch, seed=1)
    acts = np.array([switch.acting(one.features[:1].astype(np.float32))[0] for one, _ in fresh])
    assert ((acts > 0.5) == (np.arange(len(fresh)) % 2 == 0)).mean() > 0.95
    weight = dict(zip(need.NAMES, switch.gate.straight.weight[0].tolist()))
    assert max(weight, key=lambda name: abs(weight[name])) == "says_has_question"


def test_responsibility_follows_the_uses_where_the_gate_is_open():
    switch = opinionated()
    shares = np.array([responsibility(switch, one) for one, _ in lists(switch, 60)])
    assert np.mean(shares[::2] > 0.5) > 0.9 and np.mean(shares[1::2] < 0.5) > 0.9


def test_a_sharpened_gate_decides_as_before_and_is_believed_as_often_as_it_is_right():
    switch = opinionated()
    shown, fresh = lists(switch, 400), lists(switch, 400, seed=1)

    def acts():
        return np.array([switch.acting(one.features[:1].astype(np.float32))[0] for one, _ in fresh])

    fit_gate(switch, shown)
    before = acts()
    facts = sharpen(switch, shown)
    after = acts()
    assert ((before > 0.5) == (after > 0.5)).all()
    assert facts["slope"] > 1 and facts["ece"] < 0.05  # the ridge had held it back
    right = ((after > 0.5) == (np.arange(400) % 2 == 0)).mean()
    believed = np.maximum(after, 1 - after).mean()
    assert abs(believed - right) < 0.04 < abs(np.maximum(before, 1 - before).mean() - right)


def test_no_query_is_an_error():
    with pytest.raises(DataError, match="no held-out query"):
        fit_gate(opinionated(), [])
