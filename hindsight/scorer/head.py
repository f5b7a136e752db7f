"""A head: standardised features, split into named groups, one contribution a group. Their sum and the bias are the logit.

``linear.py`` and ``mlp.py`` say what a group's part is made of; this file holds what they share, so that training and
exporting never ask which one it is. A memory's contributions depend on its own features alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from hindsight.features import matrix, need
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


MakePart = Callable[[int], Part]


class Head(nn.Module):
    """(..., columns) raw features -> (..., groups) contributions. After calibration their sum is the log-odds of use."""

    mean: Tensor
    scale: Tensor
    slope: Tensor
    shift: Tensor

    def __init__(
        self,
        columns: Sequence[str],
        make_part: MakePart,
        make_interaction: MakePart | None = None,
        start: Mapping[str, float] | None = None,
        hold: float = 0.0,
    ) -> None:
        """``start``: weights of a formula over these columns to begin from, ``hold`` how strongly to stay near them: for parts
        that are ``Weights``."""
        super().__init__()
        self.start, self.hold = start, hold
        matrix.check(columns)
        self.columns = tuple(columns)
        self.groups = tuple(g for g in matrix.GROUPS if any(matrix.GROUP_OF[c] == g for c in columns))
        self.places = [[i for i, c in enumerate(columns) if matrix.GROUP_OF[c] == g] for g in self.groups]
        # what is the same for all candidates cannot rank: only calibration weighs it
        parts = [Weights(len(at)) if g == need.GROUP else make_part(len(at)) for g, at in zip(self.groups, self.places)]
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
        if self.start is not None:
            with torch.no_grad():
                for part, at in self._started():
                    part.straight.weight.copy_(at)

    def _started(self) -> Iterator[tuple[Weights, Tensor]]:
        """(part, its weights by the formula it starts from). A listwise loss wants logits of a third of a formula's size."""
        for part, places in zip(self.each_part(), self.places):
            if isinstance(part, Weights):
                named = [(self.start or {}).get(self.columns[at], 0.0) for at in places]
                yield part, torch.tensor(named)[None] * 0.3 / self.scale[places]

    def penalty(self) -> Tensor:
        """How far the weights have gone from where they started."""
        if self.start is None or not self.hold:
            return self.slope.new_zeros(())
        return self.hold * torch.stack([(part.straight.weight - at).square().sum() for part, at in self._started()]).sum()

    def calibrate(self, slope: float, shift: float, needs: Floats | None = None) -> None:
        """``needs``: log-odds a deviation of each need column, where the head reads them."""
        self.slope.fill_(slope)
        self.shift.fill_(shift)
        if need.GROUP in self.groups:
            weight = cast("Weights", self.each_part()[self.groups.index(need.GROUP)]).straight.weight
            with torch.no_grad():
                weight.copy_(torch.zeros_like(weight) if needs is None else torch.from_numpy(needs / slope)[None])

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
