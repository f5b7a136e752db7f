"""An encoder whose vectors are kept in the store beside their memories, and nowhere else: what is erased there is gone."""

from __future__ import annotations

from collections.abc import Sequence

from hindsight.encoder.cache import CachedEncoder, pack, unpack
from hindsight.memory.own import Own
from hindsight.memory.record import Record
from hindsight.types import DataError, Encoded, Encoder


class StoredVectors:
    """``inner`` is asked for what is not known; it must keep nothing on disk. Queries are remembered in this process alone."""

    def __init__(self, inner: Encoder, megabytes: int = 64) -> None:
        self.inner = CachedEncoder(inner, None, megabytes << 20)
        self.fingerprint, self.dimension = inner.fingerprint, inner.dimension
        self._loaded: dict[str, Encoded] = {}

    def encode(self, texts: Sequence[str]) -> list[Encoded]:
        missing = [text for text in texts if text not in self._loaded]
        fresh = dict(zip(missing, self.inner.encode(missing))) if missing else {}
        return [fresh[text] if text in fresh else self._loaded[text] for text in texts]

    def load(self, own: Own, records: Sequence[Record]) -> None:
        """The store's vectors of these memories, for the next calls. One that does not unpack is made anew."""
        vectors = own.vectors(self.fingerprint)
        for one in records:
            if (vector := _unpacked(vectors.get(one.memory_id, b""), self.dimension)) is not None:
                self._loaded[one.memory.text] = vector

    def unload(self) -> None:
        """What was loaded is in the view by now."""
        self._loaded = {}

    def save(self, own: Own, records: Sequence[Record]) -> None:
        """Those that the store lacks."""
        known = own.vectored(self.fingerprint)
        lacking = [one for one in records if one.memory_id not in known]
        encoded = self.encode([one.memory.text for one in lacking])
        if lacking:
            own.put_vectors(self.fingerprint, {one.memory_id: pack(vector) for one, vector in zip(lacking, encoded)})


def _unpacked(value: bytes, dimension: int) -> Encoded | None:
    try:
        found = unpack(value)
    except DataError:
        return None
    return found if found.pooled.size == dimension else None
