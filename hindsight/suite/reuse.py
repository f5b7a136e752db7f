"""Value reuse, the heart of *act*: at a tool call or a statement, which earlier turn first gave a value that the turn uses?

Gold comes from SGD's annotation of slots, or of the bundled logs by construction, and is seen here alone. A value that stands in
the last three turns, or that nobody gave before, asks for no memory. The query is what the last three turns say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from hindsight.labeler.moments import moments
from hindsight.logs.sgd_histories import Annotated, SGDHistories
from hindsight.suite.bundled import FOLDER, GOLD, Split, events
from hindsight.suite.past import Prefix, at_least_one
from hindsight.types import Case, Count, DataError, Query, Turn

_GIVES = ("INFORM", "OFFER", "CONFIRM")
_NO_VALUE = ("intent", "count", "")
_EARLIEST = 20  # position from which there is something to forget
CONTEXT = 3
WANTED = "the folder of an SGD split (dialogues_*.json), or of the bundled logs"

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
    """``path``: the folder of an SGD split, or of the bundled logs, where ``split`` chooses the users.

    ``order``, ``histories``, ``seed``: of SGD histories, see logs/sgd_histories.
    """

    path: Path = FOLDER
    split: Split = "test"
    order: Literal["concat", "inter"] = "concat"
    histories: int = 150
    seed: int = 7

    name: ClassVar[str] = "reuse"
    unit: ClassVar[str] = "turn"

    def build(self) -> Reuse:
        return self

    def cases(self, count: Count) -> Iterator[Case]:
        """Every event with gold. Kinds: ``call`` and ``reply``, each ``same session`` or ``earlier session``."""
        return at_least_one(
            self._bundled(count) if (self.path / GOLD).exists() else self._sgd(count), self.path, count, WANTED
        )

    def _sgd(self, count: Count) -> Iterator[Case]:
        for dialogue, annotated in SGDHistories(self.order, self.histories, self.seed).keyed(self.path, Count()):
            yield from _events(dialogue.user_id, dialogue.turns, annotated, count)

    def _bundled(self, count: Count) -> Iterator[Case]:
        """Asked before the assistant's turn that answers, like a task in progress anywhere."""
        asked: dict[str, dict[int, Query]] = {}
        for stream, at, relevant, place, row in events(self.path, self.split, "act", count):
            if stream.user_id not in asked:
                own = moments(stream.turns, stream.user_id, CONTEXT)
                asked = {stream.user_id: {query.asked_at: query for _, query in own}}
            query = asked[stream.user_id].get(at + 1)
            if query is None:
                raise DataError(place, f"turn {row.turn}", "a user's turn that the assistant answers")
            relevant = tuple(p for p in relevant if p not in query.context)
            if not relevant:
                count.skip("no value from before the context")
                continue
            count.keep()
            earlier = any(stream.turns[p].session != stream.turns[at].session for p in relevant)
            kind = f"{row.type}, {'earlier' if earlier else 'same'} session"
            yield Case(query, Prefix(stream.turns, at + 1), relevant, kind, tuple(row.answers), stream.turns[at + 1])


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
            kind += ", earlier session" if earlier else ", same session"
            yield Case(query, Prefix(turns, place), tuple(sorted(gold)), kind, future=turns[place])


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
        service = frame.get("service", "")
        for action in frame.get("actions") or ():
            if action.get("act") in _GIVES and action.get("slot", "") not in _NO_VALUE:
                spoken = action.get("values") or []
                for place, canonical in enumerate(action.get("canonical_values") or spoken):
                    value = _normal(canonical)
                    values.add((service, action["slot"], value))
                    if place < len(spoken):
                        said[value] = _normal(spoken[place])
        if made := frame.get("service_call"):
            parameters = made.get("parameters") or {}
            call = (service, {slot: _normal(value) for slot, value in parameters.items()})
    return Annotation(frozenset(values), frozenset(v for _, _, v in values if not _weak(v)), said, call)


def _normal(value: object) -> str:
    return re.sub(r"\s+", " ", str(value).lower().strip())


def _weak(value: str) -> bool:
    return value in ("true", "false", "dontcare") or bool(re.fullmatch(r"\d{1,2}", value))
