"""SGD dialogues joined into one user's history, in order (``concat``) or cut and interleaved (``inter``): see histories."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hindsight.logs import sgd
from hindsight.logs.histories import Annotated, Order, joined
from hindsight.types import Count, Dialogue


@dataclass(frozen=True)
class SGDHistories:
    """``path``: a split's folder. ``order``: ``both`` gives every history twice, as two users."""

    order: Order = "both"
    histories: int = 200
    seed: int = 7

    def build(self) -> SGDHistories:
        return self

    def read(self, path: Path, count: Count) -> Iterator[Dialogue]:
        for dialogue, _ in self.keyed(path, count):
            yield dialogue

    def keyed(self, path: Path, count: Count) -> Iterator[tuple[Dialogue, list[Annotated]]]:
        """(history, its turns with annotation). A split that holds fewer histories gives what it holds, which is noted; raises
        DataError where it holds none."""
        dialogues = [_annotated(number, *one) for number, one in enumerate(sgd.keyed(path, count))]
        return joined(dialogues, self.order, self.histories, self.seed, path, count)


def _annotated(number: int, dialogue: Dialogue, keys: list[int], raw: dict[str, Any]) -> tuple[list[Annotated], list[str]]:
    turns: list[Annotated] = []
    service = ""
    for turn, place in zip(dialogue.turns, keys):
        found = raw["turns"][place].get("frames")
        frames = tuple(frame for frame in found if isinstance(frame, dict)) if isinstance(found, list) else ()
        service = frames[-1].get("service", service) if frames else service
        turns.append(Annotated(turn, number, service, frames))
    return turns, list(raw.get("services") or ())
