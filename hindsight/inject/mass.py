"""How much of a model's attention lies on each memory."""

from __future__ import annotations

from typing import Any

import torch

from hindsight.inject import stock
from hindsight.inject.prompt import Batch
from hindsight.inject.register import WATCHING, switched
from hindsight.types import ConfigError, Floats


@torch.no_grad()
def attention_mass(model: Any, batch: Batch, queries: int = 1) -> list[Floats]:
    """Of each row (memories,), the share of attention on each memory's tokens, averaged over layers, heads and the last ``queries``
    tokens that are no padding. What is not on a memory is on other tokens.

    Inside of ``biased`` it is what the bias makes of it. Reads by eager attention, whatever the model is set to: the others keep no
    weights. Raises ConfigError on a model that takes no bias, or whose eager attention returns no weights.
    """
    configs = stock.configs_of(model)
    wide = max(map(len, batch.spans))
    member = torch.zeros((len(batch.spans), batch.input_ids.shape[1], wide), device=batch.input_ids.device)
    for row, spans in enumerate(batch.spans):
        for memory, (start, end) in enumerate(spans):
            member[row, start:end, memory] = 1
    ends = batch.input_ids.shape[1] - batch.attention_mask.flip(1).argmax(
        1
    )  # (rows,) past the last token that is no padding
    last = ends[:, None] - torch.arange(1, queries + 1, device=ends.device)
    rows = torch.arange(len(last), device=last.device)[:, None]
    found = []

    def tell(_: int, weights: torch.Tensor) -> None:
        """(rows, heads, tokens, tokens)"""
        found.append((weights.mean(1)[rows, last].float() @ member).mean(1))

    with switched(configs, "eager"):
        for config in configs:
            WATCHING.setdefault(id(config), []).append(tell)
        try:
            model(
                input_ids=batch.input_ids,
                attention_mask=batch.attention_mask,
                position_ids=batch.position_ids,
                use_cache=False,
            )
        finally:
            for config in configs:
                WATCHING[id(config)].remove(tell)
                if not WATCHING[id(config)]:
                    del WATCHING[id(config)]
    if not found:
        raise ConfigError([f"{type(model).__name__}: no layer has shown its attention"])
    mean = torch.stack(found).mean(0).cpu().numpy()
    return [mean[row, : len(spans)] for row, spans in enumerate(batch.spans)]
