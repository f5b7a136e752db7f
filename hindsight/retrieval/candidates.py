"""Which memories are scored at all. A small pool is scored whole."""

from __future__ import annotations

from dataclasses import dataclass

from hindsight.features.timeline import Timeline
from hindsight.types import ConfigError, Ints, Query


@dataclass(frozen=True)
class CandidatesConfig:
    """``limit``: the most memories that are scored for one query."""

    limit: int = 1000

    def build(self) -> Candidates:
        if self.limit < 1:
            raise ConfigError([f"candidates.limit={self.limit}: wanted 1 or more"])
        return Candidates(self)


class Candidates:
    def __init__(self, config: CandidatesConfig) -> None:
        self.config = config

    def rows(self, past: Timeline, query: Query, pool: Ints) -> Ints:
        """(at most ``limit``,) rows of the pool, ascending."""
        return pool[-self.config.limit :]
