"""The nearest pooled vectors of one user, by FAISS: exact while that is quick, then by an inverted file.

From ``EXACT`` vectors on (a reading of all 384 columns costs 4 ms there on one core, and five times as much at 100,000) vectors are put
into cells around centroids (Jegou et al. 2011, "Product quantization for nearest neighbor search", section IV: IVF, here without the
quantisation), and only the cells nearest to the query are read. Centroids are found once at ``EXACT`` vectors and again each time there
are four times as many, of just so many: an index that grew and one made anew are the same.
"""

from __future__ import annotations

import faiss
import numpy as np

from hindsight.features.timeline import Timeline
from hindsight.retrieval.order import best, is_in
from hindsight.types import DataError, Floats, Ints

EXACT = 20_000
CELLS = 1.5  # times the root of the vectors that the centroids are found of
READ = 1 / 4  # of the cells: of the nearest 200 of 100,000 texts 98.8 % are found (LOG.md)
_ROUNDS, _SEED = 8, 1234  # of k-means


class Index:
    """Rows in order of ``add``. ``fingerprint``: of the encoder whose vectors it holds, and the only one that it takes. ``exact``: up to
    how many vectors all are compared."""

    def __init__(self, fingerprint: str, dimension: int, exact: int = EXACT) -> None:
        self.fingerprint, self.dimension = fingerprint, dimension
        self._faiss: faiss.Index = faiss.IndexFlatIP(dimension)
        self._next = exact  # vectors at which centroids are found anew

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
        self._follow(past)
        wanted = k + len(self) - len(pool) + 1  # rows outside the pool may come first; one more shows a tie at the end
        while True:
            wanted = min(wanted, len(self))
            scores, rows = (found[0] for found in self._faiss.search(vector[None].astype(np.float32), wanted))
            known = int((rows >= 0).sum())  # fewer than wanted where the cells hold no more
            if known < wanted or wanted == len(self) or scores[k - 1] > scores[-1]:
                break
            wanted *= 2
        rows, scores = rows[:known], scores[:known]
        inside = is_in(pool, rows)
        rows, scores = rows[inside], scores[inside]
        return rows[best(past, rows, scores, k)]

    def _follow(self, past: Timeline) -> None:
        while len(past) >= self._next:
            self._faiss = _cells(past.pooled.view[: self._next])
            self._next *= 4
        if len(past) > len(self):
            self.add(past.pooled.view[len(self) :], past.encoder.fingerprint)

    def _check(self, fingerprint: str) -> None:
        if fingerprint != self.fingerprint:
            raise DataError("index", f"vectors of {fingerprint}", f"those of {self.fingerprint}: build the index anew")


def _cells(vectors: Floats) -> faiss.Index:
    """An inverted file with the centroids of these vectors, and nothing in it."""
    dimension, cells = vectors.shape[1], max(1, int(CELLS * len(vectors) ** 0.5))
    index = faiss.IndexIVFFlat(faiss.IndexFlatIP(dimension), dimension, cells, faiss.METRIC_INNER_PRODUCT)
    index.cp.niter, index.cp.seed, index.cp.min_points_per_centroid = _ROUNDS, _SEED, 1
    index.train(np.ascontiguousarray(vectors, np.float32))
    index.nprobe = max(1, round(cells * READ))
    return index
