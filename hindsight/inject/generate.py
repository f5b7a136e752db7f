"""One call from recalled memories to a reply."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from hindsight.inject.attention import biased
from hindsight.inject.bias import Injection
from hindsight.inject.prompt import Message, Prompt, assemble, batched, line
from hindsight.types import ConfigError, DataError, Hit, Memory


@dataclass(frozen=True, slots=True)
class Reply:
    """``ids``: the new tokens, as ``text`` says them. ``scores``: of each memory that the prompt shows."""

    text: str
    ids: tuple[int, ...]
    prompt: Prompt
    scores: tuple[float, ...]


def generate_with_memories(
    model: Any,
    tokenizer: Any,
    messages: Sequence[Message],
    hits: Sequence[Hit],
    memories: Mapping[str, Memory],
    injection: Injection | None = None,
    budget: int = 1024,
    max_new_tokens: int = 256,
    generation: Any = None,
) -> Reply:
    """Answers ``messages`` with the hits' memories in the prompt, best first, each under the bias of its utility.

    ``memories``: by memory_id. ``budget``: tokens for memories, of which the last hits are dropped. ``generation``: a
    GenerationConfig; without one, greedy. Raises DataError on a hit without utility or memory, or on a prompt and reply longer than
    the model's positions; otherwise as ``assemble`` and ``biased``.
    """
    if lacking := [hit.memory_id for hit in hits if hit.utility is None]:
        raise DataError(
            "hits", f"no utility of {', '.join(lacking)}", "a utility from 0 to 1: hits of a system that has a scorer"
        )
    if unknown := [hit.memory_id for hit in hits if hit.memory_id not in memories]:
        raise DataError("memories", f"none with the id {', '.join(unknown)}", "the memory of every hit")
    lines = [line(number, memories[hit.memory_id]) for number, hit in enumerate(hits, 1)]
    prompt = assemble(tokenizer, messages, lines, budget)
    scores = tuple(float(hits[number].utility or 0) for number in prompt.shown)
    new = generation.max_new_tokens if generation is not None and generation.max_new_tokens else max_new_tokens
    most = getattr(model.config.get_text_config(decoder=True), "max_position_embeddings", None)
    if most and len(prompt.ids) + new > most:
        raise DataError("the prompt", f"{len(prompt.ids)} tokens, and {new} to come", f"at most {most}; budget={budget}")
    if generation is not None and (generation.num_return_sequences or 1) > 1:
        raise ConfigError(["num_return_sequences: one call, one reply; use biased and model.generate for several"])
    pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id
    batch = batched([prompt], 0 if pad is None else pad, device=model.device)
    how = {"generation_config": generation} if generation is not None else {"do_sample": False, "max_new_tokens": new}
    with torch.inference_mode(), biased(model, batch.spans, [scores], injection):
        whole = model.generate(input_ids=batch.input_ids, attention_mask=batch.attention_mask, pad_token_id=pad, **how)
    ids = tuple(whole[0, len(prompt.ids) :].tolist())
    return Reply(tokenizer.decode(ids, skip_special_tokens=True), ids, prompt, scores)
