"""Where a fit's rows go: ``metrics.jsonl``, which is the truth, and Weights & Biases for those who ask for it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hindsight.io import to_json
from hindsight.train.loop import Sink
from hindsight.types import ConfigError, opaque


class JsonLines:
    """Appends a row a line, each on disk before the next epoch starts.

    The first row says where the run goes on: rows of its epoch and all after them are dropped, which an interrupted run wrote
    after its last checkpoint. So a resumed run leaves the same bytes as an unbroken one.
    """

    def __init__(self, path: Path) -> None:
        self.path, self._open = path, False

    def __call__(self, row: dict[str, float]) -> None:
        if not self._open:
            self._cut(row["epoch"])
        with self.path.open("a", encoding="utf-8", newline="\n") as stream:
            stream.write(to_json(row) + "\n")
            stream.flush()
            os.fsync(stream.fileno())

    def _cut(self, epoch: float) -> None:
        self._open = True
        self.path.parent.mkdir(parents=True, exist_ok=True)
        kept = 0
        if self.path.exists():
            for line in self.path.read_bytes().splitlines(keepends=True):
                if not line.endswith(b"\n") or not _epoch(line) < epoch:
                    break
                kept += len(line)
            os.truncate(self.path, kept)


def _epoch(line: bytes) -> float:
    try:
        return float(json.loads(line)["epoch"])
    except (ValueError, KeyError, TypeError):
        return float("inf")


class Wandb:
    """A run of Weights & Biases under ``folder``, begun at the first row.

    Offline unless WANDB_API_KEY is set or WANDB_MODE says otherwise; it never asks for a login. A resumed run goes on under the
    same id. Raises ConfigError where wandb is not installed.
    """

    def __init__(self, folder: Path, name: str, settings: Mapping[str, Any]) -> None:
        try:
            import wandb
        except ImportError as error:
            raise ConfigError(["wandb is not installed: pip install hindsight-scorer[wandb]"]) from error
        self._wandb, self._run = wandb, None
        self.folder, self.name, self.settings = folder, name, dict(settings)

    def __call__(self, row: dict[str, float]) -> None:
        if self._run is None:
            self.folder.mkdir(parents=True, exist_ok=True)
            quiet = os.environ.get("WANDB_SILENT", "true").lower() != "false"
            mode = os.environ.get("WANDB_MODE") or ("online" if os.environ.get("WANDB_API_KEY") else "offline")
            self._run = self._wandb.init(
                project=os.environ.get("WANDB_PROJECT", "hindsight"),
                name=self.name,
                id=opaque("wandb", self.name, to_json(self.settings)),
                dir=str(self.folder),
                mode=mode,  # pyright: ignore[reportArgumentType]  # whatever WANDB_MODE says; wandb itself refuses the rest
                resume="allow" if mode == "online" else None,
                config=self.settings,
                settings=self._wandb.Settings(silent=quiet, console="off"),
            )
        self._run.log(row, step=int(row["epoch"]))

    def close(self) -> None:
        if self._run is not None:
            self._run.finish()
            self._run = None


def both(*sinks: Sink) -> Sink:
    """Every row to each, in order."""

    def send(row: dict[str, float]) -> None:
        for sink in sinks:
            sink(row)

    return send
