"""A large model reads the best of a cheap ranking again: a causal language model, or a cross-encoder.

The first stage is RRF of BM25 and dense. What was read stands first, by the model's score; the rest follows in the first stage's order.

- ``lm_reranker``: log-likelihood of the query given the memory, a token (Sachan et al. 2022, "Improving passage retrieval with zero-shot
  question generation", arXiv:2204.07496; there with a larger model and another prompt).
- ``cross_encoder``: one logit of the pair (Nogueira and Cho 2019, arXiv:1901.04085), of any Hugging Face model for sequence
  classification, sentence-transformers' among them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from hindsight.encoder.cache import default_folder
from hindsight.features.timeline import Timeline
from hindsight.lm.cache import CachedLm
from hindsight.lm.local import DEFAULT, LocalLm
from hindsight.retrieval.order import best
from hindsight.system.baselines import Plain, rrf
from hindsight.system.past import Past
from hindsight.types import ConfigError, DataError, Ints, Query

Doubles = npt.NDArray[np.float64]
Reads = Callable[[str, Sequence[str]], Doubles]  # (query, memories) -> (memories,) scores
LETTERS = 2000  # of a memory that are read
ASKED = "\nA question that this answers:"
BEHIND = 1.0  # how far what was not read stands behind what was


@dataclass(frozen=True)
class Reranker:
    """``first``: memories that are read again. ``model``, ``dtype``: of lm_reranker, as lm/local.py. ``cross_encoder``: a folder or a
    hub id; ``batch``: pairs at a time."""

    first: int = 30
    model: str = DEFAULT
    dtype: Literal["float32", "bfloat16"] = "float32"
    cross_encoder: str = ""
    batch: int = 16

    def __post_init__(self) -> None:
        wrong = {"first": self.first, "batch": self.batch}
        if problems := [f"reranker.{name}={value}: wanted 1 or more" for name, value in wrong.items() if value < 1]:
            raise ConfigError(problems)


def reranked(name: Literal["lm_reranker", "cross_encoder"], past: Past, config: Reranker) -> Plain:
    """Raises ConfigError or DataError where the model is not there."""
    read, first = (_by_lm if name == "lm_reranker" else _by_pairs)(config), rrf(past)

    def scores(known: Timeline, rows: Ints, query: Query) -> Doubles:
        cheap = np.asarray(first.scores(known, rows, query), np.float64)
        order = best(known, rows, cheap, len(rows))
        found = np.empty(len(rows))
        top = order[: config.first]
        found[top] = read(query.text, [known.memories[row].text[:LETTERS] for row in rows[top].tolist()])
        least = float(found[top].min()) - BEHIND
        found[order[config.first :]] = least - np.arange(len(order) - len(top))
        return found

    return Plain(name, past, scores)


@lru_cache(maxsize=2)
def _by_lm(config: Reranker) -> Reads:
    model = CachedLm(LocalLm(config.model, config.dtype).build(), default_folder())

    def read(query: str, memories: Sequence[str]) -> Doubles:
        found = model.likelihoods("", [f"{memory}{ASKED}" for memory in memories], f" {query}")
        return np.array([one.total / one.tokens for one in found])

    return read


@lru_cache(maxsize=2)
def _by_pairs(config: Reranker) -> Reads:
    if not config.cross_encoder:
        raise ConfigError(["system 'cross_encoder' needs a model: give reranker.cross_encoder=FOLDER_OR_HUB_ID"])
    tokenizer, model = _loaded(config.cross_encoder)

    def read(query: str, memories: Sequence[str]) -> Doubles:
        import torch

        found: list[float] = []
        with torch.inference_mode():
            for at in range(0, len(memories), config.batch):
                some = list(memories[at : at + config.batch])
                inputs = tokenizer(
                    [query] * len(some), some, padding=True, truncation="longest_first", max_length=512, return_tensors="pt"
                )
                found += model(**inputs).logits[:, 0].float().tolist()
        return np.array(found)

    return read


def _loaded(name: str) -> tuple[Any, Any]:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    wanted = "a folder or a reachable hub id of a model for sequence classification"
    if not Path(name).is_dir() and (Path(name).is_absolute() or name.startswith(".")):
        raise DataError(f"reranker.cross_encoder={name}", "no such folder", wanted)
    try:
        tokenizer: Any = AutoTokenizer.from_pretrained(name)
        model, told = AutoModelForSequenceClassification.from_pretrained(name, output_loading_info=True)
    except Exception as error:  # the hub client and the loaders raise a dozen kinds; each means the same here
        raise DataError(f"reranker.cross_encoder={name}", error, wanted) from error
    if told["missing_keys"]:
        missing = ", ".join(sorted(told["missing_keys"])[:3])
        raise DataError(f"reranker.cross_encoder={name}", f"no weights for {missing}", wanted)
    if model.config.num_labels != 1:
        raise DataError(f"reranker.cross_encoder={name}", f"{model.config.num_labels} labels", "one: how well a pair fits")
    return tokenizer, model.eval()
