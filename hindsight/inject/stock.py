"""What transformers brings: which versions, which models take a bias, and the attention that ours stand in for."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import transformers

from hindsight.types import ConfigError

OLDEST, NEWEST = (4, 56), (6, 0)  # from, and below: tested with 4.56.0 and 5.24.0
BACKENDS = ("sdpa", "eager", "flex_attention")
MARK = "hindsight_"


def configs_of(model: Any) -> list[Any]:
    """The configs that the model's decoder layers read: one in a model of text, the first being the decoder's own.

    Raises ConfigError where no bias is possible: transformers too old or new, an encoder-decoder, an attention that does not go
    through the interface of transformers (state spaces, code of one's own), or a backend that has no place for a bias.
    """
    version = tuple(int(part) for part in transformers.__version__.split(".")[:2])
    if not OLDEST <= version < NEWEST:
        known = f"from {'.'.join(map(str, OLDEST))}, below {NEWEST[0]}"
        raise ConfigError([f"transformers {transformers.__version__}: the attention bias is known to work {known}"])
    own = model.config.get_text_config(decoder=True)
    name = type(model).__name__
    if getattr(model.config, "is_encoder_decoder", False):
        raise ConfigError([f"{name}: wanted a decoder alone, this has an encoder"])
    found = {id(own): own}
    attends = False
    for module in model.modules():
        if type(config := getattr(module, "config", None)) is type(own):
            found[id(config)] = config
            attends = attends or (hasattr(module, "layer_idx") and _homes(module, "ALL_ATTENTION_FUNCTIONS") != [])
    if not attends:
        raise ConfigError(
            [f"{name}: its attention does not go through transformers' AttentionInterface, so it takes no bias"]
        )
    if base_of(own) not in BACKENDS:
        raise ConfigError(
            [f"{name}: attention is {base_of(own)}; wanted {', '.join(BACKENDS)} (model.set_attn_implementation)"]
        )
    return list(found.values())


def base_of(config: Any) -> str:
    """The stock attention's name, whether or not ours stands in its place."""
    return str(config._attn_implementation).removeprefix(MARK)


def layers_of(config: Any) -> int:
    return int(config.num_hidden_layers)


def head_width(model: Any, config: Any) -> int:
    return int(getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads)


def checkpoints(model: Any) -> str:
    """Whether gradient checkpointing is on: "", "reentrant" or "fresh"."""
    for module in model.modules():
        if getattr(module, "gradient_checkpointing", False):
            options = getattr(getattr(module, "_gradient_checkpointing_func", None), "keywords", {})
            return "reentrant" if options.get("use_reentrant", True) else "fresh"
    return ""


def attention(name: str, module: Any) -> Callable[..., Any]:
    """The stock function. Eager attention is the model's own, from its modelling module: it keeps soft caps and sinks."""
    if name != "eager":
        from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

        return ALL_ATTENTION_FUNCTIONS[name]
    for home in _homes(module, "eager_attention_forward"):
        return home.eager_attention_forward
    raise ConfigError([f"{type(module).__name__}: its modelling module has no eager_attention_forward"])


@cache
def flex_takes_bias() -> bool:
    """Whether flex attention has an argument for a bias. Older ones take a mask of floats, and lose the mask's blocks."""
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    return "position_bias" in inspect.signature(ALL_ATTENTION_FUNCTIONS["flex_attention"]).parameters


def _homes(module: Any, name: str) -> list[Any]:
    """The modules of Python that define its class or a base of it, and hold ``name``."""
    homes = (sys.modules.get(kind.__module__) for kind in type(module).__mro__)
    return [home for home in homes if hasattr(home, name)]
