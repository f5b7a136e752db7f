"""One weight a feature. On *ask* nothing wider has won (SCIENCE)."""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from hindsight.features import matrix
from hindsight.scorer.head import Head


@dataclass(frozen=True)
class Linear:
    """``features``: ask, narrow or act (see features/matrix.py)."""

    features: str = "ask"

    def build(self) -> Head:
        return Head(matrix.columns_of(self.features), _zero_linear)


def _zero_linear(width: int) -> nn.Module:
    """No bias (a constant cannot rank) and zero weights: training starts from no opinion."""
    layer = nn.Linear(width, 1, bias=False)
    nn.init.zeros_(layer.weight)
    return layer
