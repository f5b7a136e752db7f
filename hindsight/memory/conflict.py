"""What a new memory does to those that are there: facts replace, preferences coexist, guesses are marked and replace nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from hindsight.memory.record import Record
from hindsight.types import Hit

WEAKENED = 0.5  # what a vague change leaves of an old fact's confidence


@dataclass(frozen=True, slots=True)
class Decision:
    """``what``: add; replace (``olds`` are superseded); weaken (``olds`` lose confidence, and both stay); drop (it is known already, as
    ``olds[0]``)."""

    what: Literal["add", "replace", "weaken", "drop"]
    olds: tuple[str, ...] = ()


def decide(new: Record, active: Sequence[Record], change: str = "explicit", again: bool = False) -> Decision:
    """A fact against the active ones of the same ``about``. ``change``: as ``facts.Fact`` has it; a fact that simply says another value
    replaces too, unless it is vague. ``again``: the vague change has been said before."""
    same = [one for one in active if new.about and one.about == new.about and one.memory_id != new.memory_id]
    known = [one for one in same if one.value == new.value]
    if known:
        surer = [one for one in known if one.memory.kind != "guess" or new.memory.kind == "guess"]
        return (
            Decision("drop", (surer[0].memory_id,)) if surer else Decision("replace", tuple(one.memory_id for one in known))
        )
    if new.memory.kind == "guess":
        return Decision("add")
    others = tuple(one.memory_id for one in same if one.memory.kind in ("fact", "guess"))
    if new.memory.kind == "preference" or not others:
        return Decision("add")
    if change == "vague" and not again:
        return Decision("weaken", others)
    return Decision("replace", others)


def last(memory_id: str, successors: Mapping[str, str]) -> str:
    """The end of the chain of successors; where it goes in a circle, which no store has, the memory itself."""
    seen, after = {memory_id}, memory_id
    while after in successors:
        after = successors[after]
        if after in seen:
            return memory_id
        seen.add(after)
    return after


def in_order(hits: Sequence[Hit], successors: Mapping[str, str]) -> list[Hit]:
    """The same hits, each old value behind what superseded it; all else keeps its order.

    ``successors``: memory_id -> memory_id of what came after, one step of a chain.
    """
    place = {hit.memory_id: n for n, hit in enumerate(hits)}
    found: list[Hit] = []
    done: set[str] = set()
    for hit in hits:
        chain, after, seen = [hit], hit.memory_id, {hit.memory_id}
        while (after := successors.get(after, "")) and after not in seen:
            seen.add(after)
            if after in place:
                chain.append(hits[place[after]])
        for one in reversed(chain):  # the newest first
            if one.memory_id not in done:
                done.add(one.memory_id)
                found.append(one)
    return found
