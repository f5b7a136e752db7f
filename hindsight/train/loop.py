"""Fits a head to labelled lists with accelerate. One process and several give the same head within float tolerance: the
batches are the same, and each process takes its share of every one."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from accelerate import Accelerator
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, Sampler

from hindsight.scorer.head import Head
from hindsight.train.batches import Listed
from hindsight.train.checkpoint import restore, save
from hindsight.train.losses import listwise
from hindsight.types import DataError, HindsightError

Sink = Callable[[dict[str, float]], None]


class CollapsedError(HindsightError):
    """The scores of every query became one constant: nothing is being ranked."""


@dataclass(frozen=True)
class Fit:
    """``learning_rate`` is the peak of a one-cycle schedule. ``patience``: epochs without a better held-out loss."""

    epochs: int = 25
    batch: int = 128
    learning_rate: float = 1e-2
    weight_decay: float = 1e-2
    patience: int = 10
    seed: int = 0


class Padded(Dataset[int]):
    """All lists as tensors of one shape. Filled up with weightless queries, so that every batch is whole."""

    def __init__(self, lists: Sequence[Listed], weights: Sequence[float], batch: int) -> None:
        total, widest = -(-len(lists) // batch) * batch, max(len(one.gain) for one in lists)
        self.features = torch.zeros(total, widest, lists[0].features.shape[1])
        self.target, self.mask = torch.zeros(total, widest), torch.zeros(total, widest, dtype=torch.bool)
        self.weight = torch.zeros(total)
        for i, (one, weight) in enumerate(zip(lists, weights)):
            size = len(one.gain)
            self.features[i, :size] = torch.from_numpy(one.features.astype(np.float32))
            self.target[i, :size] = torch.from_numpy(one.gain / one.gain.sum())
            self.mask[i, :size] = True
            self.weight[i] = weight
        self.mask[len(lists) :, 0] = True

    def __len__(self) -> int:
        return len(self.weight)

    def __getitems__(self, places: list[int]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return self.features[places], self.target[places], self.mask[places], self.weight[places]


class Shuffled(Sampler[int]):
    """An order that depends on seed and epoch alone, so that a resumed run goes on as the unbroken one."""

    def __init__(self, size: int, seed: int) -> None:
        self.size, self.seed, self.epoch = size, seed, 0

    def __len__(self) -> int:
        return self.size

    def __iter__(self):
        order = list(range(self.size))
        random.Random(f"{self.seed}:{self.epoch}").shuffle(order)
        return iter(order)


def fit(
    head: Head,
    training: Sequence[tuple[Listed, float]],
    held_out: Sequence[Listed],
    config: Fit,
    folder: Path | None = None,
    sink: Sink = lambda row: None,
) -> Head:
    """``training``: lists and their weights. Returns the head of the epoch whose held-out loss was best (of the last one
    where nothing is held out). With ``folder``, resumes from its newest checkpoint. Raises CollapsedError."""
    if not training:
        raise DataError("training queries", 0, "at least one labelled query: mine and label more dialogues")
    accelerator = Accelerator()
    lists = [one for one, _ in training]
    data = Padded(lists, [weight for _, weight in training], config.batch)
    known = data.features[data.mask & (data.weight > 0)[:, None]].numpy()
    head.standardise(
        known.mean(axis=0, dtype=np.float64).astype(np.float32), known.std(axis=0, dtype=np.float64).astype(np.float32)
    )
    sampler = Shuffled(len(data), config.seed)
    loader = DataLoader(data, config.batch, sampler=sampler, collate_fn=lambda rows: rows)
    optimiser = torch.optim.AdamW(head.parameters(), config.learning_rate, weight_decay=config.weight_decay)
    steps = config.epochs * (len(data) // config.batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, config.learning_rate, total_steps=steps)
    model, optimiser, loader = accelerator.prepare(head, optimiser, _split(loader, accelerator))
    held = Padded(held_out, [1.0] * len(held_out), len(held_out)) if held_out else None
    best_loss, best_state, waited, first = np.inf, _copy(head), 0, 0
    if folder is not None and (state := restore(folder, head, optimiser, schedule)):
        first, best_loss, best_state, waited = state
    for epoch in range(first, config.epochs):
        sampler.epoch = epoch
        model.train()
        total = 0.0
        for features, target, mask, weight in loader:
            scores = model(features).sum(dim=-1)  # (queries, candidates)
            # divided by the whole batch, not by this process's rows: equal for any number of processes
            loss = (listwise(scores, target, mask) * weight).sum() * accelerator.num_processes / config.batch
            optimiser.zero_grad()
            accelerator.backward(loss)
            optimiser.step()
            schedule.step()
            total += float(torch.as_tensor(accelerator.reduce(loss.detach(), "mean")))
        model.eval()
        row = {"epoch": epoch, "train_loss": total * config.batch / len(data), **_judge(head, held or data)}
        sink(row)
        if row["spread"] < 1e-5:
            raise CollapsedError(
                f"epoch {epoch}: scores differ by {row['spread']:.1e} within a query; lower the learning rate"
            )
        waited += 1
        if held is None or row["loss"] < best_loss:
            best_loss, best_state, waited = row["loss"], _copy(head), 0
        if folder is not None and accelerator.is_main_process:
            save(folder, epoch, head, optimiser, schedule, (best_loss, best_state, waited))
        if held is not None and waited >= config.patience:
            break
    head.load_state_dict(best_state)
    return head.eval()


def _split(loader: DataLoader[int], accelerator: Accelerator) -> DataLoader[int]:
    accelerator.dataloader_config.split_batches = True
    return loader


@torch.inference_mode()
def _judge(head: Head, data: Padded) -> dict[str, float]:
    """Loss, share of queries whose best-scored candidate was used, and how far the scores of one query lie apart."""
    losses, tops, spreads, count = 0.0, 0.0, 0.0, 0
    for part in range(0, len(data), 512):
        places = list(range(part, min(part + 512, len(data))))
        features, target, mask, weight = data.__getitems__(places)
        scores = head.rank_score(features)
        real = weight > 0
        losses += float(listwise(scores, target, mask)[real].sum())
        best = scores.masked_fill(~mask, -torch.inf).argmax(dim=-1)
        tops += float((target.gather(1, best[:, None])[:, 0] > 0)[real].sum())
        centred = (scores - (scores * mask).sum(-1, keepdim=True) / mask.sum(-1, keepdim=True)) * mask
        spreads += float((centred.square().sum(-1) / mask.sum(-1)).sqrt()[real].sum())
        count += int(real.sum())
    return {"loss": losses / count, "top_used": tops / count, "spread": spreads / count}


def _copy(head: Head) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in head.state_dict().items()}
