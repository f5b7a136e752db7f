"""The bias inside a Hugging Face causal language model, without a line about any one model.

transformers lets one register an attention function and a mask function under a name. Both are needed: an attention function without
a mask function gets no mask at all. Ours stand under ``hindsight_sdpa`` and so on, and call the stock ones. The mask function knows
where queries and keys stand, whatever the cache; it makes the biased mask once a forward pass, outside of what gradient
checkpointing computes anew, and the layers take it as they would take the stock one. So a layer costs nothing, and a decoding step
one row. Masks stay (batch, 1, queries, keys): no head has a mask of its own but under ``share``, which has to look at the logits.

What holds: a bias of zero everywhere leaves every call as it was. Contexts on one model nest: their spans must not overlap, and their
biases add. A context belongs to the model's configs, not to a thread, since backward runs in others. Backward through gradient
checkpointing belongs inside the context: it computes attention anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from hindsight.inject import stock
from hindsight.inject.bias import Formula, Injection, Queries, Spans, check, logits_of
from hindsight.inject.context import ACTIVE, Context
from hindsight.inject.register import switched
from hindsight.types import ConfigError, DataError


@contextmanager
def memory_bias(
    model: Any,
    spans: Sequence[Spans],
    scores: Sequence[Sequence[float] | Tensor] | Tensor,
    strength: float = 1.0,
    formula: Formula = "log",
    layers: tuple[int, ...] | None = None,
    queries: Queries = "all",
) -> Iterator[Context]:
    """``biased`` with the options that matter most."""
    injection = Injection(strength=strength, formula=formula, layers=layers, queries=queries)
    with biased(model, spans, scores, injection) as context:
        yield context


@contextmanager
def biased(
    model: Any,
    spans: Sequence[Spans],
    scores: Sequence[Sequence[float] | Tensor] | Tensor,
    injection: Injection | None = None,
) -> Iterator[Context]:
    """While it is open, the model's queries see the keys of each span under the bias of its score.

    ``spans``: of each row of the batch, of each memory, [start, end) in tokens of the padded row. ``scores``: of each row (memories,),
    utilities from 0 to 1, with grad if one wants it. Beams and several returned sequences take their row's. Tokens past the spans,
    generated ones too, have no bias.

    Raises DataError on spans that overlap, are empty or lie past what was read (at exit), on scores that are missing or outside 0..1,
    and on a batch of other rows; ConfigError on a model or an attention that can't take a bias, and at exit if it was never applied.
    """
    injection = injection or Injection()
    if len(spans) != len(scores):
        raise DataError(
            "spans", f"{len(spans)} rows, and {len(scores)} of scores", "rows [[(start, end), ...], ...] as the batch has"
        )
    rows = []
    for number, (row, given) in enumerate(zip(spans, scores)):
        check(row, len(given), f"spans of row {number}")
        one = given if isinstance(given, Tensor) else torch.tensor(given, dtype=torch.float32)
        rows.append(logits_of(one.to(model.device, torch.promote_types(one.dtype, torch.float32)), injection))
    configs = stock.configs_of(model)
    context = Context.of(spans, rows, injection, stock.layers_of(configs[0]))
    _refuse(model, context, configs)
    with switched(configs):
        for config in configs:
            ACTIVE.setdefault(id(config), []).append(context)
        try:
            yield context
        finally:
            context.open = False
            for config in configs:
                ACTIVE[id(config)].remove(context)
                if not ACTIVE[id(config)]:
                    del ACTIVE[id(config)]
    context.judge()  # not after an exception, which says more


def _refuse(model: Any, context: Context, configs: Sequence[Any]) -> None:
    """What can be known to fail before anything is computed."""
    base = stock.base_of(configs[0])
    for outer in ACTIVE.get(id(configs[0]), []):
        context.clashes(outer)
    if context.injection.path == "head":
        width = stock.head_width(model, configs[0])
        wrong = {
            f"path=head: attention is {base}; wanted sdpa": base != "sdpa",
            f"path=head: a head has {width} dimensions; wanted a multiple of 8, up to 248": width % 8 or width > 248,
            "path=head: another bias is on this model, or this one is inside of it": id(configs[0]) in ACTIVE,
        }
        if problems := [problem for problem, holds in wrong.items() if holds]:
            raise ConfigError(problems)
    elif any(outer.injection.path == "head" for outer in ACTIVE.get(id(configs[0]), [])):
        raise ConfigError(["path=head is on this model: no other bias inside of it"])
    if context.logits.requires_grad and stock.checkpoints(model):
        if stock.checkpoints(model) == "reentrant":
            raise ConfigError(
                ["gradient checkpointing is reentrant, which loses the scores' gradients: use_reentrant=False"]
            )
        context.logits.register_hook(context.still_open)
