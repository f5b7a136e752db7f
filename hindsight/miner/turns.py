"""One memory a turn, with the turns around it: the unit that won on every set, and the pool of all baselines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hindsight.miner.redact import TAG
from hindsight.miner.wording import clip, spoken, worded
from hindsight.types import Memory, Turn, opaque


@dataclass(frozen=True)
class Turns:
    """Writes every turn that says or calls something, except the system's.

    ``window``: the turns just before and after in the same session, on a line each. Each is clipped (words), so that a long
    reply does not push its own neighbours out of the encoder's sight.
    """

    own_words: int = 100
    neighbour_words: int = 45

    def build(self) -> Turns:
        return self

    def mine(self, turns: Sequence[Turn], user_id: str, dialogue_id: str) -> list[Memory]:
        """One user's stream in order -> memories in the same order. The newest turn of a session lacks its next one."""
        kept = [(turn, text) for turn, own in spoken(turns) if (text := worded(turn, own))]
        short = [clip(text, self.neighbour_words) for _, text in kept]
        memories: list[Memory] = []
        for place, (turn, text) in enumerate(kept):
            before = place > 0 and kept[place - 1][0].session == turn.session
            after = place + 1 < len(kept) and kept[place + 1][0].session == turn.session
            lines = [short[place - 1]] * before + [clip(text, self.own_words)] + ([short[place + 1]] if after else [])
            memories.append(
                Memory(
                    memory_id=opaque("turn", turn.position, text),
                    user_id=user_id,
                    dialogue_id=dialogue_id,
                    session=turn.session,
                    kind="turn",
                    speaker=turn.speaker,
                    role=turn.role,
                    text=text,
                    window="\n".join(lines),
                    born=kept[place + 1][0].position if after else turn.position,
                    sources=(turn.position,),
                    tags=(TAG,) if "[redacted " in text else (),
                    time=turn.time,
                )
            )
        return memories
