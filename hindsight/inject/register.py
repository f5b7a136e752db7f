"""The mask function and the attention function that transformers calls, under ``hindsight_sdpa`` and so on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, Literal

import torch
from torch import Tensor

from hindsight.inject import stock
from hindsight.inject.context import ACTIVE, Context, added, quietest
from hindsight.inject.ways import divided, widened
from hindsight.types import ConfigError

Acting = tuple[bool, ...]  # of each context, whether it acts on a layer
ITSELF = object()  # the mask that a plan hangs on: held by the plan, the two would keep each other alive
WATCHING: dict[
    int, list[Callable[[int, Tensor], None]]
] = {}  # of a config's id: who is told (layer, eager attention weights)


@dataclass(eq=False)
class Plan:
    """What one mask means. It hangs on the mask and dies with it.

    ``queries``, ``keys``: their indices in the row. ``stock``: the mask without a bias. ``way``: ``ready``, ``takes`` has the mask and
    the separate bias (flex attention) of every choice of contexts; ``head`` and ``share`` need the layer's own queries and keys.
    """

    way: Literal["ready", "head", "share"]
    contexts: tuple[Context, ...]
    queries: Tensor
    keys: Tensor
    stock: Any
    takes: dict[Acting, tuple[Any, Tensor | None]] = field(default_factory=dict)


@cache
def once() -> None:
    """Registers ours with transformers, at the first use: importing this package changes nothing."""
    from transformers import AttentionInterface
    from transformers.masking_utils import AttentionMaskInterface

    for name in stock.BACKENDS:
        AttentionInterface.register(stock.MARK + name, torch.compiler.disable(partial(_attend, name)))
        AttentionMaskInterface.register(stock.MARK + name, partial(_mask, name))


@contextmanager
def switched(configs: Sequence[Any], to: str = "") -> Iterator[None]:
    """Ours stand in the place of the stock attention, or of that named ``to``. What stood there comes back."""
    once()
    before = [config._attn_implementation for config in configs]
    for config in configs:
        config._attn_implementation = stock.MARK + (to or stock.base_of(config))
    try:
        yield
    finally:
        for config, name in zip(configs, before):
            config._attn_implementation = name


def _mask(name: str, **where: Any) -> Any:
    """The stock mask, or a biased one in its place; what it means hangs on it."""
    from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS as MASKS

    found = MASKS[name](**where)
    contexts = tuple(ACTIVE.get(id(where.get("config")), ()))
    if not contexts:
        return found
    queries, keys, last = _place(where, contexts[0].logits.device)
    for context in contexts:
        context.saw(last)
    acting = tuple(context for context in contexts if not context.idle)
    if not acting:
        return found

    def dense() -> Tensor:
        """(batch, 1, queries, keys), where the stock one may be None or of blocks."""
        if isinstance(found, Tensor):
            return found
        return MASKS["sdpa" if name == "flex_attention" else name](**{**where, "allow_is_causal_skip": False})

    if acting[0].shares:
        return _hung(Plan("share", acting, queries, keys, found), dense())
    if acting[0].injection.path == "head" and len(queries) > 1:  # of a single query the mask is a row, and costs nothing
        return _hung(Plan("head", acting, queries, keys, ITSELF), found)
    plan = Plan("ready", acting, queries, keys, found)
    biases = [context.bias(where["batch_size"], queries, keys) for context in acting]
    choices = sorted({_acting(acting, layer) for layer in range(acting[0].depth)} - {(False,) * len(acting)})
    if name == "flex_attention" and stock.flex_takes_bias():
        plan.stock = ITSELF
        for choice in choices:
            plan.takes[choice] = ITSELF, _sum(biases, choice).clamp(min=quietest(torch.float32))
        return _hung(plan, found)
    if not choices:
        return found
    base, dtype = dense(), where.get("dtype", torch.float32)
    masks = {choice: added(base, _sum(biases, choice), dtype) for choice in choices}
    plan.takes = {choice: (mask if choice != choices[0] else ITSELF, None) for choice, mask in masks.items()}
    return _hung(plan, masks[choices[0]])


def _attend(
    name: str, module: Any, query: Tensor, key: Tensor, value: Tensor, attention_mask: Any, **rest: Any
) -> tuple[Tensor, Any]:
    """(batch, heads, queries, width), (batch, key heads, keys, width) twice -> (batch, queries, heads, width), and eager's weights."""
    usual, layer = stock.attention(name, module), module.layer_idx
    contexts = ACTIVE.get(id(module.config), ())
    for context in contexts:
        if layer in context.layers:
            context.applied.add(layer)
    acting = tuple(context for context in contexts if not context.idle)
    if not acting:
        found = usual(module, query, key, value, attention_mask, **rest)
    else:
        plan = _plan(attention_mask, key.shape[2], acting)
        chosen = _acting(acting, layer)
        if not any(chosen):
            found = usual(module, query, key, value, attention_mask if plan.stock is ITSELF else plan.stock, **rest)
        elif plan.way == "head":
            found = widened(usual, module, query, key, value, attention_mask, acting[0], plan.queries, plan.keys, **rest)
        else:
            if plan.way == "share":
                bias = divided(query, key, attention_mask, acting[0], plan.queries, plan.keys, **rest)
                if name == "flex_attention":
                    mask = plan.stock
                else:
                    mask, bias = added(attention_mask, bias, query.dtype), None
            else:
                mask, bias = plan.takes[chosen]
                mask = attention_mask if mask is ITSELF else mask
            if bias is not None:
                rest["position_bias"] = bias.expand(len(query), query.shape[1], query.shape[2], key.shape[2])
            elif name == "sdpa" and mask.dtype != query.dtype:  # under autocast
                mask = mask.clamp(min=torch.finfo(query.dtype).min).to(query.dtype)
            found = usual(module, query, key, value, mask, **rest)
    for tell in WATCHING.get(id(module.config), ()):
        tell(layer, found[1])
    return found


def _place(where: dict[str, Any], device: torch.device) -> tuple[Tensor, Tensor, Any]:
    """Indices of the queries (queries,) and of the keys (keys,) in the row, and how many tokens are read with these."""
    keys = torch.arange(where["kv_length"], device=device) + _moved(where.get("kv_offset", 0), device)
    if (position := where.get("cache_position")) is not None:  # as older transformers say it
        return position.to(device), keys, position[-1] + 1
    offset = where.get("q_offset", 0)
    return torch.arange(where["q_length"], device=device) + _moved(offset, device), keys, offset + where["q_length"]


def _moved(offset: Any, device: torch.device) -> Any:
    return offset.to(device) if isinstance(offset, Tensor) else offset


def _acting(contexts: tuple[Context, ...], layer: int) -> Acting:
    return tuple(layer in context.layers for context in contexts)


def _sum(biases: list[Tensor], choice: Acting) -> Tensor:
    chosen = [bias for bias, acts in zip(biases, choice) if acts]
    total = chosen[0]
    for bias in chosen[1:]:
        total = total + bias
    return total


def _hung(plan: Plan, mask: Any) -> Any:
    if mask is None:  # causal, nothing padded: the length says which it is
        plan.contexts[0].plain[len(plan.keys)] = plan
    else:
        mask.hindsight_plan = plan
    return mask


def _plan(mask: Any, keys: int, contexts: tuple[Context, ...]) -> Plan:
    plan = contexts[0].plain.get(keys) if mask is None else getattr(mask, "hindsight_plan", None)
    if plan is None or plan.contexts != contexts:
        wanted = (
            "a mask of (batch, tokens) or none, a model on one device, and backward inside the context that forward was in"
        )
        raise ConfigError([f"the bias can't tell where this mask's keys stand: wanted {wanted}"])
    return plan
