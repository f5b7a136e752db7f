"""Records and turns for the tests of the memory."""

from typing import Any

from hindsight.memory.record import Record
from hindsight.types import Memory, ToolCall, Turn, opaque


def turn(
    position: int, text: str = "", role: Any = "user", session: str = "s1", calls: tuple[ToolCall, ...] = (), time=None
):
    return Turn(position, session, role, role, text or f"turn {position}", time, calls)


def record(user_id: str, text: str, *sources: int, kind: str = "turn", **life: Any) -> Record:
    memory = Memory(
        memory_id=opaque("test", text, *sources),
        user_id=user_id,
        dialogue_id="d",
        session="s1",
        kind=kind,
        speaker="user",
        role="user",
        text=text,
        window=text,
        born=max(sources, default=0),
        sources=tuple(sources) or (0,),
        tags=("a", "b"),
    )
    return Record(memory, **life)
