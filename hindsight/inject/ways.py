"""Two ways to bias that need a layer's own queries and keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from hindsight.inject.context import Context, quietest

WIDER = 8  # dimensions: two are used, fused kernels want a multiple of 8


def widened(
    usual: Callable[..., tuple[Tensor, Any]],
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Any,
    context: Context,
    queries: Tensor,
    keys: Tensor,
    **rest: Any,
) -> tuple[Tensor, Any]:
    """Attention whose heads are a few dimensions wider: 1 in the query, bias / scale in the key, 0 in the value.

    The same logits without a mask of floats, so that fused kernels for causal attention stay in use. The bias stands in two
    dimensions, rounded and what the rounding lost, or half precision would lose the third digit.
    """
    width = query.shape[-1]
    scale = rest.pop("scaling", None) or width**-0.5
    raised = (context.by_key(len(key), keys) / scale).clamp(min=quietest(key.dtype))  # (batch, keys)
    coarse = raised.to(key.dtype)
    fine = (raised - coarse.float()).to(key.dtype)
    sides = pad(torch.stack([coarse, fine], -1), (0, WIDER - 2))[:, None].expand(-1, key.shape[1], -1, -1)
    gate = context.gate(len(query), queries).to(query.dtype).expand(len(query), query.shape[1], query.shape[2], 1)
    wide_query = torch.cat([query, pad(gate.expand(-1, -1, -1, 2), (0, WIDER - 2))], -1)
    wide_key, wide_value = torch.cat([key, sides], -1), pad(value, (0, WIDER))
    found, weights = usual(module, wide_query, wide_key, wide_value, mask, scaling=scale, **rest)
    return found[..., :width].contiguous(), weights


def divided(
    query: Tensor, key: Tensor, mask: Tensor, context: Context, queries: Tensor, keys: Tensor, **rest: Any
) -> Tensor:
    """(batch, heads, queries, keys) the bias of ``share``. Computes all logits: it costs what eager attention costs.

    ``mask``: bool or floats, without a bias.
    """
    scale = rest.get("scaling") or query.shape[-1] ** -0.5
    spread = key.repeat_interleave(query.shape[1] // key.shape[1], 1)
    logits = (query @ spread.mT).float() * scale
    if (cap := rest.get("softcap")) is not None:
        logits = cap * torch.tanh(logits / cap)
    logits = logits.masked_fill(~mask, quietest(torch.float32)) if mask.dtype == torch.bool else logits + mask
    return context.share(logits, queries, keys)
