"""One small network a group, and one over all columns named ``interaction``: in *act* the sum of groups alone costs too much."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from hindsight.features import matrix
from hindsight.scorer.head import Head


@dataclass(frozen=True)
class Mlp:
    """``hidden``: units of each group's network; ``interaction``: units of the one over all columns, 0 for none."""

    features: str = "act"
    hidden: int = 16
    interaction: int = 48

    def build(self) -> Head:
        wide = self.interaction
        return Head(
            matrix.columns_of(self.features), lambda n: Part(n, self.hidden), (lambda n: Part(n, wide)) if wide else None
        )


class Part(nn.Module):
    """Linear + one GELU layer, (..., width) -> (..., 1)."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.straight = nn.Linear(width, 1, bias=False)
        self.curved = nn.Sequential(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, 1, bias=False))
        nn.init.zeros_(self.straight.weight)

    def forward(self, values: Tensor) -> Tensor:
        return self.straight(values) + self.curved(values)
