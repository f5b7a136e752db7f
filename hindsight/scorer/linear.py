"""One weight a feature. On *ask* nothing wider has won (SCIENCE)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from hindsight.features import matrix
from hindsight.scorer.head import Head, Part


@dataclass(frozen=True)
class Linear:
    """``features``: ask, narrow or act (see features/matrix.py)."""

    features: str = "ask"

    def build(self) -> Head:
        return self.over(matrix.columns_of(self.features))

    def over(self, columns: Sequence[str]) -> Head:
        """A head over these columns, whatever the named set holds today: what a checkpoint is loaded into."""
        return Head(columns, Weights)


class Weights(Part):
    """No bias (a constant cannot rank), and zero weights to start from."""

    exact = True

    def __init__(self, width: int) -> None:
        super().__init__()
        self.straight = nn.Linear(width, 1, bias=False)

    def reset(self, generator: torch.Generator) -> None:
        nn.init.zeros_(self.straight.weight)

    def forward(self, values: Tensor) -> Tensor:
        return self.straight(values)

    def shares(self, values: Tensor) -> Tensor:
        """Weight times value."""
        return values * self.straight.weight
