"""Fits a head to labelled lists with accelerate. One process and several give the same head within float tolerance: the
batches are the same, and each process takes its share of every one."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import broadcast_object_list
from torch import Tensor

from hindsight.io import to_json
from hindsight.scorer.head import Head
from hindsight.train.batches import Listed
from hindsight.train.checkpoint import Progress, restore, save
from hindsight.train.losses import listwise
from hindsight.train.stacked import Stacked
from hindsight.types import ConfigError, DataError, HindsightError

Sink = Callable[[dict[str, float]], None]
LEAST_SPREAD = 1e-5
LEAST_STEPS, LEAST_BATCH = 250, 8  # a fit of fewer steps has not arrived (SCIENCE)


class CollapsedError(HindsightError):
    """The scores of every query became one constant, or no numbers: nothing is being ranked."""


@dataclass(frozen=True)
class Fit:
    """``learning_rate`` is the peak of a one-cycle schedule. ``patience``: epochs without a better held-out loss.

    ``batch``: queries a step; fewer where there would be under 250 steps, but not under 8.
    """

    epochs: int = 25
    batch: int = 128
    learning_rate: float = 1e-2
    weight_decay: float = 1e-2
    patience: int = 10
    seed: int = 0

    def __post_init__(self) -> None:
        wrong = {
            f"epochs={self.epochs}: wanted 1 or more": self.epochs < 1,
            f"batch={self.batch}: wanted 1 or more": self.batch < 1,
            f"learning_rate={self.learning_rate}: wanted more than 0": not self.learning_rate > 0,
            f"weight_decay={self.weight_decay}: wanted 0 or more": not self.weight_decay >= 0,
            f"patience={self.patience}: wanted 1 or more": self.patience < 1,
        }
        if problems := [f"fit.{problem}" for problem, holds in wrong.items() if holds]:
            raise ConfigError(problems)

    def batch_of(self, queries: int) -> int:
        return min(self.batch, max(LEAST_BATCH, queries * self.epochs // LEAST_STEPS))


def fit(
    head: Head,
    training: Sequence[tuple[Listed, float]],
    held_out: Sequence[Listed],
    config: Fit,
    folder: Path | None = None,
    sink: Sink = lambda row: None,
) -> Head:
    """``training``: lists and their weights. Returns the head of the epoch whose held-out loss was best (of the last one
    where nothing is held out), not yet calibrated. It starts from ``head.reset(seed)``, or with ``folder`` from the checkpoint
    of an interrupted run. ``sink`` gets a row an epoch, in the main process. Raises CollapsedError, and DataError on no list."""
    if not training or not any(weight > 0 for _, weight in training):
        raise DataError("training queries", 0, "at least one labelled query: mine and label more dialogues")
    with _one_thread():
        data = Stacked([one for one, _ in training], [weight for _, weight in training])
        held = Stacked(held_out, [1.0] * len(held_out)) if held_out else None
        return _run(head, data, held, config, folder, sink)


@contextmanager
def _one_thread() -> Iterator[None]:
    """A batch is too small to share: on a busy machine several threads were seven times slower, and sums would depend on how
    many there are."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _run(head: Head, data: Stacked, held: Stacked | None, config: Fit, folder: Path | None, sink: Sink) -> Head:
    accelerator = Accelerator(mixed_precision="no")
    fingerprint = _fingerprint(head, data, held, config) if folder is not None else ""
    head.reset(config.seed)
    head.standardise(*data.moments())
    for one in (data, held):
        if one is not None:
            one.standardise(head.mean.numpy(), head.scale.numpy())
    optimiser = torch.optim.AdamW(head.parameters(), config.learning_rate, weight_decay=config.weight_decay)
    size = config.batch_of(len(data))
    steps = max(2, config.epochs * -(-len(data) // size))  # of a single step, one-cycle makes one of no length
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, config.learning_rate, total_steps=steps)
    model, optimiser = accelerator.prepare(head.train(), optimiser)
    progress = Progress(0, np.inf, _copy(head), 0)
    parts = {"head": head, "optimiser": optimiser, "schedule": schedule}
    if folder is not None:
        progress = restore(folder, fingerprint, parts) or progress
    while not progress.done:
        epoch, total = progress.epoch, torch.zeros((), device=accelerator.device)
        for places in _batches(len(data), size, f"{config.seed}:{epoch}"):
            batch = data.batch(places[accelerator.process_index :: accelerator.num_processes], accelerator.device)
            scores = batch.rows(model(batch.features).sum(dim=-1))  # (queries, widest)
            loss = (listwise(scores, batch.target, batch.mask) * batch.weight).sum()
            optimiser.zero_grad()
            # divided by the whole batch, not by this process's share: equal for any number of processes
            accelerator.backward(loss * (accelerator.num_processes / size) + head.penalty())
            optimiser.step()
            schedule.step()
            total += loss.detach()
        total = float(torch.as_tensor(accelerator.reduce(total, "sum")))
        row = {"epoch": epoch, "train_loss": total / len(data), **_judge(head, held or data, accelerator.device)}
        row = broadcast_object_list([row])[0]  # so that all processes stop together, come what may
        if accelerator.is_main_process:
            sink(row)
        if not row["spread"] >= LEAST_SPREAD:
            raise CollapsedError(
                f"epoch {epoch}: scores differ by {row['spread']:.1e} within a query; see fit.learning_rate"
            )
        progress.epoch, progress.waited = epoch + 1, progress.waited + 1
        if held is None or row["loss"] < progress.best_loss:
            progress.best_loss, progress.best_state, progress.waited = row["loss"], _copy(head), 0
        progress.done = progress.epoch == config.epochs or progress.waited >= config.patience
        if folder is not None and accelerator.is_main_process:
            save(folder, fingerprint, progress, parts)
    head.load_state_dict(progress.best_state)
    return head.cpu().eval()


def _batches(total: int, size: int, seed: str) -> Iterator[list[int]]:
    """All places in an order that the seed alone decides, so that a resumed run goes on as the unbroken one.

    Blanks fill the last batch and are shuffled with the rest: no step sees far fewer queries than another.
    """
    order = list(range(-(-total // size) * size))
    random.Random(seed).shuffle(order)
    for start in range(0, len(order), size):
        yield [place for place in order[start : start + size] if place < total]


@torch.inference_mode()
def _judge(head: Head, data: Stacked, device: torch.device) -> dict[str, float]:
    """Loss, share of queries whose best-scored candidate was used, and how far the scores of one query lie apart."""
    losses = tops = spreads = 0.0
    known = np.flatnonzero(data.weight > 0)
    for start in range(0, len(known), 512):
        batch = data.batch(known[start : start + 512].tolist(), device)
        mask, scores = batch.mask, batch.rows(head(batch.features).sum(dim=-1))
        losses += float(listwise(scores, batch.target, mask).sum())
        best = scores.masked_fill(~mask, -torch.inf).argmax(dim=-1)
        tops += float((batch.target.gather(1, best[:, None]) > 0).sum())
        size = mask.sum(-1, keepdim=True)
        away = (scores - scores.sum(-1, keepdim=True) / size) * mask
        spreads += float((away.square().sum(-1) / size[:, 0]).sqrt().sum())
    return {"loss": losses / len(known), "top_used": tops / len(known), "spread": spreads / len(known)}


def _fingerprint(head: Head, data: Stacked, held: Stacked | None, config: Fit) -> str:
    shapes = {name: list(value.shape) for name, value in head.state_dict().items()}
    told = [asdict(config), head.columns, shapes, data.fingerprint(), held.fingerprint() if held else ""]
    return blake2b(to_json(told).encode(), digest_size=16).hexdigest()


def _copy(head: Head) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in head.state_dict().items()}
