"""What the attention bias costs, against the same model without it, in the same run:

    OMP_NUM_THREADS=1 python bench/inject.py                                Gemma 3 270m, float32, 512 and 2048 tokens
    OMP_NUM_THREADS=1 python bench/inject.py --model llama --path head      a random Llama of that size, the head's further dimension
    OMP_NUM_THREADS=1 python bench/inject.py --tokens 512 2048 8192 --formula share

One JSON line a length. Prefill is one forward pass over the prompt that fills a cache, decode a token more, ``--steps`` of them. A
turn of each by the plain model and by the biased one, which of them first alternating; medians of processor time in milliseconds
(``--clock wall`` where the machine is one's own, or has a GPU). ``overhead``: the median over turns of biased / plain, less 1, and
``noise`` half the range between the quartiles of that. Half of the prompt is memories of 64 tokens; scores are random.
"""

from __future__ import annotations

import argparse
import inspect
import random
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import torch

from hindsight.inject import Injection, biased
from hindsight.io import to_json
from hindsight.lm.local import DEFAULT, LocalLm

SPAN = 64


def llama(dtype: torch.dtype) -> Any:
    """Random weights, as wide as Gemma 3 270m but for its vocabulary; heads of 64, so that they can be widened."""
    from transformers import AutoModelForCausalLM, LlamaConfig

    config = LlamaConfig(
        vocab_size=32000,
        hidden_size=640,
        intermediate_size=2048,
        num_hidden_layers=18,
        num_attention_heads=8,
        num_key_value_heads=2,
        head_dim=64,
        max_position_embeddings=16384,
    )
    return AutoModelForCausalLM.from_config(config, dtype=dtype).eval()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default=DEFAULT, help="llama, or what lm/local.py takes")
    parser.add_argument("--dtype", default="float32", choices=["bfloat16", "float32"])
    parser.add_argument("--tokens", type=int, nargs="+", default=[512, 2048])
    parser.add_argument("--formula", default="log", choices=["log", "linear", "share"])
    parser.add_argument("--path", default="mask", choices=["mask", "head"])
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--clock", default="processor", choices=["processor", "wall"])
    asked = parser.parse_args()
    model = (
        llama(getattr(torch, asked.dtype))
        if asked.model == "llama"
        else LocalLm(asked.model, asked.dtype).build()._loaded[1]
    )
    clock: Callable[[], float] = time.process_time if asked.clock == "processor" else time.perf_counter
    draw = random.Random(0)
    for tokens in asked.tokens:
        ids = torch.tensor([[draw.randrange(5, model.config.vocab_size) for _ in range(tokens)]], device=model.device)
        spans = [(start, start + SPAN) for start in range(tokens // 4, 3 * tokens // 4, SPAN)]
        scores = [[draw.random() for _ in spans]]
        injection = Injection(formula=asked.formula, path=asked.path)
        spent: dict[tuple[str, str], list[float]] = {}
        for turn in range(-1, asked.turns):  # the first one warms up
            for name in ("plain", "biased") if turn % 2 else ("biased", "plain"):
                with torch.inference_mode(), nullcontext() if name == "plain" else biased(model, [spans], scores, injection):
                    seconds = _once(model, ids, asked.steps, clock)
                if turn >= 0:
                    for part, value in seconds.items():
                        spent.setdefault((part, name), []).append(value * 1000)
        row: dict[str, Any] = {"model": asked.model, "dtype": asked.dtype, "threads": torch.get_num_threads(), "tokens": tokens,
                               "memories": len(spans), "formula": asked.formula, "path": asked.path, "turns": asked.turns,
                               "clock": asked.clock}  # fmt: skip
        for part in ("prefill", "decode"):
            plain, ours = (np.array(spent[part, name]) for name in ("plain", "biased"))
            low, middle, high = np.percentile(ours / plain - 1, [25, 50, 75])
            row[part] = {
                "plain_ms": round(float(np.median(plain)), 2),
                "biased_ms": round(float(np.median(ours)), 2),
                "overhead": round(float(middle), 4),
                "noise": round(float(high - low) / 2, 4),
            }
        print(to_json(row), flush=True)


def _once(model: Any, ids: torch.Tensor, steps: int, clock: Callable[[], float]) -> dict[str, float]:
    """Seconds of the prefill, and of the median step after it."""
    from transformers import DynamicCache

    argument = "cache" if "cache" in inspect.signature(model.forward).parameters else "past_key_values"
    kept = {argument: DynamicCache(config=model.config), "use_cache": True}
    began = _now(clock)
    found = model(ids, **kept, logits_to_keep=1)
    prefill, each = _now(clock) - began, []
    for _ in range(steps):
        began = _now(clock)
        found = model(found.logits[:, -1:].argmax(-1), **kept)
        each.append(_now(clock) - began)
    return {"prefill": prefill, "decode": float(np.median(each))}


def _now(clock: Callable[[], float]) -> float:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return clock()


if __name__ == "__main__":
    main()
