"""One scorer folder out: weights, what they were made with, what they must compute, and a card for people. See scorer/load.py."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.torch import save

from hindsight.encoder.golden import Golden
from hindsight.io import commit, to_json, versions, write_text
from hindsight.scorer.head import Head, logits
from hindsight.scorer.linear import Linear
from hindsight.scorer.load import (
    CONFIG,
    FORMAT,
    GOLDEN,
    README,
    WEIGHTS,
    Choice,
    Config,
    Goldens,
    GoldenScores,
    Origin,
    load,
)
from hindsight.scorer.mlp import Mlp
from hindsight.scorer.switch import Switch, TwoHeads
from hindsight.types import DataError

_GOLDEN_ROWS = (1, 4, 16)
_REGIMES = {
    "ask": "*ask*: a question about the past is put, and the memories that answer it are wanted.",
    "act": "*act*: a task is in progress, and the memories whose values its next step uses are wanted.",
    "both": "of the moment: a switch reads from the last utterance whether it asks about the past (*ask*) or goes on with a task "
    "(*act*), and that head scores.",
}
_LIMITS = """\
- It scores one user's own memories against one query. It has no notion of what may be shown to whom.
- The probability of use is calibrated on held-out *hindsight labels* among training candidates; people's judgments differ.
- It knows the kind of dialogue that it was trained on. On logs of another kind, compare it with the `prior` baseline first.
- It reads features of text, not facts: a memory that is wrong or out of date can score high.
- Loading checks the golden scores, and the encoder's golden vectors at its first use; another encoder is refused."""


def export(folder: Path, head: Head | TwoHeads, scorer: Linear | Mlp | Switch, encoder: Golden, origin: Origin) -> None:
    """Writes the folder and loads it once. ``scorer``: the configuration that ``head`` was built by.

    A scorer folder that is there already is replaced. Raises DataError where somebody else's README.md or config.json would be
    lost, or where the head's scores are not finite.
    """
    if folder.exists() and not folder.is_dir():
        raise DataError(folder, "a file", "a folder, or a new name")
    if foreign := [name for name in (CONFIG, README) if (folder / name).exists() and not (folder / GOLDEN).exists()]:
        raise DataError(folder, f"a folder with a {foreign[0]} of another kind", "a new folder, or one of a scorer")
    goldens = Goldens(head.columns, tuple(golden_scores(head)), encoder)
    if not all(np.isfinite(one.logits).all() for one in goldens.scores):
        raise DataError("scorer", "logits that are not finite", "a head that was trained")
    config = Config(FORMAT, Choice.of(scorer), head.columns, head.groups, origin)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / CONFIG).unlink(missing_ok=True)  # not whole until it is back
    beside = folder / f".{WEIGHTS}.{os.getpid()}"
    weights = {name: value.detach().cpu().contiguous() for name, value in head.state_dict().items()}
    beside.write_bytes(save(weights))  # save_file makes a file that nobody else can read
    beside.replace(folder / WEIGHTS)
    write_text(folder / GOLDEN, to_json(goldens) + "\n")
    write_text(folder / README, card(config))
    write_text(folder / CONFIG, to_json(config, indent=2) + "\n")
    load(folder)


def golden_scores(head: Head | TwoHeads) -> Iterator[GoldenScores]:
    """Features drawn around the training means: nobody's data, and no column without effect."""
    draw = np.random.default_rng(0)
    for rows in _GOLDEN_ROWS:
        deviations = draw.standard_normal((rows, len(head.columns)))
        features = (head.mean.cpu().numpy() + deviations / head.scale.cpu().numpy()).astype(np.float32)
        score = logits(head.contributions(features))
        yield GoldenScores(tuple(map(tuple, features.tolist())), tuple(score.tolist()))


def card(config: Config) -> str:
    """The model card, as Markdown."""
    origin, made = config.origin, versions()
    training = {name: value for name, value in _flat(origin.training) if ".bins." not in f".{name}."}
    licences = origin.licences or {"the logs that it was trained on": "not stated: ask whoever owns them"}
    return "\n".join(
        [
            "# A memory scorer",
            "",
            "Gives every early memory of a dialogue the probability that the turns to come will use it, with named contributions "
            "that sum to its log-odds. Trained by [hindsight](https://pypi.org/project/hindsight-scorer/) on what later turns "
            "really used; no person judged anything.",
            "",
            f"Regime {_REGIMES[origin.regime]}",
            "",
            "```python",
            "import hindsight",
            "",
            "checkpoint = hindsight.load(DIR)",
            "checkpoint.contributions(features)  # (memories, columns) -> group -> (memories,)",
            "```",
            "",
            "## What it is",
            *_table(
                {
                    "head": _told(config.scorer),
                    "features": f"{len(config.columns)}: {', '.join(config.columns)}",
                    "groups": ", ".join(config.groups),
                    "miner": _told(origin.miner),
                    "labeler": _told(origin.labeler),
                    "encoder": _told(origin.encoder),
                    "encoder fingerprint": origin.fingerprint,
                    "candidates": origin.candidates,
                    "made at commit": commit(),
                    "made with": ", ".join(f"{name} {version}" for name, version in made.items()),
                }
            ),
            "",
            "## Data and training",
            *_table(training),
            "",
            "## Licences",
            *_table(licences),
            "",
            "## Limits",
            _LIMITS,
            "",
        ]
    )


def _told(choice: Choice) -> str:
    options = ", ".join(f"{name}={value}" for name, value in choice.options.items())
    return f"{choice.kind} ({options})" if options else choice.kind


def _table(rows: Mapping[str, Any]) -> list[str]:
    def cell(value: Any) -> str:
        text = f"{value:.4g}" if isinstance(value, float) else str(value)
        return " ".join(text.split()).replace("|", "\\|")

    return ["| | |", "|---|---|", *(f"| {cell(name)} | {cell(value)} |" for name, value in rows.items())]


def _flat(facts: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in facts.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value
