"""What goes into the prompt: background facts, dated history, the conversation; in a token budget in which the conversation wins.

The marks are those that the miner takes out again (miner/wording.py), so what is shown is never remembered a second time. A memory is
data: one line, whatever its text holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hindsight.memory.record import Record
from hindsight.memory.working import Tokens
from hindsight.types import Turn

BACKGROUND, HISTORY, CONVERSATION = "[user background]", "[related history]", "[conversation]"


@dataclass(frozen=True)
class Budget:
    """Tokens. ``window``: of the reader's; ``reply``: kept free for what it says; ``memory``: of memories, at most."""

    window: int = 8192
    reply: int = 2500
    memory: int = 800


@dataclass(frozen=True, slots=True)
class Assembled:
    """``shown``: ids of the memories in the text, as they stand there. ``left``: of those that did not fit. ``dropped``: turns of the
    conversation, from its start, that did not fit with no memory at all."""

    text: str
    shown: tuple[str, ...]
    left: tuple[str, ...]
    dropped: int
    tokens: int


def line(record: Record) -> str:
    """``- [memory 2023-05-08 | said by user] I moved to Oslo.``"""
    memory = record.memory
    guessed = " | unsure" if memory.kind == "guess" or (memory.confidence is not None and memory.confidence < 0.5) else ""
    mark = f"[memory {(memory.time or '')[:10] or memory.memory_id[:8]} | said by {record.origin}{guessed}]"
    return f"- {mark} {plain(memory.text)}"


def plain(text: str) -> str:
    """One line, in which no mark of ours opens or closes anything."""
    return " ".join(text.split()).replace("[", "(").replace("]", ")").replace("<", "‹").replace(">", "›")


def assemble(ranked: Sequence[Record], conversation: Sequence[Turn], tokens: Tokens, budget: Budget) -> Assembled:
    """``ranked``: best first; the worst are left out where the budget ends, and what the conversation says itself. Facts stand before
    events, events by their time."""
    said = [f"{turn.speaker or turn.role}: {turn.text}" for turn in conversation]
    room = budget.window - budget.reply - tokens(CONVERSATION + "\n")
    dropped, used = 0, tokens("\n".join(said))
    while used > room and dropped < len(said) - 1:
        dropped += 1
        used = tokens("\n".join(said[dropped:]))
    frame = tokens(f"{BACKGROUND}\n{HISTORY}\n")
    free = min(budget.memory, room - used) - frame
    chosen: list[Record] = []
    there = {turn.position for turn in conversation[dropped:]}
    for one in ranked:
        if one.memory.kind == "turn" and there.issuperset(one.memory.sources):
            continue
        cost = tokens(f"{line(one)}\n")
        if cost <= free:
            chosen.append(one)
            free -= cost
    facts = [one for one in chosen if one.layer == "semantic"]
    events = sorted((one for one in chosen if one.layer != "semantic"), key=lambda one: (one.memory.sources, one.memory_id))
    parts = [BACKGROUND, *map(line, facts)] * bool(facts) + [HISTORY, *map(line, events)] * bool(events)
    text = "\n".join([*parts, CONVERSATION, *said[dropped:]] if parts else said[dropped:])
    shown = tuple(one.memory_id for one in (*facts, *events))
    left = tuple(one.memory_id for one in ranked if one.memory_id not in set(shown))
    return Assembled(text, shown, left, dropped, tokens(text))
