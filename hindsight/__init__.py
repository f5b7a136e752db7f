"""Dialogue logs in, a memory scorer out: it has learned, from what later turns really used, which early memories matter."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hindsight.scorer.load import Checkpoint

__all__ = ["load"]


def load(folder: str | Path) -> Checkpoint:
    """A scorer folder that ``hindsight export`` wrote. Raises ``types.DataError`` where it is missing, foreign or torn."""
    from hindsight.scorer.load import load as read  # torch comes with it, so not before it is wanted

    return read(Path(folder))
