"""LongMemEval (Wu et al. 2025), and sets in its schema: each question has a haystack of its own, which is one user's past."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from hindsight.logs.longmemeval import Source, keyed, time_of
from hindsight.logs.raw import moment, name_of
from hindsight.suite.past import at_least_one, report
from hindsight.types import Case, Count, Dialogue, Query, opaque

WANTED = "questions whose evidence turns are marked by has_answer"


@dataclass(frozen=True)
class LongMemEval:
    """Asked when the haystack has ended. Gold = turns with ``has_answer``; ids, which tell it too, are never read for it.

    ``users_only``: only what users said is indexed and judged, as upstream's turn-level script does; questions with evidence
    from assistants alone fall out. ``abstentions``: keep those ``_abs`` questions that have evidence turns (of a look-alike).
    """

    path: Path
    users_only: bool = False
    abstentions: bool = False
    name: ClassVar[str] = "longmemeval"
    unit: ClassVar[str] = "turn"

    @property
    def notes(self) -> tuple[str, ...]:
        asked = "with evidence are asked" if self.abstentions else "left out"
        return (
            "one question is one user",
            f"roles indexed: {'user' if self.users_only else 'user, assistant'}",
            f"abstention questions {asked}",
            "no session is left out by its date",
        )

    def build(self) -> LongMemEval:
        return self

    def cases(self, count: Count) -> Iterator[Case]:
        """In the file's order, one question held at a time. Raises DataError where no question can be asked."""
        return at_least_one(self._cases(count), self.path, count, WANTED)

    def _cases(self, count: Count) -> Iterator[Case]:
        reading = Count()
        for dialogue, sources, question in keyed(self.path, reading):
            case = self._case(dialogue, sources, question, count)
            if case is not None:
                count.keep()
                yield case
        report(reading, count)

    def _case(self, dialogue: Dialogue, sources: list[Source], question: dict[str, Any], count: Count) -> Case | None:
        text, name = name_of(question.get("question")), name_of(question.get("question_id"))
        place = f"{dialogue.source} {name}"
        missing = sorted({*map(name_of, question.get("answer_session_ids") or [])} - {source.session for source in sources})
        for session in missing:
            count.note("gold session is not in the haystack", place=f"{place}: {session}")
        marked = [is_evidence(question, source) for source in sources]
        if name.endswith("_abs") and not (self.abstentions and any(marked)):
            count.skip("abstention, with evidence turns" if any(marked) else "abstention, without evidence turns")
            return None
        if not text or not any(marked):
            count.skip("no evidence turn" if text else "no question", place)
            return None
        turns = dialogue.turns
        if self.users_only:
            kept = [(turn, mark) for turn, mark in zip(turns, marked) if turn.role == "user"]
            if not any(mark for _, mark in kept):
                count.skip("evidence is not the user's", place)
                return None
            if len([1 for _, mark in kept if mark]) < sum(marked):
                count.note("evidence of the assistant left out beside the user's", place=place)
            turns = tuple(replace(turn, position=position) for position, (turn, _) in enumerate(kept))
            marked = [mark for _, mark in kept]
        query = Query(
            query_id=opaque("query", dialogue.user_id),
            user_id=dialogue.user_id,
            dialogue_id=dialogue.dialogue_id,
            text=text,
            asked_at=len(turns),
            time=_asked(question, place, count),
        )
        relevant = tuple(turn.position for turn, mark in zip(turns, marked) if mark)
        _note_later(query, [turns[i].time for i in relevant], [turn.time for turn in turns], place, count)
        kind = name_of(question.get("question_type"))
        return Case(query, turns, relevant, kind, tuple(filter(None, [name_of(question.get("answer"))])))


def is_evidence(question: dict[str, Any], source: Source) -> bool:
    return question["haystack_sessions"][source.place][source.turn].get("has_answer") is True


def _asked(question: dict[str, Any], place: str, count: Count) -> str | None:
    time = time_of(question.get("question_date"), Count())
    if time is None:
        count.note("question date is missing or no date: left out", place=place)
    return time


def _note_later(query: Query, gold: list[str | None], past: list[str | None], place: str, count: Count) -> None:
    """A haystack is by definition before its question, so what is dated after it stays; but it is told."""
    asked = moment(query.time)
    if asked is None:
        return
    later = {time for time in set(past) if time and (found := moment(time)) and found > asked}
    if later:
        count.note("question with a session dated after it: kept")
    if later & set(gold):
        count.note("question with a gold session dated after it: kept", place=place)
