"""Where a run stands after an epoch: one file, replaced whole. A resumed run ends as the unbroken one would have."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from hindsight.types import DataError

NAME = "checkpoint.pt"
_WANTED = "a checkpoint by this version; delete it to start anew"


@dataclass(slots=True)
class Progress:
    """``epoch``: the next one. ``waited``: epochs since the best held-out loss. ``done``: no epoch will follow."""

    epoch: int
    best_loss: float
    best_state: dict[str, Tensor]
    waited: int
    done: bool = False


def save(folder: Path, fingerprint: str, progress: Progress, parts: dict[str, Any]) -> None:
    """``fingerprint``: of data and settings. ``parts``: name -> what has a ``state_dict``."""
    folder.mkdir(parents=True, exist_ok=True)
    beside = folder / f".{NAME}.{os.getpid()}"
    states = {name: part.state_dict() for name, part in parts.items()}
    fields = {name: getattr(progress, name) for name in Progress.__slots__}
    with beside.open("wb") as stream:
        torch.save({"fingerprint": fingerprint, "progress": fields, "parts": states}, stream)
        stream.flush()
        os.fsync(stream.fileno())
    beside.replace(folder / NAME)


def restore(folder: Path, fingerprint: str, parts: dict[str, Any]) -> Progress | None:
    """Fills ``parts``; None where there is nothing to go on from: no checkpoint, or that of a finished run of other data or
    settings. Raises DataError for a torn one, and for an unfinished run of others: going on would mix two runs, and starting
    anew would lose one."""
    path = folder / NAME
    if not path.exists():
        return None
    try:
        state = torch.load(path, weights_only=True, map_location="cpu")
        progress, states = Progress(**state["progress"]), state["parts"]
    except Exception as error:  # a torn file shows itself in as many ways as torch has readers
        raise DataError(path, f"{type(error).__name__}: {error}", _WANTED) from error
    if state["fingerprint"] != fingerprint:
        if progress.done:
            return None
        raise DataError(path, f"an unfinished run of other data or settings, at epoch {progress.epoch}", _WANTED)
    for name, part in parts.items():
        part.load_state_dict(states[name])
    return progress
