import itertools

import pytest

from hindsight.encoder.hashing import HashingEncoder
from hindsight.runtime.memory import Settings
from hindsight.runtime.open import open_memory


@pytest.fixture
def opened(tmp_path):
    """(user, system) -> a memory in one store, with a clock that goes on a minute a call. No model."""
    clock = itertools.count(1_700_000_000, 60)
    open_ones = []

    def make(user="ann", system="bionic", **settings):
        found = open_memory(
            tmp_path / "store.db",
            user,
            encoder=HashingEncoder(32),
            settings=Settings(system, **settings),
            clock=lambda: float(next(clock)),
        )
        open_ones.append(found)
        return found

    yield make
    for one in open_ones:
        one.close()
