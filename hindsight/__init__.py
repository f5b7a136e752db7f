"""Dialogue logs in, a memory scorer out: it has learned, from what later turns really used, which early memories matter."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hindsight.runtime.memory import OpenMemory
    from hindsight.scorer.load import Checkpoint

__all__ = ["load", "open_memory"]


def load(folder: str | Path) -> Checkpoint:
    """A scorer folder that ``hindsight export`` wrote. Raises ``types.DataError`` where it is missing, foreign or torn."""
    from hindsight.scorer.load import load as read  # torch comes with it, so not before it is wanted

    return read(Path(folder))


def open_memory(path: str | Path, user_id: str, **settings: Any) -> OpenMemory:
    """One user's memory in a store, which is made where there is none: see ``hindsight.runtime.open.open_memory`` for the settings."""
    from hindsight.runtime.open import open_memory as opened

    return opened(path, user_id, **settings)
