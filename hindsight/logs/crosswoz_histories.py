"""CrossWOZ dialogues joined into one user's history, in order (``concat``) or cut and interleaved (``inter``): see histories."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hindsight.logs import crosswoz
from hindsight.logs.histories import Annotated, Order, joined
from hindsight.types import Count, Dialogue

_LEADS = ("Select", "Request", "Inform")  # which act tells best what a user is after now


@dataclass(frozen=True)
class CrossWOZHistories:
    """``path``: a file. 500 dialogues make 62 histories at most. ``order``: ``both`` gives each twice, as two users."""

    order: Order = "both"
    histories: int = 62
    seed: int = 7

    def build(self) -> CrossWOZHistories:
        return self

    def read(self, path: Path, count: Count) -> Iterator[Dialogue]:
        for dialogue, _ in self.keyed(path, count):
            yield dialogue

    def keyed(self, path: Path, count: Count) -> Iterator[tuple[Dialogue, list[Annotated]]]:
        """(history, its turns with annotation: each one's ``frames`` is its raw message)."""
        dialogues = [_annotated(number, *one) for number, one in enumerate(crosswoz.keyed(path, count))]
        return joined(dialogues, self.order, self.histories, self.seed, path, count)


def _annotated(number: int, dialogue: Dialogue, keys: list[int], raw: dict[str, Any]) -> tuple[list[Annotated], list[str]]:
    """The service is the domain that the user is after; the assistant stays with it."""
    turns: list[Annotated] = []
    service = ""
    for turn, place in zip(dialogue.turns, keys):
        message = raw["messages"][place]
        acts = sorted((_LEADS.index(act), domain) for act, domain, _, _ in crosswoz.acts_of(message) if act in _LEADS)
        leading = [domain for rank, domain in acts if rank == acts[0][0]]
        if turn.role == "user" and leading and service not in leading:
            service = leading[0]
        turns.append(Annotated(turn, number, service, (message,)))
    goal = raw.get("goal")
    wanted = [line[1] for line in goal if isinstance(line, list) and len(line) > 1] if isinstance(goal, list) else []
    return turns, list(dict.fromkeys(wanted))
