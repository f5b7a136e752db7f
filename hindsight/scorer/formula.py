"""Fixed weights on features: scorers without training, and the search that finds the best of them on development logs.

The weights of ``PRIOR`` and ``CUES``, and the word lists of the latter's features, were made by people who had seen LoCoMo, BEAM
and LongMemEval questions; a table that quotes them says so.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from hindsight.features import matrix
from hindsight.io import to_json, write_text
from hindsight.types import DataError, Floats

BIAS = "bias"


@dataclass(frozen=True)
class Formula:
    """``weights``: of each feature by name. The score is their sum and no probability."""

    weights: Mapping[str, float]

    def __post_init__(self) -> None:
        matrix.check(tuple(self.weights))

    def build(self) -> Formula:
        return self

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.weights)

    def contributions(self, features: Floats) -> dict[str, Floats]:
        """(memories, columns) -> group -> (memories,); the bias is 0."""
        weights = np.array(list(self.weights.values()), np.float32)
        found: dict[str, Floats] = {}
        for group in matrix.GROUPS:
            places = [i for i, name in enumerate(self.weights) if matrix.GROUP_OF[name] == group]
            if places:
                found[group] = features[:, places].astype(np.float32) @ weights[places]
        return found | {BIAS: np.zeros(len(features), np.float32)}

    def write(self, path: Path) -> None:
        write_text(path, to_json(dict(self.weights), indent=2) + "\n")


def read_formula(path: Path) -> Formula:
    """What ``write`` wrote. Raises DataError on anything but names with numbers, ConfigError on an unknown feature."""
    try:
        weights = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(path, error, "a formula: a JSON object of feature names and weights") from error
    if not isinstance(weights, dict) or not all(type(value) in (int, float) for value in weights.values()):
        raise DataError(path, weights, "a formula: a JSON object of feature names and weights")
    return Formula({name: float(value) for name, value in weights.items()})


ZSUM = Formula({"bm25": 1.0, "bm25_window": 1.0, "cosine": 1.0, "cosine_window": 1.0})
PRIOR = Formula({"bm25_window": 1.0, "maxsim_idf": 2.0, "speaker": 1.0})
CUES = Formula(
    {
        "bm25_wide": 0.8,
        "maxsim_idf": 2.0,
        "speaker": 2.0,
        "first_person": 3.5,
        "answer_type": 1.5,
        "date_span": 3.0,
        "answers_question": 0.4,
        "cosine_long": 0.5,
    }
)

# What a search draws from, a column a row; "prior" stands for PRIOR's columns at once.
GRID: Mapping[str, tuple[float, ...]] = {
    "age_log": (0, -1, -2, -4, -6, -8),
    "same_session": (0, 2, 4, 8),
    "user_said": (0, 1, 2, 3),
    "entities": (0, 0.5, 1, 2, 3),
    "closes": (0, -4, -8),
    "goal_bm25_session": (0, 0.5, 1, 2),
    "confirms": (0, -1, -3),
    "acknowledges": (0, -2, -4),
    "prior": (0, 0, 0.5, 1),
}
SEARCHED = (*(name for name in GRID if name != "prior"), *PRIOR.columns)  # the columns that ``search`` wants


@dataclass(frozen=True, slots=True)
class Judged:
    """One development query: its candidates' features, in the order of ``SEARCHED``, and what each is worth."""

    features: npt.NDArray[np.floating]  # (candidates, columns)
    gain: npt.NDArray[np.floating]  # (candidates,)


def search(queries: Sequence[Judged], trials: int = 400, seed: int = 0) -> Formula:
    """The weights with the best mean nDCG@10 of ``trials`` random ones; the first trial is ``prior`` alone.

    Raises DataError without a query that has a gain. A random search is enough: SCIENCE, "best of 400 formulas on dev".
    """
    kept = [one for one in queries if one.gain.max(initial=0) > 0]
    if not kept:
        raise DataError("formula search", f"{len(queries)} queries", "development queries with a use")
    rng = np.random.default_rng(seed)
    stacked = np.concatenate([one.features for one in kept]).astype(np.float32)  # (all candidates, columns)
    starts = np.cumsum([0, *(len(one.gain) for one in kept)])
    best_score, best_weights = -1.0, np.zeros(len(SEARCHED), np.float32)
    for trial in range(trials):
        drawn = {name: float(rng.choice(choices)) for name, choices in GRID.items()}
        if trial == 0:
            drawn = dict.fromkeys(GRID, 0.0) | {"prior": 1.0}
        weights = np.array([_weight(name, drawn) for name in SEARCHED], np.float32)
        scores = stacked @ weights
        found = [_ndcg(scores[a:b], one.gain) for one, a, b in zip(kept, starts, starts[1:])]
        if (score := float(np.mean(found))) > best_score:
            best_score, best_weights = score, weights
    return Formula({name: float(weight) for name, weight in zip(SEARCHED, best_weights) if weight})


def _weight(name: str, drawn: Mapping[str, float]) -> float:
    return drawn["prior"] * PRIOR.weights[name] if name in PRIOR.weights else drawn[name]


def _ndcg(scores: Floats, gain: npt.NDArray[np.floating], k: int = 10) -> float:
    """Graded by the label's gain; measure/ranking knows ids, this knows arrays and is called 400 times a query."""
    discount = 1 / np.log2(np.arange(2, k + 2))
    got, ideal = gain[np.argsort(-scores, kind="stable")[:k]], np.sort(gain)[::-1][:k]
    return float((got * discount[: len(got)]).sum() / (ideal * discount[: len(ideal)]).sum())
