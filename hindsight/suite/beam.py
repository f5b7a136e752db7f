"""BEAM (Tavakoli et al. 2025): probing questions about a long project of a user with an assistant."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from hindsight.logs.beam import keyed
from hindsight.logs.raw import name_of
from hindsight.suite.past import at_least_one, places_of, report
from hindsight.types import Case, Count, DataError, Dialogue, Query, opaque

WANTED = "chats with probing questions that have source_chat_ids"
QUESTIONS = Path("probing_questions") / "probing_questions.json"
_ANSWERS = ("answer", "ideal_answer", "ideal_response", "ideal_summary", "expected_compliance")


@dataclass(frozen=True)
class Beam:
    """Asked when the chat has ended. ``path``: a folder of chats of one size, such as ``chats/100K``."""

    path: Path
    name: ClassVar[str] = "beam"
    unit: ClassVar[str] = "turn"

    @property
    def notes(self) -> tuple[str, ...]:
        return ("one chat is one user", "roles indexed: user, assistant", "evidence: source_chat_ids")

    def build(self) -> Beam:
        return self

    def cases(self, count: Count) -> Iterator[Case]:
        """Chats by number, questions in their file's order. Raises DataError where no question can be asked."""
        return at_least_one(self._cases(count), self.path, count, WANTED)

    def _cases(self, count: Count) -> Iterator[Case]:
        reading = Count()
        for dialogue, keys, folder in keyed(self.path, reading):
            file = folder / QUESTIONS
            if not file.is_file():
                count.note("chat without probing questions", place=dialogue.source)
                continue
            places = places_of(keys, dialogue.source, count)
            for kind, number, question in read_questions(file):
                case = _case(dialogue, places, kind, number, question, count)
                if case is not None:
                    count.keep()
                    yield case
        report(reading, count)


def read_questions(path: Path) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """(type, its place among those, question) of one chat. Raises DataError on another shape."""
    wanted = 'probing questions: {"type": [{"question": ...}]}'
    try:
        body = json.loads(path.read_text("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise DataError(path, error, wanted) from error
    for kind, questions in body.items() if isinstance(body, dict) else [("", None)]:
        if not isinstance(questions, list):
            raise DataError(path, body, wanted)
        for number, question in enumerate(questions):
            if not isinstance(question, dict) or not name_of(question.get("question")):
                raise DataError(f"{path}:{kind} {number}", question, wanted)
            yield kind, number, question


def _case(
    dialogue: Dialogue, places: Mapping[str, int], kind: str, number: int, question: dict[str, Any], count: Count
) -> Case | None:
    place = f"{dialogue.source} {kind} {number}"
    named = list(dict.fromkeys(ids_of(question.get("source_chat_ids"))))
    if not named:
        count.skip("abstention" if kind == "abstention" else f"no evidence: {kind}", place)
        return None
    for name in named:
        if name not in places:
            count.note("evidence id is not in the chat: dropped", place=f"{place} {name}")
    relevant = tuple(sorted(places[name] for name in named if name in places))
    if not relevant:
        count.skip("no evidence that stands in the chat", place)
        return None
    query = Query(
        query_id=opaque("query", dialogue.user_id, kind, number),
        user_id=dialogue.user_id,
        dialogue_id=dialogue.dialogue_id,
        text=name_of(question["question"]),
        asked_at=len(dialogue.turns),
    )
    answers = [name_of(question.get(key)) for key in _ANSWERS]
    return Case(query, dialogue.turns, relevant, kind, tuple(filter(None, answers)))


def ids_of(value: Any) -> Iterator[str]:
    """Message ids as text, out of a list or of lists under names (first and second statement, old and new value)."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from ids_of(inner)
    elif name := name_of(value):
        yield name
