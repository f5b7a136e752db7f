"""The nearest pooled vectors of one user, by FAISS. Exact: at the sizes of one person's memories nothing else is needed."""

from __future__ import annotations

import faiss
import numpy as np

from hindsight.features.timeline import Timeline
from hindsight.retrieval.order import best, is_in
from hindsight.types import DataError, Floats, Ints


class Index:
    """Rows in order of ``add``. ``fingerprint``: of the encoder whose vectors it holds, and the only one that it takes."""

    def __init__(self, fingerprint: str, dimension: int) -> None:
        self.fingerprint = fingerprint
        self._faiss = faiss.IndexFlatIP(dimension)

    def __len__(self) -> int:
        return self._faiss.ntotal

    def add(self, vectors: Floats, fingerprint: str) -> None:
        """(rows, dimension), unit length. Raises DataError for vectors of another encoder."""
        self._check(fingerprint)
        self._faiss.add(np.ascontiguousarray(vectors, np.float32))

    def nearest(self, past: Timeline, pool: Ints, vector: Floats, k: int) -> Ints:
        """(at most k,) rows of the pool by inner product, best first, ties by memory_id. Adds what the past has gained.

        Raises DataError for a past of another encoder.
        """
        self._check(past.encoder.fingerprint)
        if len(past) > len(self):
            self.add(past.pooled.view[len(self) :], past.encoder.fingerprint)
        wanted = k + len(self) - len(pool) + 1  # rows outside the pool may come first; one more shows a tie at the end
        while True:
            wanted = min(wanted, len(self))
            scores, rows = (found[0] for found in self._faiss.search(vector[None].astype(np.float32), wanted))
            if wanted == len(self) or scores[k - 1] > scores[-1]:
                break
            wanted *= 2
        inside = is_in(pool, rows)
        rows, scores = rows[inside], scores[inside]
        return rows[best(past, rows, scores, k)]

    def _check(self, fingerprint: str) -> None:
        if fingerprint != self.fingerprint:
            raise DataError("index", f"vectors of {fingerprint}", f"those of {self.fingerprint}: build the index anew")
