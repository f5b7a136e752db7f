"""A run and its artefacts: where they lie, how one is begun, and how a finished one is read."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from hindsight.io import (
    MANIFEST,
    read_artefact,
    read_manifest,
    sha256_of,
    to_json,
    write_manifest,
    write_text,
)
from hindsight.miner.episodes import Episodes
from hindsight.miner.turns import Turns
from hindsight.scorer.load import Checkpoint, load
from hindsight.suite.own import Labels
from hindsight.train import examples
from hindsight.types import (
    ConfigError,
    DataError,
    Dialogue,
    Memory,
    Mined,
    Miner,
)

DIALOGUES, MEMORIES, EXAMPLES, SCORER = "dialogues.jsonl", "memories.jsonl", "examples", "scorer"
METRICS, QUESTIONS = "metrics.json", "questions.jsonl"
MINERS = {"turns": Turns, "episodes": Episodes}


@dataclass(frozen=True)
class Run:
    """``name`` of the run: artefacts go to ``folder``/<stage>/<name>/. ``jobs``: processes, 0 for one a core. ``seeds``: heads to
    train, from ``fit.seed`` on; the first is the one that is exported.

    ``mix``: names of labelled runs to train on together, in place of this one's. ``licences``: of the data, as "what: licence", for
    the model card."""

    name: str = "default"
    folder: str = "runs"
    jobs: int = 0
    held_out: float = 0.15
    seeds: int = 1
    wandb: bool = False
    mix: tuple[str, ...] = ()
    licences: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        refuse(
            {
                f"run.name={self.name!r}: wanted a folder's name": not self.name or Path(self.name).name != self.name,
                f"run.licences={list(self.licences)}: wanted 'data: licence' each": any(
                    ":" not in one for one in self.licences
                ),
                f"run.jobs={self.jobs}: wanted 0 or more": self.jobs < 0,
                f"run.held_out={self.held_out}: wanted from 0 to below 1": not 0 <= self.held_out < 1,
            }
        )

    def at(self, stage: str, name: str = "") -> Path:
        return Path(self.folder) / stage / (name or self.name)


@dataclass(frozen=True)
class Facts:
    """What a manifest says beside its inputs: the settings as given."""

    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def write(self, folder: Path, stage: str, inputs: Mapping[str, Path | None], **more: object) -> None:
        write_text(folder / "config.yaml", to_json(self.settings, indent=2) + "\n")  # JSON is YAML
        write_manifest(folder, stage, inputs, **more)


def say(text: object) -> None:
    print(text, file=sys.stderr)


def refuse(wrong: Mapping[str, bool]) -> None:
    """Raises ConfigError with each problem that holds: told before an hour of work, not after."""
    if problems := [problem for problem, holds in wrong.items() if holds]:
        raise ConfigError(problems)


def read_mined(folder: Path) -> list[Mined]:
    """The users of a ``mine`` artefact, in its order. Raises DataError where the stage did not end."""
    finished(folder, "mine", DIALOGUES, MEMORIES)
    memories: dict[str, list[Memory]] = {}
    for memory in read_artefact(folder / MEMORIES, Memory):
        memories.setdefault(memory.user_id, []).append(memory)
    found: list[Mined] = []
    for user_id, group in groupby(read_artefact(folder / DIALOGUES, Dialogue), key=lambda dialogue: dialogue.user_id):
        turns = tuple(turn for dialogue in group for turn in dialogue.turns)
        found.append(Mined(user_id, turns, memories.get(user_id, [])))
    return found


def read_labels(mined: Path, labels: Path) -> Labels:
    """What a labeler found in a user's own logs, as the judgments of suite=own."""
    check_labels(mined, labels)
    memories = [memory for stream in read_mined(mined) for memory in stream.memories]
    return Labels(memories, list(examples.read(labels / EXAMPLES)))


def check_labels(mined: Path, labels: Path) -> None:
    """Raises DataError where the label stage did not end, or named other memories than those of ``mined``."""
    told = finished(labels, "label", EXAMPLES)
    if told["inputs"]["mine"]["sha256"] != sha256_of(mined / MANIFEST):
        raise DataError(labels, f"labels of other memories than {mined} holds now", "its own: run `hindsight label` again")


def scorer_at(path: Path) -> Checkpoint:
    """``path``: a scorer folder, or a train run's. Raises DataError, as ``load`` does."""
    return load(path / SCORER if (path / SCORER).is_dir() else path)


def seeds_of(path: Path) -> list[Path]:
    """A train run's scorers, the first seed's first; a scorer folder itself."""
    return [path, *sorted(path.glob("seed-*"))] if (path / MANIFEST).exists() else [path]


def miner_of(checkpoint: Checkpoint, otherwise: Miner) -> Miner:
    """The miner whose memories a checkpoint was trained on; ``otherwise`` where it is none of ours."""
    choice = checkpoint.config.origin.miner
    return MINERS[choice.kind](**choice.options) if choice.kind in MINERS else otherwise


def finished(folder: Path, stage: str, *files: str) -> dict[str, Any]:
    """The manifest of a stage. Raises DataError where it did not end, or where a file is no longer the one that it wrote."""
    told = read_manifest(folder, stage)
    for name in files:
        if not (folder / name).exists() or sha256_of(folder / name) != told.get("outputs", {}).get(name):
            got = "another file than the stage wrote" if (folder / name).exists() else "no such file"
            raise DataError(folder / name, got, f"a whole artefact: run `hindsight {stage}` again")
    return told


def free(folder: Path) -> Path:
    """The same again, where a stage may write: nothing is there, or what an earlier run of the same name left. That stays until
    there is something to put in its place. Raises DataError on anything else."""
    if folder.exists() and not folder.is_dir():
        raise DataError(folder, "a file", "a folder of this stage; give another run.name=")
    known = {MANIFEST, "config.yaml", "metrics.jsonl", METRICS, DIALOGUES, MEMORIES, EXAMPLES, SCORER, "checkpoint.pt"}
    known |= {"adapter.safetensors", "golden.json", "config.json"}
    known |= {QUESTIONS, "answers.jsonl", "run.trec", "qrels.trec", "report.html", "wandb"}
    found = sorted(p.name for p in folder.iterdir()) if folder.exists() else []
    if strange := [name for name in found if name not in known and not name.startswith((".", "seed-", "ask-", "act-"))]:
        raise DataError(folder, ", ".join(strange), "a folder of this stage; give another run.name=")
    return folder


def fresh(folder: Path) -> Path:
    """An empty folder for a stage's output."""
    if free(folder).exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    return folder
