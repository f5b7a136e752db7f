"""Utilities become a bias on a language model's attention: it reads the memories that are likely to be used more than the rest.

    with memory_bias(model, spans=[[(12, 30), (30, 51)]], scores=[[0.9, 0.1]]):
        model.generate(**prompt)

Nothing here is loaded before it is asked for: torch and transformers come with the first name.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hindsight.inject.attention import biased, memory_bias
    from hindsight.inject.bias import Injection
    from hindsight.inject.generate import generate_with_memories
    from hindsight.inject.mass import attention_mass
    from hindsight.inject.prompt import assemble, batched
    from hindsight.inject.tune import tune_bias

_WHERE = {
    "Injection": "bias",
    "assemble": "prompt",
    "attention_mass": "mass",
    "batched": "prompt",
    "biased": "attention",
    "generate_with_memories": "generate",
    "memory_bias": "attention",
    "tune_bias": "tune",
}

__all__ = [
    "Injection",
    "assemble",
    "attention_mass",
    "batched",
    "biased",
    "generate_with_memories",
    "memory_bias",
    "tune_bias",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_WHERE[name]}"), name)
