"""A switch is trained whole, tells one series of epochs, and a stopped run goes on to the same weights."""

import json

import numpy as np
import pytest

from hindsight.scorer.head import logits
from hindsight.scorer.switch import Switch
from hindsight.train.batches import Listed
from hindsight.train.loop import Fit
from hindsight.train.regimes import learn_switch
from hindsight.train.sinks import JsonLines
from hindsight.types import DataError


def drawn(switch, users=30, seed=0):
    """Questions whose use ask's first column tells, and tasks whose use act's first column tells; some of neither."""
    draw, found = np.random.default_rng(seed), []
    columns, asked, acted = switch.columns, switch.asked[0], switch.acted[0]
    question = columns.index("says_has_question")
    for number in range(12 * users):
        features = draw.standard_normal((20, len(columns))).astype(np.float16)
        features[:, switch.needs] = draw.standard_normal(len(switch.needs)).astype(np.float16)  # the same for all candidates
        asks = number % 3 != 0
        features[:, question] = asks
        gain = np.zeros(20, np.float32)
        if number % 6 != 5:
            gain[features[:, asked if asks else acted].argmax()] = 1
        kind = ("PQ" if asks else "call") if gain.any() else ("nothing asked" if asks else "nothing needed")
        found.append((Listed(str(number), f"user {number % users}", kind, features, gain, 0.0), 1.0))
    return found


@pytest.fixture(scope="module")
def lists():
    return drawn(Switch().build())


CONFIG, SHORT = Switch(start="none", rounds=2), Fit(epochs=15, batch=16)


def parted(lists):
    held = {f"user {number}" for number in range(10, 16)}
    return [one for one in lists if one[0].user_id not in held], [one for one in lists if one[0].user_id in held]


def test_each_head_learns_its_own_and_the_gate_tells_them_apart(lists, tmp_path):
    training, held = parted(lists)
    sink = JsonLines(tmp_path / "metrics.jsonl")
    switch, facts = learn_switch(CONFIG, training, held, SHORT, tmp_path / "fit", sink)
    assert set(facts) == {"switch", "ask", "act"}
    right, sent = [], []
    for one, _ in held:
        features = one.features.astype(np.float32)
        sent.append((switch.acting(features) > 0.5).all() == (one.kind in ("call", "nothing needed")))
        if one.gain.any():
            right.append(logits(switch.contributions(features)).argmax() == one.gain.argmax())
    assert np.mean(right) > 0.6 and np.mean(sent) > 0.9
    epochs = [json.loads(line)["epoch"] for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert epochs == sorted(set(epochs)) and len(epochs) <= 2 * 2 * SHORT.epochs


def test_a_run_that_goes_on_ends_as_the_unbroken_one(lists, tmp_path):
    training, held = parted(lists)
    whole, _ = learn_switch(CONFIG, training, held, SHORT, tmp_path / "a", lambda row: None)

    class Stopped(Exception):
        pass

    def stop(row):
        if row["epoch"] == 20:
            raise Stopped

    with pytest.raises(Stopped):
        learn_switch(CONFIG, training, held, SHORT, tmp_path / "b", stop)
    again, _ = learn_switch(CONFIG, training, held, SHORT, tmp_path / "b", lambda row: None)
    for name, value in whole.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), again.state_dict()[name].numpy(), err_msg=name)


def test_one_regime_alone_is_no_switch(lists):
    asks = [one for one in lists if one[0].kind in ("PQ", "nothing asked")]
    with pytest.raises(DataError, match="training queries of act"):
        learn_switch(CONFIG, asks, asks, SHORT, None, lambda row: None)
