"""Feature lists of unequal length, end to end: nothing is padded but the scores, which are one column wide."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from hindsight.train.batches import Listed
from hindsight.types import Floats


@dataclass(frozen=True, slots=True)
class Batch:
    """Some queries. Of ``features`` the rows are the candidates of all of them; elsewhere a query is a row, filled up."""

    features: Tensor  # (all candidates, columns)
    target: Tensor  # (queries, widest), each row sums to 1
    mask: Tensor  # (queries, widest), False is filling
    weight: Tensor  # (queries,)

    def rows(self, scores: Tensor) -> Tensor:
        """(all candidates,) -> (queries, widest), 0 where filled."""
        return torch.zeros_like(self.target).masked_scatter(self.mask, scores)


class Stacked:
    """At least one list, with a weight each. Takes one float32 copy of the features; ``standardise`` changes it in place."""

    def __init__(self, lists: Sequence[Listed], weights: Sequence[float]) -> None:
        self.start = np.cumsum([0, *(len(one.gain) for one in lists)])
        self.features: Floats = np.empty((int(self.start[-1]), lists[0].features.shape[1]), np.float32)
        self.target: Floats = np.empty(len(self.features), np.float32)
        self.weight: Floats = np.array(weights, np.float32)
        for one, begin, end in zip(lists, self.start, self.start[1:]):
            self.features[begin:end] = one.features
            self.target[begin:end] = one.gain / one.gain.sum()

    def __len__(self) -> int:
        return len(self.weight)

    def moments(self) -> tuple[Floats, Floats]:
        """(columns,) twice: mean and standard deviation over the candidates of the lists with a weight."""
        counted = np.repeat(self.weight > 0, np.diff(self.start))
        known = self.features if counted.all() else self.features[counted]
        mean = known.mean(axis=0, dtype=np.float64)
        square = np.einsum("ij,ij->j", known, known, dtype=np.float64) / len(known)
        return mean.astype(np.float32), np.sqrt(np.maximum(square - mean**2, 0)).astype(np.float32)

    def standardise(self, mean: Floats, scale: Floats) -> None:
        self.features -= mean
        self.features *= scale

    def batch(self, places: Sequence[int], device: torch.device) -> Batch:
        """``places`` may be empty: a process without a share of the last batch still takes part in its step."""
        chosen = np.asarray(places, np.int64)
        begin, size = self.start[chosen], np.diff(self.start)[chosen]
        where = np.repeat(begin - (np.cumsum(size) - size), size) + np.arange(int(size.sum()))
        mask = np.arange(int(size.max(initial=0)))[None] < size[:, None]
        target = np.zeros(mask.shape, np.float32)
        target[mask] = self.target[where]
        parts = (self.features[where], target, mask, self.weight[chosen])
        return Batch(*(torch.from_numpy(part).to(device) for part in parts))

    def fingerprint(self) -> str:
        """Of everything that a fit reads."""
        digest = hashlib.blake2b(digest_size=16)
        for part in (self.start, self.features, self.target, self.weight):
            digest.update(np.ascontiguousarray(part).data)
        return digest.hexdigest()
