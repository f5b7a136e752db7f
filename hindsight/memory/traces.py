"""What a recall did: what set it off, what was shown at which rank and with which chance, and what the reply used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shown:
    """``chance``: with which this memory was shown at all; below 1 where the exposure is random."""

    memory_id: str
    rank: int
    chance: float = 1.0


@dataclass(frozen=True, slots=True)
class Trace:
    """``trigger``: why it was recalled, "" for a turn without a recall. ``hits``: over the threshold. ``cited``: of those shown, what
    the reply used. ``at``: Unix seconds; ``position``: of the next turn; ``tokens``: of what was shown."""

    at: float
    position: int
    trigger: str = ""
    hits: int = 0
    shown: tuple[Shown, ...] = ()
    cited: tuple[str, ...] = ()
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Rates:
    """Shares; None where there is nothing to take a share of. ``hit``: of the recalls, those with one over the threshold;
    ``citation``: of those shown, what replies used."""

    turns: int
    trigger: float | None
    hit: float | None
    citation: float | None
    written_an_hour: float | None


def rates(traces: Sequence[Trace], written: Sequence[float]) -> Rates:
    """``written``: when each memory was, Unix seconds."""
    recalled = [one for one in traces if one.trigger]
    shown = sum(len(one.shown) for one in recalled)
    hours = (max(written) - min(written)) / 3600 if len(written) > 1 else 0.0
    return Rates(
        len(traces),
        len(recalled) / len(traces) if traces else None,
        sum(one.hits > 0 for one in recalled) / len(recalled) if recalled else None,
        sum(len(one.cited) for one in recalled) / shown if shown else None,
        len(written) / hours if hours else None,
    )
