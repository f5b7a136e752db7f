"""One small network a group. One over all columns, named ``interaction``, can be had: it learned the noise of act labels (LOG.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from hindsight.features import matrix
from hindsight.scorer.head import Head, Part
from hindsight.types import ConfigError


@dataclass(frozen=True)
class Mlp:
    """``hidden``: units of each group's network; ``interaction``: units of the one over all columns, 0 for none. ``without``: columns
    or whole groups that are left out."""

    features: str = "act"
    hidden: int = 32
    interaction: int = 0
    without: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        return matrix.columns_of(self.features, self.without)

    def build(self) -> Head:
        return self.over(self.columns)

    def over(self, columns: Sequence[str]) -> Head:
        """A head over these columns, whatever the named set holds today: what a checkpoint is loaded into."""
        wide = self.interaction
        if self.hidden < 1 or wide < 0:
            raise ConfigError([f"scorer.hidden={self.hidden}, scorer.interaction={wide}: wanted 1 or more, and 0 or more"])
        return Head(columns, lambda n: Network(n, self.hidden), (lambda n: Network(n, wide)) if wide else None)


class Network(Part):
    """Linear + one GELU layer, (..., width) -> (..., 1)."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.straight = nn.Linear(width, 1, bias=False)
        self.curved = nn.Sequential(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, 1, bias=False))

    def reset(self, generator: torch.Generator) -> None:
        """The straight part says nothing at first; the curved one starts as torch would start it."""
        nn.init.zeros_(self.straight.weight)
        for layer in self.curved:
            if isinstance(layer, nn.Linear):
                bound = layer.in_features**-0.5
                nn.init.uniform_(layer.weight, -bound, bound, generator=generator)
                if layer.bias is not None:
                    nn.init.uniform_(layer.bias, -bound, bound, generator=generator)

    def forward(self, values: Tensor) -> Tensor:
        at_mean = self.curved(
            values.new_zeros(1, values.shape[-1])
        )  # a constant cannot rank, and would only blur what a group says
        return self.straight(values) + (self.curved(values) - at_mean[0])
