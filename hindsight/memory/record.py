"""The noun of the store: a memory and its life so far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hindsight.types import Memory

Layer = Literal["episodic", "semantic", "procedural"]  # working memory is never stored
Status = Literal["active", "superseded", "archived"]  # in Memory.status; an erased memory does not exist
Origin = Literal["user", "tool", "assistant", "inferred", "knowledge"]  # who says so

LAYERS: tuple[Layer, ...] = ("episodic", "semantic", "procedural")
STATUSES: tuple[Status, ...] = ("active", "superseded", "archived")
ORIGINS: tuple[Origin, ...] = ("user", "tool", "assistant", "inferred", "knowledge")


def origin_of(role: str) -> Origin:
    """Who says what a turn of this role says."""
    return "tool" if role == "tool" else "assistant" if role == "assistant" else "user"


@dataclass(frozen=True, slots=True)
class Record:
    """Times are Unix seconds. ``about``: what a fact is of (``user/city``), unique among a user's active facts, "" for what is no
    fact; ``value``: what it says of it. ``successor``: the memory that superseded it."""

    memory: Memory
    layer: Layer = "episodic"
    origin: Origin = "user"
    about: str = ""
    value: str = ""
    version: int = 1
    written: float = 0.0
    read: float | None = None
    reads: int = 0
    expires: float | None = None
    successor: str | None = None

    @property
    def memory_id(self) -> str:
        return self.memory.memory_id

    @property
    def status(self) -> str:
        return self.memory.status
