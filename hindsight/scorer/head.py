"""A head: standardised features, split into named groups, one contribution a group. Their sum and the bias are the logit.

``linear.py`` and ``mlp.py`` say what a group's part is made of; this file holds what they share, so that training, exporting
and explaining never ask which one it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from hindsight.features import matrix
from hindsight.types import Floats

BIAS, INTERACTION = "bias", "interaction"
Doubles = npt.NDArray[np.float64]
MakePart = Callable[[int], nn.Module]


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
        self._places = [[i for i, c in enumerate(columns) if matrix.GROUP_OF[c] == g] for g in self.groups]
        self.parts = nn.ModuleList(make_part(len(places)) for places in self._places)
        if make_interaction is not None:  # sees every column: what no sum of groups can say
            self.groups += (INTERACTION,)
            self._places.append(list(range(len(columns))))
            self.parts.append(make_interaction(len(columns)))
        self.register_buffer("mean", torch.zeros(len(columns)))
        self.register_buffer("scale", torch.ones(len(columns)))
        self.register_buffer("slope", torch.ones(()))  # calibration: log-odds = slope * (sum of parts) + shift
        self.register_buffer("shift", torch.zeros(()))

    def standardise(self, mean: Floats, deviation: Floats) -> None:
        """What a column is on training queries; deviations are floored, so that a constant column stays quiet."""
        self.mean.copy_(torch.from_numpy(mean))
        self.scale.copy_(1 / torch.from_numpy(deviation + 1e-2))

    def calibrate(self, slope: float, shift: float) -> None:
        self.slope.fill_(slope)
        self.shift.fill_(shift)

    def forward(self, features: Tensor) -> Tensor:
        """(..., columns) -> (..., groups), the bias not among them."""
        standard = (features - self.mean) * self.scale  # (..., columns)
        parts = [part(standard[..., places])[..., 0] for part, places in zip(self.parts, self._places)]
        return torch.stack(parts, dim=-1) * self.slope

    def rank_score(self, features: Tensor) -> Tensor:
        """(..., columns) -> (...): the logit without its bias, which no ranking can see."""
        return self(features).sum(dim=-1)

    @torch.inference_mode()
    def contributions(self, features: Floats) -> dict[str, Floats]:
        """(memories, columns) -> group -> (memories,); ``bias`` among them. Summed in this order they are the logit."""
        parts = self(torch.from_numpy(np.ascontiguousarray(features, np.float32))).numpy()
        found = {group: parts[:, i] for i, group in enumerate(self.groups)}
        return found | {BIAS: np.full(len(features), float(self.shift), np.float32)}


def logits(contributions: Mapping[str, Floats]) -> Doubles:
    """(memories,) the sum, in float64 and in order, so that it is the same wherever it is taken."""
    return np.sum([part.astype(np.float64) for part in contributions.values()], axis=0)


def probability(logit: Doubles) -> Doubles:
    """Log-odds -> probability of use."""
    return 1 / (1 + np.exp(-np.clip(logit, -60, 60)))
