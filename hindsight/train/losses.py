"""What is minimised."""

from __future__ import annotations

from torch import Tensor


def listwise(scores: Tensor, target: Tensor, mask: Tensor) -> Tensor:
    """(queries,) cross-entropy between a soft label and the softmax over a query's own candidates.

    ``scores``, ``target``, ``mask``: (queries, candidates); targets sum to 1 a row; mask False is padding. ListNet's top-one
    loss (Cao et al. 2007).
    """
    log_share = scores.masked_fill(~mask, -1e9).log_softmax(dim=-1)  # (queries, candidates)
    return -(target * log_share).sum(dim=-1)
