"""What a new memory does to those that are there: facts replace, preferences coexist, guesses are marked and replace nothing.

Near-duplicates merge, contradictions never do: two texts that differ in a number, a date, a name or a negation say different things,
however alike they sound.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from hindsight.features import cues
from hindsight.memory.record import Record
from hindsight.text import normalise, terms
from hindsight.types import Hit

ALIKE = 0.92  # cosine from which two memories may be one
SHARED = 0.8  # of their terms
WEAKENED = 0.5  # what a vague change leaves of an old fact's confidence
GUESSED = 0.5  # a guess's confidence, at most
_NEGATES = re.compile(r"\b(no|not|never|none|nothing|without|cannot|\w+n['’]t)\b|不|没|无|别|非", re.I)
_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*|[一二两三四五六七八九十百千]+")


@dataclass(frozen=True, slots=True)
class Decision:
    """``what``: add; replace (``olds`` are superseded); weaken (``olds`` lose confidence, and both stay); merge (into ``olds[0]``);
    drop (it is known already, as ``olds[0]``)."""

    what: Literal["add", "replace", "weaken", "merge", "drop"]
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


def contradict(one: str, other: str) -> bool:
    """Whether two texts differ in a number, a name or a negation: then they are two, whatever else they share."""
    if bool(_NEGATES.search(one)) != bool(_NEGATES.search(other)):
        return True
    if set(_NUMBER.findall(normalise(one))) != set(_NUMBER.findall(normalise(other))):
        return True
    return cues.entities(one) != cues.entities(other)


def same(one: str, other: str, similarity: float) -> bool:
    """Whether two memories say the same, and may become one."""
    if normalise(one) == normalise(other):
        return True
    mine, theirs = set(terms(one)), set(terms(other))
    shared = len(mine & theirs) / max(1, len(mine | theirs))
    return similarity >= ALIKE and shared >= SHARED and not contradict(one, other)


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
