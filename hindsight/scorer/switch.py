"""Two heads and a gate: *ask* for questions about the past, *act* for tasks in progress, and which of them this moment is.

The gate is linear in what the last utterance asks and how well the past matches it (``features/need.py``). It never sees a data
set, a template or a memory: all candidates of a query get the same answer, so a ranking is always one head's. Fusing the two
rankings destroys both (SCIENCE), so the likelier head speaks alone; the gate's probability is kept for the reader.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from hindsight.features import matrix, need
from hindsight.scorer.head import BIAS, Doubles, Head, Weights
from hindsight.scorer.linear import Linear
from hindsight.scorer.mlp import Mlp
from hindsight.types import Floats


@dataclass(frozen=True)
class Switch:
    """``ask``, ``act``: each head's features (see features/matrix.py). ``start``, ``hold``: of the ask head, see linear.py.

    ``rounds``: how often the heads are fitted, each time to the queries that they explained better than the other one did (the
    first time, to those of their labeler). ``without``: columns or whole groups that both heads leave out; the gate keeps its own.
    """

    ask: str = "travel"
    act: str = "act"
    hidden: int = 32
    start: str = "cues"
    hold: float = 0.1
    rounds: int = 2
    without: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of both heads and the gate."""
        named = (*matrix.columns_of(self.ask, self.without), *matrix.columns_of(self.act, self.without))
        return tuple(dict.fromkeys((*(name for name in named if name not in need.NAMES), *need.NAMES)))

    def build(self) -> TwoHeads:
        return self.over(self.columns)

    def over(self, columns: Sequence[str]) -> TwoHeads:
        """Heads over these columns, whatever the named sets hold today: what a checkpoint is loaded into."""
        asked = [c for c in columns if c.endswith(matrix.LAST) or c in need.NAMES]
        acted = [c for c in columns if not c.endswith(matrix.LAST)]
        ask = Linear(self.ask, self.start, self.hold).over(asked)
        return TwoHeads(columns, ask, Mlp(self.act, self.hidden).over(acted))


class TwoHeads(nn.Module):
    """(memories, columns) raw -> the contributions of the head that the gate chooses for each row."""

    gate_mean: Tensor
    gate_scale: Tensor
    gate_bias: Tensor

    def __init__(self, columns: Sequence[str], ask: Head, act: Head) -> None:
        super().__init__()
        self.columns = tuple(columns)
        self.ask, self.act = ask, act
        self.asked = [self.columns.index(c) for c in ask.columns]
        self.acted = [self.columns.index(c) for c in act.columns]
        self.needs = [self.columns.index(c) for c in need.NAMES]
        self.groups = tuple(g for g in matrix.GROUPS if g in ask.groups or g in act.groups)
        self.gate = Weights(len(self.needs))  # log-odds of act, of standardised need columns
        self.gate.reset(torch.Generator())
        self.register_buffer("gate_mean", torch.zeros(len(self.needs)))
        self.register_buffer("gate_scale", torch.ones(len(self.needs)))
        self.register_buffer("gate_bias", torch.zeros(()))

    @property
    def mean(self) -> Tensor:
        """(columns,) training means, for golden scores."""
        return self._joined(self.ask.mean, self.act.mean, self.gate_mean)

    @property
    def scale(self) -> Tensor:
        return self._joined(self.ask.scale, self.act.scale, self.gate_scale)

    def _joined(self, ask: Tensor, act: Tensor, gate: Tensor) -> Tensor:
        found = torch.zeros(len(self.columns))
        found[self.asked], found[self.acted] = ask, act
        found[self.needs] = gate
        return found

    @torch.inference_mode()
    def reasons(self, features: Floats) -> dict[str, Floats]:
        """(memories, columns) -> need column -> (memories,) what it adds to the log-odds of *act*; ``bias`` among them."""
        needs = torch.from_numpy(np.ascontiguousarray(features[:, self.needs], np.float32))
        shares = self.gate.shares((needs - self.gate_mean) * self.gate_scale).numpy()
        found = {name: shares[:, place] for place, name in enumerate(need.NAMES)}
        return found | {BIAS: np.full(len(features), float(self.gate_bias), np.float32)}

    def acting(self, features: Floats) -> Doubles:
        """(memories, columns) -> (memories,) probability that the moment is of a task in progress."""
        odds = np.sum([part.astype(np.float64) for part in self.reasons(features).values()], axis=0)
        return 1 / (1 + np.exp(-np.clip(odds, -60, 60)))

    def contributions(self, features: Floats) -> dict[str, Floats]:
        """(memories, columns) -> group -> (memories,), of each row's own head; their sum is the log-odds of use."""
        act = self.acting(features) > 0.5
        none = np.zeros(len(features), np.float32)
        asked = self.ask.contributions(features[:, self.asked]) if not act.all() else {}
        acted = self.act.contributions(features[:, self.acted]) if act.any() else {}
        return {g: np.where(act, acted.get(g, none), asked.get(g, none)) for g in (*self.groups, BIAS)}


def alone(switch: TwoHeads, regime: str) -> TwoHeads:
    """The same heads with a gate that always says ``ask``, or always ``act``."""
    found = copy.deepcopy(switch)
    with torch.no_grad():
        found.gate.straight.weight.zero_()
    found.gate_bias.fill_(60.0 if regime == "act" else -60.0)
    return found
