"""Which encoder a checkpoint was trained with, told by what it does: a few texts and their pooled vectors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hindsight.types import DataError, Encoder

TEXTS = ("My sister moved to Lisbon in March.", "Book a table for four at seven, please.", "我下周要去北京出差。")
LEAST_COSINE = 0.999  # another precision or machine stays above .9999; another model or prefix falls far below


@dataclass(frozen=True)
class Golden:
    """``pooled``: (texts, dimension), rounded to 4 decimals, so that the file stays small."""

    fingerprint: str
    texts: tuple[str, ...]
    pooled: tuple[tuple[float, ...], ...]


def golden(encoder: Encoder) -> Golden:
    vectors = [encoded.pooled for encoded in encoder.encode(TEXTS)]
    return Golden(encoder.fingerprint, TEXTS, tuple(tuple(round(float(x), 4) for x in vector) for vector in vectors))


def check(encoder: Encoder, wanted: Golden) -> None:
    """Raises DataError where any text's cosine to its golden vector is below .999, or the dimension differs."""
    for text, row, encoded in zip(wanted.texts, wanted.pooled, encoder.encode(wanted.texts)):
        vector, own = np.asarray(row, np.float32), encoded.pooled
        if vector.shape != own.shape:
            raise DataError(
                "encoder", f"dimension {own.size} of {encoder.fingerprint}", f"{vector.size} of {wanted.fingerprint}"
            )
        norm = float(np.linalg.norm(vector) * np.linalg.norm(own))
        cosine = float(vector @ own) / norm if norm else float(not vector.any() and not own.any())
        if cosine < LEAST_COSINE:
            got = f"cosine {cosine:.4f} for {text!r} by {encoder.fingerprint}"
            raise DataError("encoder", got, f"at least {LEAST_COSINE} to {wanted.fingerprint}")
