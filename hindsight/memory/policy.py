"""What makes a memory system: what it writes, what it makes of it later, and what it recalls. hindsight/system/ has five."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from hindsight.memory.record import Record
from hindsight.memory.view import View
from hindsight.types import Hit, Query, Turn


class Policy(Protocol):
    """All three see the past alone: turns that have been said, and records of one user."""

    def written(self, turns: Sequence[Turn], known: View) -> list[Record]:
        """What new turns of one user, in order, are remembered as, at once."""
        ...

    def consolidated(self, turns: Sequence[Turn], known: View) -> list[Record]:
        """What is made of a batch of them later. Raises Unconsolidated where nothing can be: the batch is tried again."""
        ...

    def recalled(self, known: View, query: Query, k: int) -> list[Hit]:
        """Best first; ``why`` sums to the score."""
        ...
