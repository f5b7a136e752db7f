"""A scorer folder, read and checked: the head, what it was made with, and what it must still compute.

| file | holds |
|---|---|
| ``scorer.safetensors`` | the head's weights, standardisation and calibration |
| ``config.json`` | a ``Config``; written last, so a folder with one is whole |
| ``golden.json`` | ``scores``: feature matrices and their logits; ``encoder``: a few texts and their pooled vectors |
| ``README.md`` | the model card |
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
from pydantic import TypeAdapter, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file

from hindsight.encoder.golden import Golden
from hindsight.features import matrix
from hindsight.io import to_json
from hindsight.scorer.head import Doubles, Head, logits, probability
from hindsight.scorer.linear import Linear
from hindsight.scorer.mlp import Mlp
from hindsight.scorer.switch import Switch, TwoHeads
from hindsight.types import DataError, Floats, HindsightError

WEIGHTS, CONFIG, GOLDEN, README = "scorer.safetensors", "config.json", "golden.json", "README.md"
FORMAT = 1
TOLERANCE = 1e-5
KINDS: dict[str, type[Linear] | type[Mlp] | type[Switch]] = {"linear": Linear, "mlp": Mlp, "switch": Switch}
Regime = Literal["ask", "act", "both"]
DEFAULT = "default"  # scorer.path=default: the checkpoint that comes with the package
WANTED = "a scorer folder, as `hindsight export to=DIR` writes it"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Choice:
    """One option of a group and its fields. ``kind`` is the option's name everywhere: its module and its YAML file."""

    kind: str
    options: dict[str, Any]

    @classmethod
    def of(cls, part: Any) -> Choice:
        """Of a part's configuration, which is a dataclass; its options as JSON has them."""
        return cls(type(part).__module__.rsplit(".", 1)[-1], json.loads(to_json(part)))


@dataclass(frozen=True, slots=True)
class Origin:
    """What a head was made with: what a later run needs to make the same features, and what a reader of the card asks.

    ``fingerprint``: the encoder's. ``candidates``: how many a retrieval may hand to the head. ``training``: hashes of the
    data, seed, numbers of queries, calibration. ``licences``: of each data set that it was trained on.
    """

    regime: Regime
    miner: Choice
    labeler: Choice
    encoder: Choice
    fingerprint: str
    candidates: int
    training: dict[str, Any]
    licences: dict[str, str]


@dataclass(frozen=True, slots=True)
class Config:
    format: int
    scorer: Choice
    columns: tuple[str, ...]
    groups: tuple[str, ...]
    origin: Origin


@dataclass(frozen=True, slots=True)
class GoldenScores:
    """``features`` (memories, columns), ``logits`` (memories,)."""

    features: tuple[tuple[float, ...], ...]
    logits: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Goldens:
    columns: tuple[str, ...]
    scores: tuple[GoldenScores, ...]
    encoder: Golden


@dataclass(frozen=True)
class Checkpoint:
    """A trained scorer. ``encoder_golden`` is for the first use of an encoder: ``encoder.golden.check(encoder, it)``."""

    scorer: Head | TwoHeads
    config: Config
    encoder_golden: Golden

    @property
    def columns(self) -> tuple[str, ...]:
        """The features that it reads, in order."""
        return self.scorer.columns

    @property
    def regime(self) -> Regime:
        return self.config.origin.regime

    def contributions(self, features: Floats) -> dict[str, Floats]:
        """(memories, columns) -> group -> (memories,), ``bias`` among them. Their sum is the logit."""
        return self.scorer.contributions(features)

    def probability(self, features: Floats) -> Doubles:
        """(memories, columns) -> (memories,) calibrated probability of use."""
        return probability(logits(self.contributions(features)))


def home(folder: Path) -> Path:
    """Where a checkpoint lies: ``default`` is beside this file."""
    return Path(__file__).with_name(DEFAULT) if folder == Path(DEFAULT) and not folder.exists() else folder


def load(folder: Path) -> Checkpoint:
    """``default`` is the checkpoint that comes with the package.

    Raises DataError where the folder is missing, foreign, torn, or scores otherwise than when it was written."""
    folder = home(folder)
    if not folder.is_dir():
        raise DataError(folder, "a file" if folder.exists() else "no such folder", WANTED)
    path = folder / CONFIG
    config = _read(path, Config)
    if config.format != FORMAT:
        raise DataError(path, f"format {config.format}", f"format {FORMAT}: export again with this version")
    head = _head(path, config)
    _weigh(head, folder / WEIGHTS)
    goldens = _read(folder / GOLDEN, Goldens)
    if not goldens.scores or goldens.columns != head.columns:
        got = "columns other than config.json's" if goldens.scores else "no scores"
        raise DataError(folder / GOLDEN, got, "matrices of these features, and their logits")
    for place, golden in enumerate(goldens.scores):
        _check(head, golden, f"{folder / GOLDEN}: matrix {place}")
    return Checkpoint(head.eval(), config, goldens.encoder)


def _read(path: Path, kind: type[T]) -> T:
    if not path.exists():
        raise DataError(path.parent, f"no {path.name}", WANTED)
    try:
        return TypeAdapter(kind).validate_python(_known(json.loads(path.read_text("utf-8"))))
    except ValidationError as error:
        first = error.errors()[0]
        at = ".".join(map(str, first["loc"]))
        raise DataError(path, f"{error.error_count()} faults, first {at or 'all of it'}: {first['msg']}", WANTED) from error
    except (ValueError, RecursionError) as error:
        raise DataError(path, error, "whole JSON") from error


def _known(body: object) -> object:
    if isinstance(body, Mapping):
        return body
    raise ValueError("not a JSON object")


def _head(path: Path, config: Config) -> Head | TwoHeads:
    kind = config.scorer.kind
    if kind not in KINDS:
        raise DataError(path, f"scorer kind {kind!r}", f"one of {', '.join(KINDS)}")
    unknown = [name for name in config.columns if name not in matrix.GROUP_OF]
    if unknown or not config.columns or len(set(config.columns)) < len(config.columns):
        got = f"unknown features {', '.join(unknown)}" if unknown else f"columns {config.columns}"
        raise DataError(path, got, "distinct features of this version")
    try:
        head = KINDS[kind](**config.scorer.options).over(config.columns)
    except (TypeError, ValueError, RuntimeError, HindsightError) as error:
        raise DataError(path, f"scorer options {config.scorer.options}: {error}", f"those of {kind}") from error
    if head.groups != config.groups:
        raise DataError(path, f"groups {config.groups}", f"{head.groups}, as this version groups these features")
    return head


def _weigh(head: Head | TwoHeads, path: Path) -> None:
    if not path.exists():
        raise DataError(path.parent, f"no {path.name}", WANTED)
    try:
        head.load_state_dict(load_file(path))
    except (SafetensorError, RuntimeError, ValueError) as error:
        raise DataError(path, error, "the whole weights of the head that config.json describes") from error


def _check(head: Head | TwoHeads, golden: GoldenScores, place: str) -> None:
    wanted = np.asarray(golden.logits, np.float64)
    if not len(wanted) or [len(row) for row in golden.features] != [len(head.columns)] * len(wanted):
        raise DataError(place, "another shape", f"({len(wanted)}, {len(head.columns)}) features and their logits")
    got = logits(head.contributions(np.asarray(golden.features, np.float32)))
    away = np.abs(got - wanted) / np.maximum(1, np.abs(wanted))
    if not (away <= TOLERANCE).all():  # NaN is a mismatch too
        raise DataError(
            place, f"logits that are {away.max():.1e} away", f"within {TOLERANCE:.0e}: weights or code have changed"
        )
