"""Working memory: what of the dialogue the model still sees. Bounded in tokens; what goes first is unimportant and old, not just old."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from hindsight.memory.gate import importance
from hindsight.types import Turn

Tokens = Callable[[str], int]
HALF = 8.0  # turns in which a turn loses half its weight


@dataclass
class Working:
    """``budget``: tokens. The last turn always stays: a turn that is larger than the budget stands alone."""

    budget: int
    tokens: Tokens
    turns: list[Turn] = field(default_factory=list[Turn])
    used: int = 0

    def add(self, turn: Turn) -> list[Turn]:
        """Returns what had to go, in order."""
        self.turns.append(turn)
        self.used += self.tokens(turn.text)
        gone: list[Turn] = []
        while self.used > self.budget and len(self.turns) > 1:
            ages = range(len(self.turns) - 1, 0, -1)
            weights = [importance(one.text) * 0.5 ** (age / HALF) for one, age in zip(self.turns, ages)]
            out = self.turns.pop(weights.index(min(weights)))
            self.used -= self.tokens(out.text)
            gone.append(out)
        return sorted(gone, key=lambda one: one.position)

    def clear(self) -> None:
        """A task has ended."""
        self.turns.clear()
        self.used = 0
