"""A head: standardised features, split into named groups, one contribution a group. Their sum and the bias are the logit.

``linear.py`` and ``mlp.py`` say what a group's part is made of; this file holds what they share, so that training and
exporting never ask which one it is. A memory's contributions depend on its own features alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from hindsight.features import matrix
from hindsight.types import Floats

BIAS, INTERACTION = "bias", "interaction"
Doubles = npt.NDArray[np.float64]


class Part(nn.Module):
    """(..., width) -> (..., 1), of one group's standardised columns; 0 where every column is at its mean.

    ``exact``: ``shares`` of the columns sum to what the part gives.
    """

    exact = False

    def reset(self, generator: torch.Generator) -> None:
        """Weights as they are before training. Initial values come from the generator alone, so a seed gives one head."""
        raise NotImplementedError

    def shares(self, values: Tensor) -> Tensor:
        """(memories, width) -> (memories, width): how much the part would lose with that one column at its mean."""
        without = values[:, None] * (1 - torch.eye(values.shape[1]))  # (memories, width left out, width)
        return self(values) - self(without)[..., 0]


MakePart = Callable[[int], Part]


class Head(nn.Module):
    """(..., columns) raw features -> (..., groups) contributions. After calibration their sum is the log-odds of use."""

    mean: Tensor
    scale: Tensor
    slope: Tensor
    shift: Tensor

    def __init__(self, columns: Sequence[str], make_part: MakePart, make_interaction: MakePart | None = None) -> None:
        super().__init__()
        matrix.check(columns)
        self.columns = tuple(columns)
        self.groups = tuple(g for g in matrix.GROUPS if any(matrix.GROUP_OF[c] == g for c in columns))
        self.places = [[i for i, c in enumerate(columns) if matrix.GROUP_OF[c] == g] for g in self.groups]
        parts = [make_part(len(places)) for places in self.places]
        if make_interaction is not None:  # sees every column: what no sum of groups can say
            self.groups += (INTERACTION,)
            self.places.append(list(range(len(columns))))
            parts.append(make_interaction(len(columns)))
        self.parts = nn.ModuleList(parts)
        self._taken = [_slice(places) for places in self.places]
        self.register_buffer("mean", torch.zeros(len(columns)))
        self.register_buffer("scale", torch.ones(len(columns)))
        self.register_buffer("slope", torch.ones(()))  # calibration: log-odds = slope * (sum of parts) + shift
        self.register_buffer("shift", torch.zeros(()))
        self.reset()

    def reset(self, seed: int = 0) -> None:
        """No opinion, no calibration: the head that training starts from."""
        generator = torch.Generator().manual_seed(seed)
        for part in self.each_part():
            part.reset(generator)
        self.calibrate(1.0, 0.0)

    def each_part(self) -> list[Part]:
        """In the order of ``groups``."""
        return cast("list[Part]", list(self.parts))

    def standardise(self, mean: Floats, deviation: Floats) -> None:
        """What a column is on training queries; deviations are floored, so that a constant column stays quiet."""
        self.mean.copy_(torch.from_numpy(mean))
        self.scale.copy_(1 / torch.from_numpy(deviation + 1e-2))

    def calibrate(self, slope: float, shift: float) -> None:
        self.slope.fill_(slope)
        self.shift.fill_(shift)

    def standard(self, features: Tensor) -> Tensor:
        """(..., columns) raw -> (..., columns) what the parts see."""
        return (features - self.mean) * self.scale

    def forward(self, standard: Tensor) -> Tensor:
        """(..., columns) standardised -> (..., groups), the bias not among them."""
        parts = [part(standard[..., taken]) for part, taken in zip(self.parts, self._taken)]
        return torch.cat(parts, dim=-1) * self.slope

    @torch.inference_mode()
    def contributions(self, features: Floats) -> dict[str, Floats]:
        """(memories, columns) raw -> group -> (memories,); ``bias`` among them. Summed in this order they are the logit."""
        parts = self(self.standard(torch.from_numpy(np.ascontiguousarray(features, np.float32)))).numpy()
        found = {group: parts[:, i] for i, group in enumerate(self.groups)}
        return found | {BIAS: np.full(len(features), float(self.shift), np.float32)}


def _slice(places: list[int]) -> slice | list[int]:
    """A run of columns as a slice, which copies nothing."""
    whole = list(range(places[0], places[-1] + 1))
    return slice(places[0], places[-1] + 1) if places == whole else places


def logits(contributions: Mapping[str, Floats]) -> Doubles:
    """(memories,) the sum, in float64 and in order, so that it is the same wherever it is taken."""
    return np.sum([part.astype(np.float64) for part in contributions.values()], axis=0)


def probability(logit: Doubles) -> Doubles:
    """Log-odds -> probability of use."""
    return 1 / (1 + np.exp(-np.clip(logit, -60, 60)))
