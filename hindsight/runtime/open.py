"""Opens a user's memory: store, encoder, policy."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from hindsight.encoder import golden
from hindsight.encoder.hf import HfEncoderConfig
from hindsight.memory.policy import Policy
from hindsight.memory.store import open_store
from hindsight.memory.working import Tokens
from hindsight.runtime.memory import OpenMemory, Settings
from hindsight.runtime.vectors import StoredVectors
from hindsight.scorer.load import DEFAULT, load
from hindsight.system.build import POLICIES
from hindsight.system.utility import Utility
from hindsight.text import tokens_about
from hindsight.types import Encoder


def open_memory(
    path: str | Path, user_id: str, scorer: str | Path = DEFAULT, encoder: Encoder | None = None, settings: Settings | None = None,
    tokens: Tokens = tokens_about, clock: Callable[[], float] = time.time,
) -> OpenMemory:  # fmt: skip
    """``path``: of the store, which is made where there is none. ``scorer``: a scorer folder, for the utility system. ``encoder``: the
    one that the scorer was trained with where none is given; it must keep nothing on disk. ``tokens``: of the reader's tokenizer.

    Raises DataError where the store or the scorer is none, or the scorer was trained with another encoder.
    """
    settings = settings or Settings()
    vectors = StoredVectors(encoder or HfEncoderConfig().build())
    store = open_store(path)
    try:
        return OpenMemory(
            store, user_id, policy_of(settings, user_id, Path(scorer), vectors), vectors, settings, tokens, clock
        )
    except BaseException:
        store.close()
        raise


def policy_of(settings: Settings, user_id: str, scorer: Path, encoder: Encoder) -> Policy:
    """``scorer``: its folder, which the utility system alone reads."""
    if settings.system != "utility":
        return POLICIES[settings.system]().build(user_id)
    checkpoint = load(scorer)
    golden.check(encoder, checkpoint.encoder_golden)
    return Utility(user_id, checkpoint.scorer, settings.threshold)
