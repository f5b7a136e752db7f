"""A real encoder without a model: every word has its own random direction. For tests, and where nothing may be installed.

Texts are near when they share words, and only then. Signed feature hashing: Weinberger et al., ICML 2009.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b

import numpy as np

from hindsight.text import terms
from hindsight.types import ConfigError, Encoded, Floats


@dataclass(frozen=True)
class HashingEncoder:
    """``dimension``: of pooled and of token vectors alike, a multiple of 8 up to 512."""

    dimension: int = 64

    def __post_init__(self) -> None:
        if self.dimension % 8 or not 8 <= self.dimension <= 512:
            raise ConfigError([f"encoder.dimension={self.dimension}: wanted a multiple of 8 from 8 to 512"])

    def build(self) -> HashingEncoder:
        return self

    @property
    def fingerprint(self) -> str:
        return f"hashing dimension={self.dimension}"

    def encode(self, texts: Sequence[str]) -> list[Encoded]:
        """One token a word. A text without words has no tokens and a pooled vector of zeros."""
        return [self._encode(text) for text in texts]

    def _encode(self, text: str) -> Encoded:
        words = [_word(term, self.dimension) for term in terms(text)]
        rows = np.array([row for row, _ in words], np.float32).reshape(-1, self.dimension)
        total = rows.sum(axis=0)
        pooled = total / max(float(np.linalg.norm(total)), 1e-12)
        return Encoded(pooled, np.rint(rows * 127).astype(np.int8), np.array([piece for _, piece in words], np.int32))


@lru_cache(maxsize=65536)
def _word(term: str, dimension: int) -> tuple[Floats, int]:
    """(dimension,) of plus and minus 1/sqrt(dimension), and an id of 31 bits."""
    raw = term.encode("utf-8", "surrogatepass")
    bits = np.unpackbits(np.frombuffer(blake2b(raw, digest_size=dimension // 8).digest(), np.uint8))
    piece = int.from_bytes(blake2b(raw, digest_size=4, person=b"piece").digest(), "little") >> 1
    return (bits * np.float32(2) - np.float32(1)) / np.sqrt(np.float32(dimension)), piece
