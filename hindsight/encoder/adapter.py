"""An adapter: low-rank changes of the linear maps in an encoder's last layers, kept apart from its weights (LoRA, Hu et al. 2022).

| file | holds |
|---|---|
| ``adapter.safetensors`` | ``<linear map>.up`` (out, rank) and ``<linear map>.down`` (rank, in), float32: weight + up @ down |
| ``config.json`` | a ``Config``: whose weights it changes, and what it was trained on |
| ``golden.json`` | a few texts and their pooled vectors, by the adapted encoder; checked at the first text |

``train/adapter.py`` makes one, ``encoder.adapter=DIR`` uses it. Merged at loading, it costs nothing at run time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import TypeAdapter, ValidationError
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from hindsight.encoder.golden import Golden
from hindsight.io import sha256_of, to_json, write_text
from hindsight.types import DataError, Floats

WEIGHTS, GOLDEN, CONFIG = "adapter.safetensors", "golden.json", "config.json"
FORMAT = 1
WANTED = "an adapter's folder, as `hindsight adapt` writes it"


@dataclass(frozen=True, slots=True)
class Config:
    """``base``: sha256 of the weights that it changes. ``sha256``: of its own. ``training``: data, settings, sizes."""

    format: int
    base: str
    sha256: str
    layers: tuple[int, ...]
    rank: int
    training: dict[str, Any]


@dataclass(frozen=True)
class Adapter:
    """``changes``: name of a weight in the model -> (up, down)."""

    config: Config
    changes: Mapping[str, tuple[Floats, Floats]]
    golden: Golden | None

    def merge(self, model: Any) -> None:
        """Adds the changes to the model's weights. Raises DataError where a weight is missing or of another shape."""
        import torch

        own = dict(model.named_parameters())
        for name, (up, down) in self.changes.items():
            if name not in own or tuple(own[name].shape) != (up.shape[0], down.shape[1]):
                got = f"no weight of {(up.shape[0], down.shape[1])} named {name}"
                raise DataError("encoder.adapter", got, "the model that it was trained on")
            with torch.no_grad():
                own[name] += torch.from_numpy(up @ down).to(own[name])


def read(folder: Path, base: str) -> Adapter:
    """Raises DataError where the folder is missing or torn, or was trained on other weights than ``base``."""
    config = _read(folder / CONFIG, Config)
    if config.format != FORMAT:
        raise DataError(folder / CONFIG, f"format {config.format}", f"format {FORMAT}")
    if config.base != base:
        raise DataError(folder / CONFIG, f"an adapter of weights {config.base[:12]}", f"one of {base[:12]}, the encoder's")
    path = folder / WEIGHTS
    if not path.exists() or sha256_of(path) != config.sha256:
        raise DataError(path, "other bytes" if path.exists() else "no such file", f"sha256 {config.sha256}")
    try:
        tensors = load_file(path)
    except SafetensorError as error:
        raise DataError(path, error, WANTED) from error
    names = sorted({name.rpartition(".")[0] for name in tensors})
    changes = {name: (tensors[f"{name}.up"], tensors[f"{name}.down"]) for name in names}
    return Adapter(config, changes, _read(folder / GOLDEN, Golden) if (folder / GOLDEN).exists() else None)


def write_weights(folder: Path, changes: Mapping[str, tuple[Floats, Floats]]) -> str:
    """Returns the file's sha256."""
    sides = {f"{name}.{side}": part for name, pair in changes.items() for side, part in zip(("up", "down"), pair)}
    weights = {name: np.ascontiguousarray(part, np.float32) for name, part in sorted(sides.items())}
    (folder / WEIGHTS).write_bytes(save(weights))  # save_file makes a file that nobody else can read
    return sha256_of(folder / WEIGHTS)


def write_config(folder: Path, config: Config) -> None:
    write_text(folder / CONFIG, to_json(config, indent=2) + "\n")


def write_golden(folder: Path, golden: Golden) -> None:
    """By an encoder with this adapter, so it comes last."""
    write_text(folder / GOLDEN, to_json(golden) + "\n")


def _read(path: Path, kind: Any) -> Any:
    try:
        return TypeAdapter(kind).validate_python(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, ValidationError) as error:
        raise DataError(path, error, WANTED) from error
