import itertools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from hindsight.scorer.head import logits
from hindsight.scorer.linear import Linear
from hindsight.scorer.mlp import Mlp
from hindsight.train import loop
from hindsight.train.batches import Listed
from hindsight.train.checkpoint import NAME
from hindsight.train.loop import CollapsedError, Fit, _batches, fit
from hindsight.train.losses import listwise
from hindsight.train.sinks import JsonLines
from hindsight.train.stacked import Stacked
from hindsight.types import ConfigError, DataError
from tests.scorer.test_head import opinionated

ROOT = Path(__file__).parents[2]
SHORT = Fit(epochs=6, batch=16, patience=6)
NARROW, CURVED = Linear("narrow"), Mlp("narrow", 4, 4)


def drawn(queries, seed=0, noise=0.1, columns=7):
    """Lists of 5 to 30 candidates; the label goes by fixed weights and some noise."""
    weights, draw = np.random.default_rng(5).standard_normal(columns), np.random.default_rng(seed)
    found = []
    for query in range(queries):
        features = draw.standard_normal((int(draw.integers(5, 31)), columns)).astype(np.float16)
        score = features @ weights + noise * draw.standard_normal(len(features))
        gain = np.exp(score - score.max()).astype(np.float32)
        found.append(Listed(f"{query:03}", f"user {query % 5}", "HQ", features, gain, 1.0))
    return found


def weighted(lists):
    return [(one, 0.5 + i % 2) for i, one in enumerate(lists)]


def state(head):
    return {name: value.numpy().tobytes() for name, value in head.state_dict().items()}


def held_out_loss(head, lists):
    """Written another way: by numpy, a list at a time, from raw features."""
    losses = []
    for one in lists:
        score = logits(head.contributions(one.features.astype(np.float32)))
        losses.append(-(one.gain / one.gain.sum() * (score - np.logaddexp.reduce(score))).sum())
    return np.mean(losses)


class StopError(Exception):
    pass


@pytest.mark.parametrize("scorer", [NARROW, CURVED], ids=str)
def test_a_fit_ranks_new_lists_and_a_seed_gives_the_same_bytes(scorer):
    rows = []
    head = fit(scorer.build(), weighted(drawn(100)), drawn(20, 1), Fit(epochs=15, batch=16), sink=rows.append)
    for one in drawn(20, 2):
        score = logits(head.contributions(one.features.astype(np.float32)))
        assert np.corrcoef(score, np.log(one.gain))[0, 1] > 0.9
    assert rows[-1]["loss"] < rows[0]["loss"]
    assert rows[-1]["top_used"] == 1
    used = scorer.build()
    used.reset(9)  # whatever it was before
    again = fit(used, weighted(drawn(100)), drawn(20, 1), Fit(epochs=15, batch=16))
    assert state(again) == state(head)
    other = fit(scorer.build(), weighted(drawn(100)), drawn(20, 1), Fit(epochs=15, batch=16, seed=1))
    assert state(other) != state(head)


@pytest.mark.parametrize("scorer", [NARROW, CURVED], ids=str)
@pytest.mark.parametrize("held", [0, 20])
def test_a_run_that_was_stopped_ends_as_the_unbroken_one(scorer, held, tmp_path):
    data, rest, rows = weighted(drawn(50)), drawn(held, 1), JsonLines(tmp_path / "whole.jsonl")
    whole = fit(scorer.build(), data, rest, SHORT, sink=rows)

    def breaks(row):
        JsonLines(tmp_path / "run" / "metrics.jsonl")(row)
        if row["epoch"] == 3:  # its row is written, its checkpoint is not
            raise StopError

    with pytest.raises(StopError):
        fit(scorer.build(), data, rest, SHORT, tmp_path / "run", breaks)
    sink, seen = JsonLines(tmp_path / "run" / "metrics.jsonl"), []
    resumed = fit(scorer.build(), data, rest, SHORT, tmp_path / "run", lambda row: (sink(row), seen.append(row["epoch"])))
    assert seen == [3, 4, 5]
    assert state(resumed) == state(whole)
    assert (tmp_path / "run" / "metrics.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    assert state(fit(scorer.build(), data, rest, SHORT, tmp_path / "run", seen.append)) == state(
        whole
    )  # done: no epoch more
    assert len(seen) == 3


def test_an_unfinished_run_of_other_data_is_not_mixed_in_and_a_finished_one_gives_way(tmp_path):
    data = weighted(drawn(30))

    def breaks(row):
        if row["epoch"] == 1:
            raise StopError

    with pytest.raises(StopError):
        fit(NARROW.build(), data, [], SHORT, tmp_path, breaks)
    others = [
        (NARROW, data[1:], SHORT),
        (NARROW, [(one, 1.0) for one, _ in data], SHORT),
        (NARROW, data, Fit(epochs=6, batch=16, patience=6, seed=1)),
        (CURVED, data, SHORT),
    ]
    for scorer, lists, config in others:
        with pytest.raises(DataError, match="unfinished run of other data or settings, at epoch 1"):
            fit(scorer.build(), lists, [], config, tmp_path)
    fit(NARROW.build(), data, [], SHORT, tmp_path)
    fresh = fit(NARROW.build(), data[1:], [], SHORT)
    assert state(fit(NARROW.build(), data[1:], [], SHORT, tmp_path)) == state(fresh)


def test_a_torn_checkpoint_is_named(tmp_path):
    fit(NARROW.build(), weighted(drawn(30)), [], SHORT, tmp_path)
    path = tmp_path / NAME
    whole = path.read_bytes()
    for torn in (whole[:-200], whole[:50], b"", b"not a checkpoint"):
        path.write_bytes(torn)
        with pytest.raises(DataError, match="checkpoint by this version"):
            fit(NARROW.build(), weighted(drawn(30)), [], SHORT, tmp_path)


def test_it_stops_early_and_gives_the_best_epoch(tmp_path):
    """Held-out labels that say the opposite: each epoch is worse than the last."""
    against = [Listed(o.query_id, o.user_id, o.kind, -o.features, o.gain, 1.0) for o in drawn(20, 1)]
    rows, config = [], Fit(epochs=20, batch=16, patience=3)
    head = fit(NARROW.build(), weighted(drawn(50)), against, config, tmp_path, rows.append)
    assert [row["epoch"] for row in rows] == [0, 1, 2, 3]
    assert min(rows, key=lambda row: row["loss"])["epoch"] == 0
    assert held_out_loss(head, against) == pytest.approx(rows[0]["loss"], rel=1e-5)
    more = []
    assert state(fit(NARROW.build(), weighted(drawn(50)), against, config, tmp_path, more.append)) == state(head)
    assert more == []


def test_scores_that_collapse_stop_the_run_at_once():
    flat = [Listed(o.query_id, o.user_id, o.kind, np.ones_like(o.features), o.gain, 1.0) for o in drawn(20)]
    rows = []
    with pytest.raises(CollapsedError, match="epoch 0"):
        fit(NARROW.build(), weighted(flat), [], SHORT, sink=rows.append)
    assert len(rows) == 1
    wild = [Listed(o.query_id, o.user_id, o.kind, np.full_like(o.features, np.nan), o.gain, 1.0) for o in drawn(20)]
    with pytest.raises(CollapsedError, match="nan"):
        fit(NARROW.build(), weighted(wild), [], SHORT)


@pytest.mark.parametrize("scorer", [NARROW, CURVED], ids=str)
def test_a_query_has_the_same_loss_alone_and_beside_longer_ones(scorer):
    """Whose scores are all negative: filling must not pass for the best."""
    data, head = Stacked(drawn(12), [1.0] * 12), opinionated(scorer)
    assert len(set(np.diff(data.start))) > 5

    def loss(places):
        batch = data.batch(places, torch.device("cpu"))
        with torch.inference_mode():
            return listwise(batch.rows(head(batch.features).sum(dim=-1) - 100), batch.target, batch.mask)

    together = loss(list(range(12))[::-1])
    alone = torch.cat([loss([place]) for place in range(12)][::-1])
    torch.testing.assert_close(together, alone, rtol=1e-4, atol=1e-4)


def test_standardising_is_by_the_candidates_of_the_queries_that_count():
    lists = drawn(6)
    data = Stacked(lists, [1.0, 0.0] * 3)
    known = np.concatenate([one.features for one in lists[::2]]).astype(np.float64)
    mean, deviation = data.moments()
    np.testing.assert_allclose(mean, known.mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(deviation, known.std(axis=0), atol=1e-6)


def test_no_query_to_learn_from():
    for training in ([], [(one, 0.0) for one in drawn(3)]):
        with pytest.raises(DataError, match="at least one labelled query"):
            fit(NARROW.build(), training, [], SHORT)


def test_all_wrong_settings_at_once():
    with pytest.raises(ConfigError) as caught:
        Fit(epochs=0, batch=0, learning_rate=0, weight_decay=-1, patience=0)
    assert len(caught.value.problems) == 5


def test_the_number_of_threads_is_left_as_it_was():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        fit(NARROW.build(), weighted(drawn(3)), [], Fit(epochs=1))
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_listwise_is_cross_entropy_of_each_row_and_blind_to_filling():
    scores, target = torch.tensor([[1.0, 2.0, 50.0]]), torch.tensor([[0.25, 0.75, 0.0]])
    mask = torch.tensor([[True, True, False]])
    share = np.exp([1.0, 2.0]) / np.exp([1.0, 2.0]).sum()
    assert float(listwise(scores, target, mask)) == pytest.approx(-(0.25 * np.log(share[0]) + 0.75 * np.log(share[1])))


SCRIPT = """
import sys
sys.path.insert(0, {root!r})
import torch
from hindsight.train.loop import fit
from hindsight.train.sinks import JsonLines
from hindsight.train.stacked import Stacked
from tests.train.test_loop import CURVED, SHORT, drawn, weighted
from pathlib import Path
from accelerate import Accelerator
out = Path({out!r})
head = fit(CURVED.build(), weighted(drawn(50)), drawn(10, 1), SHORT, out, JsonLines(out / "metrics.jsonl"))
if int(__import__("os").environ.get("RANK", "0")) == 0:
    torch.save(head.state_dict(), out / "head.pt")
(out / f"process-{{Accelerator().process_index}}-of-{{Accelerator().num_processes}}").touch()
"""


def test_two_processes_give_the_head_of_one(tmp_path):
    """50 lists in batches of 16: the processes' shares differ in size, and in the number of their candidates."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(root=str(ROOT), out=str(tmp_path)))
    # with --cpu the launcher starts one process whatever --num_processes says; this way two run, on the processor
    launch = [
        sys.executable,
        "-m",
        "accelerate.commands.launch",
        "--multi_gpu",
        "--num_processes",
        "2",
        "--num_machines",
        "1",
    ]
    launch += ["--mixed_precision", "no", "--dynamo_backend", "no", "--main_process_port", "0", str(script)]
    run = subprocess.run(
        launch, capture_output=True, text=True, timeout=600, env=os.environ | {"ACCELERATE_USE_CPU": "true"}
    )
    assert run.returncode == 0, run.stderr[-2000:]
    assert sorted(path.name for path in tmp_path.glob("process-*")) == ["process-0-of-2", "process-1-of-2"]
    rows = []
    head = fit(CURVED.build(), weighted(drawn(50)), drawn(10, 1), SHORT, sink=rows.append)
    both = torch.load(tmp_path / "head.pt", weights_only=True)
    for name, value in head.state_dict().items():
        torch.testing.assert_close(both[name], value, rtol=1e-3, atol=1e-4)
    metrics = (tmp_path / "metrics.jsonl").read_text().splitlines()
    assert len(metrics) == len(rows)  # the main process alone writes


def test_a_share_without_queries_still_takes_its_step():
    """Of a last batch of one query, the second process has none; its candidates are an empty batch."""
    data = Stacked(drawn(3), [1.0] * 3)
    empty = data.batch([], torch.device("cpu"))
    head = CURVED.build()
    scores = empty.rows(head(empty.features).sum(dim=-1))
    loss = (listwise(scores, empty.target, empty.mask) * empty.weight).sum()
    loss.backward()
    assert loss.item() == 0
    assert all(weight.grad is not None and not weight.grad.any() for weight in head.parameters())


def test_every_list_is_read_once_an_epoch_in_an_order_of_its_own():
    first, second = (list(itertools.chain(*_batches(21, 8, seed))) for seed in ("0:0", "0:1"))
    assert sorted(first) == sorted(second) == list(range(21))
    assert first != second
    assert len(list(_batches(21, 8, "0:0"))) == 3


def test_each_epoch_and_each_seed_has_an_order_of_its_own(monkeypatch):
    seeds = []
    monkeypatch.setattr(loop, "_batches", lambda total, size, seed: (seeds.append(seed), _batches(total, size, seed))[1])
    for seed in (0, 1):
        fit(NARROW.build(), weighted(drawn(9)), [], Fit(epochs=2, seed=seed))
    assert len(set(seeds)) == 4


def test_little_data_takes_small_steps():
    assert [Fit().batch_of(queries) for queries in (9000, 1280, 500, 3)] == [128, 128, 50, 8]
