"""An encoder whose vectors are kept in the store beside their memories, and nowhere else: what is erased there is gone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hindsight.encoder.cache import CachedEncoder, pack, unpack
from hindsight.memory.own import Own
from hindsight.memory.record import Record
from hindsight.types import DataError, Encoded, Encoder


class StoredVectors:
    """``inner`` is asked for what is not known; it must keep nothing on disk. Queries are remembered in this process alone."""

    def __init__(self, inner: Encoder, megabytes: int = 64) -> None:
        self.inner = CachedEncoder(inner, None, megabytes << 20)
        self.fingerprint, self.dimension = inner.fingerprint, inner.dimension
        self._loaded: dict[str, bytes] = {}

    def encode(self, texts: Sequence[str]) -> list[Encoded]:
        missing = [text for text in texts if text not in self._loaded]
        fresh = dict(zip(missing, self.inner.encode(missing))) if missing else {}
        return [fresh[text] if text in fresh else unpack(self._loaded[text]) for text in texts]

    def load(self, own: Own, records: Sequence[Record]) -> None:
        """The store's vectors of these memories, for the next calls. One that does not unpack is made anew."""
        vectors = own.vectors(self.fingerprint)
        self._loaded = {
            one.memory.text: vectors[one.memory_id] for one in records if _whole(vectors, one.memory_id, self.dimension)
        }

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


def _whole(vectors: Mapping[str, bytes], memory_id: str, dimension: int) -> bool:
    if memory_id not in vectors:
        return False
    try:
        return unpack(vectors[memory_id]).pooled.size == dimension
    except DataError:
        return False
