"""Where a run stands after an epoch: one file, replaced whole. A resumed run ends as the unbroken one would have."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from hindsight.types import DataError

NAME = "checkpoint.pt"
Progress = tuple[float, dict[str, Tensor], int]


def save(folder: Path, epoch: int, head: torch.nn.Module, optimiser: Any, schedule: Any, progress: Progress) -> None:
    """``progress``: best held-out loss, its weights, epochs since."""
    folder.mkdir(parents=True, exist_ok=True)
    beside = folder / f".{NAME}.{os.getpid()}"
    state = {"next": epoch + 1, "head": head.state_dict(), "optimiser": optimiser.state_dict(), "progress": progress}
    torch.save(state | {"schedule": schedule.state_dict()}, beside)
    beside.replace(folder / NAME)


def restore(
    folder: Path, head: torch.nn.Module, optimiser: Any, schedule: Any
) -> tuple[int, float, dict[str, Tensor], int] | None:
    """(next epoch, best loss, best weights, epochs since), or None where there is no checkpoint. Raises DataError for one
    of another head."""
    path = folder / NAME
    if not path.exists():
        return None
    state = torch.load(path, weights_only=True)
    try:
        head.load_state_dict(state["head"])
    except RuntimeError as error:
        raise DataError(path, error, "a checkpoint of the same head; delete it to start anew") from error
    optimiser.load_state_dict(state["optimiser"])
    schedule.load_state_dict(state["schedule"])
    return (state["next"], *state["progress"])
