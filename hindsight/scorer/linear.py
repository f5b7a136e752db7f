"""One weight a feature. On *ask* nothing wider has won (SCIENCE)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hindsight.features import matrix
from hindsight.scorer.formula import CUES, PRIOR
from hindsight.scorer.head import Head, Weights
from hindsight.types import ConfigError

STARTS: Mapping[str, Mapping[str, float] | None] = {"none": None, "prior": PRIOR.weights, "cues": CUES.weights}


@dataclass(frozen=True)
class Linear:
    """``features``: a set of features/matrix.py. ``start``: the formula whose weights training starts from, ``none`` for zero;
    ``hold``: how strongly it stays near them (0: not at all). ``without``: columns or whole groups that are left out."""

    features: str = "ask"
    start: str = "none"
    hold: float = 0.1
    without: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        return matrix.columns_of(self.features, self.without)

    def build(self) -> Head:
        return self.over(self.columns)

    def over(self, columns: Sequence[str]) -> Head:
        """A head over these columns, whatever the named set holds today: what a checkpoint is loaded into."""
        if self.start not in STARTS or self.hold < 0:
            wrong = f"scorer.start={self.start}, scorer.hold={self.hold}"
            raise ConfigError([f"{wrong}: wanted one of {', '.join(STARTS)}, and 0 or more"])
        weights = STARTS[self.start]
        if weights is not None:  # a column of the last utterance has the weight of its plain one
            weights = {column: weights.get(column.removesuffix(matrix.LAST), 0.0) for column in columns}
        return Head(columns, Weights, start=weights, hold=self.hold)
