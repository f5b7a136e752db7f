"""One bias on one model: where its spans are, and what it adds at which keys, for which queries, in which layers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from hindsight.inject.bias import Injection, Spans, share_bias
from hindsight.types import ConfigError, DataError

ACTIVE: dict[int, list[Context]] = {}  # of each config's id, the contexts that are open, outermost first


@dataclass(eq=False)
class Context:
    """``owner``: (rows, tokens + 1) which memory a token belongs to, the last number for none, as for the last column, which stands
    for all tokens past the spans. ``logits``: (rows, memories + 1) float32, 0 at none. ``after``: (rows,) where the last span ends.
    ``depth``: layers that the model has; ``layers``: those that are biased. ``idle``: nothing to add anywhere."""

    spans: tuple[tuple[tuple[int, int], ...], ...]
    owner: Tensor
    logits: Tensor
    after: Tensor
    injection: Injection
    depth: int
    layers: frozenset[int]
    idle: bool
    open: bool = True
    read: int = 0
    applied: set[int] = field(default_factory=set)
    plain: dict[int, Any] = field(default_factory=dict)  # of a number of keys: the plan of a causal mask that is None

    @classmethod
    def of(cls, spans: Sequence[Spans], rows: Sequence[Tensor], injection: Injection, layers: int) -> Context:
        if wrong := [n for n in injection.layers or () if n >= layers]:
            raise ConfigError([f"layers={wrong}: the model has {layers}, from 0"])
        if not rows:
            raise DataError("spans", "no rows", "a row for each of the batch")
        most, tokens = max(map(len, rows)), max((end for row in spans for _, end in row), default=0)
        owner = torch.full((len(rows), tokens + 1), most, dtype=torch.long)
        for number, row in enumerate(spans):
            for memory, (start, end) in enumerate(row):
                owner[number, start:end] = memory
        after = torch.tensor([max((end for _, end in row), default=0) for row in spans])
        logits = torch.stack([torch.cat([row, row.new_zeros(most + 1 - len(row))]) for row in rows])
        device, shares = rows[0].device, injection.formula == "share"
        chosen = frozenset(range(layers) if injection.layers is None else injection.layers)
        nothing = (not logits.requires_grad and not logits.any()) or (shares and injection.strength == 0)
        idle = nothing or not chosen
        shape = tuple(tuple((int(a), int(b)) for a, b in row) for row in spans)
        return cls(shape, owner.to(device), logits, after.to(device), injection, layers, chosen, idle)

    @property
    def shares(self) -> bool:
        return self.injection.formula == "share"

    def clashes(self, outer: Context) -> None:
        """Raises DataError where a token would be biased twice, or rows differ; ConfigError on a second ``share``."""
        if len(outer.spans) != len(self.spans):
            raise DataError(
                "spans", f"{len(self.spans)} rows inside of {len(outer.spans)}", "the rows of the bias around it"
            )
        if outer.shares or self.shares:
            raise ConfigError(["formula=share decides about all of attention: it can't nest"])
        for ours, theirs in zip(self.spans, outer.spans):
            for a, b in ours:
                for c, d in theirs:
                    if a < d and c < b:
                        raise DataError(
                            "spans", f"{(a, b)} inside of a bias on {(c, d)}", "nested spans that do not overlap"
                        )

    def owners(self, batch: int, keys: Tensor) -> Tensor:
        """(batch, keys): of each key, whose index in the row ``keys`` says, its memory. Rows repeat for beams."""
        return self.repeated(self.owner, batch)[:, keys.clamp(max=self.owner.shape[1] - 1)]

    def repeated(self, rows: Tensor, batch: int) -> Tensor:
        if batch % len(rows):
            raise DataError("the batch", f"{batch} rows", f"{len(rows)} or a multiple, one for each row of spans")
        return rows if batch == len(rows) else rows.repeat_interleave(batch // len(rows), 0)

    def by_key(self, batch: int, keys: Tensor) -> Tensor:
        """(batch, keys) the bias, whichever queries it is for."""
        return self.repeated(self.logits, batch).gather(1, self.owners(batch, keys))

    def bias(self, batch: int, queries: Tensor, keys: Tensor) -> Tensor:
        """(batch, 1, queries or 1, keys) what is added, float32. ``queries``, ``keys``: their indices in the row."""
        found = self.by_key(batch, keys)[:, None, None]
        return found if self.injection.queries == "all" else torch.where(self.gate(batch, queries), found, 0.0)

    def gate(self, batch: int, queries: Tensor) -> Tensor:
        """(batch, 1, queries, 1) whether a query is biased."""
        if self.injection.queries == "all":
            return queries.new_ones((1, 1, 1, 1), dtype=torch.bool)
        return (queries[None] >= self.repeated(self.after, batch)[:, None])[:, None, :, None]

    def share(self, logits: Tensor, queries: Tensor, keys: Tensor) -> Tensor:
        """(batch, heads, queries, keys) masked logits -> what is added to each."""
        batch = len(logits)
        owners = self.owners(batch, keys)
        member = torch.nn.functional.one_hot(owners, self.logits.shape[1]).to(torch.float32)[..., :-1]
        mass = logits.float().softmax(-1) @ member[:, None]
        weights = self.repeated(self.logits, batch)[:, None, None, :-1]
        added = share_bias(mass, weights.float(), self.injection.target) * self.injection.strength
        return torch.where(self.gate(batch, queries), added @ member.mT[:, None], 0.0)

    def saw(self, last: Any) -> None:
        """``last``: how many tokens of the row are read by now. It may be a tensor, which is not waited for once enough were."""
        if self.read < self.owner.shape[1] - 1:
            self.read = max(self.read, int(last))

    def still_open(self, gradient: Tensor) -> None:
        if not self.open:
            raise ConfigError(
                ["backward through gradient checkpointing outside of the bias: call it inside, attention is computed anew"]
            )

    def judge(self) -> None:
        """Raises if the bias had no chance to act."""
        if missing := self.layers - self.applied if self.injection.layers is not None else not self.applied:
            where = "" if missing is True else f" in layers {sorted(missing)}"
            raise ConfigError([f"the bias was never applied{where}: the model did not run, or its attention is its own"])
        if self.read < (wanted := self.owner.shape[1] - 1):
            raise DataError("spans", f"a span up to {wanted}", f"spans within the {self.read} tokens that were read")


def lowest(dtype: torch.dtype) -> float:
    """What a mask forbids with: the most negative number, for a row of -inf has no softmax."""
    return torch.finfo(dtype).min


def quietest(dtype: torch.dtype) -> float:
    """What -inf becomes: a query that sees only muted keys spreads over them, and never over what the mask forbids."""
    return torch.finfo(dtype).min / 2


def added(mask: Tensor, bias: Tensor, dtype: torch.dtype) -> Tensor:
    """(batch, 1, queries, keys) of bool or of floats, and a bias that broadcasts to it -> the biased mask."""
    bias = bias.clamp(min=quietest(dtype)).to(dtype)
    if mask.dtype == torch.bool:
        return torch.where(mask, bias, lowest(dtype))
    return (mask + bias).clamp(min=lowest(dtype))
