"""Value reuse, the heart of *act*: at a tool call or a statement, which earlier turn first gave a value that the turn uses?

Gold comes from SGD's annotation of slots and is seen here alone. A value that stands in the last three turns, or that nobody
gave before, asks for no memory. The query is what the last three turns say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from hindsight.labeler.values import moments
from hindsight.logs.sgd_histories import Annotated, SGDHistories
from hindsight.types import Case, Count, Query, Turn

_GIVES = ("INFORM", "OFFER", "CONFIRM")
_NO_VALUE = ("intent", "count", "")
_EARLIEST = 20  # position from which there is something to forget
CONTEXT = 3

Given = tuple[str, str, str]  # service, slot, canonical value


@dataclass(frozen=True, slots=True)
class Annotation:
    """What a turn's annotation gives, and how each value was said."""

    values: frozenset[Given]
    strong: frozenset[str]
    said: dict[str, str]
    call: tuple[str, dict[str, str]] | None


@dataclass(frozen=True)
class Reuse:
    """``path``: a split's folder. ``order``: see logs/sgd_histories."""

    path: Path
    order: Literal["concat", "inter"] = "concat"
    histories: int = 150
    seed: int = 7

    name = "reuse"
    unit = "turn"

    def build(self) -> Reuse:
        return self

    def cases(self, count: Count) -> Iterator[Case]:
        """Every event with gold. Kinds: ``call`` and ``reply``, each ``same-session`` or ``earlier-session``."""
        read = Count()
        for dialogue, annotated in SGDHistories(self.order, self.histories, self.seed).keyed(self.path, read):
            yield from _events(dialogue.user_id, dialogue.turns, annotated, count)


def _events(user_id: str, turns: tuple[Turn, ...], annotated: list[Annotated], count: Count) -> Iterator[Case]:
    given = [_given(one.frames) for one in annotated]
    texts = [_normal(turn.text) for turn in turns]
    for place, query in moments(turns, user_id, CONTEXT):
        if place < _EARLIEST:
            count.skip(f"before turn {_EARLIEST}")
            continue
        gold = _gold(annotated, given, texts, place, query)
        if gold is None:
            count.skip("states and calls no value")
        elif not gold:
            count.skip("no value from before the context")
        else:
            count.keep()
            kind = "call" if given[place].call else "reply"
            earlier = any(turns[p].session != turns[place].session for p in gold)
            yield Case(query, turns[:place], tuple(sorted(gold)), f"{kind}, {'earlier' if earlier else 'same'} session")


def _gold(
    annotated: list[Annotated], given: list[Annotation], texts: list[str], place: int, query: Query
) -> set[int] | None:
    """First givers of the values needed; None where the turn needs no value."""
    begins = place - len(query.context)
    seen_values = frozenset[Given]().union(*(one.values for one in given[begins:place]))
    seen_strong, seen_text = {value for _, _, value in seen_values}, " ".join(texts[begins:place])
    call = given[place].call
    needed = [(call[0], slot, value) for slot, value in call[1].items()] if call else sorted(given[place].values)
    gold: set[int] = set()
    done: set[str] = set()
    for service, slot, value in needed:
        weak = _weak(value)
        if value in done and not weak:
            continue
        done.add(value)
        if (service, slot, value) in seen_values if weak else (value in seen_strong or value in seen_text):
            continue
        givers = [
            p
            for p in range(begins)
            if annotated[p].dialogue == annotated[place].dialogue
            and ((service, slot, value) in given[p].values if weak else value in given[p].strong)
        ]
        if givers and (weak or not any(given[p].said.get(value, "\0") in seen_text for p in givers)):
            gold.add(givers[0])
    return gold if needed else None


def _given(frames: tuple[dict[str, Any], ...]) -> Annotation:
    values: set[Given] = set()
    said: dict[str, str] = {}
    call: tuple[str, dict[str, str]] | None = None
    for frame in frames:
        for action in frame["actions"]:
            if action["act"] in _GIVES and action.get("slot", "") not in _NO_VALUE:
                spoken = action.get("values") or []
                for place, canonical in enumerate(action.get("canonical_values") or spoken):
                    value = _normal(canonical)
                    values.add((frame["service"], action["slot"], value))
                    if place < len(spoken):
                        said[value] = _normal(spoken[place])
        if "service_call" in frame:
            parameters = frame["service_call"]["parameters"]
            call = (frame["service"], {slot: _normal(value) for slot, value in parameters.items()})
    return Annotation(frozenset(values), frozenset(v for _, _, v in values if not _weak(v)), said, call)


def _normal(value: object) -> str:
    return re.sub(r"\s+", " ", str(value).lower().strip())


def _weak(value: str) -> bool:
    return value in ("true", "false", "dontcare") or bool(re.fullmatch(r"\d{1,2}", value))
