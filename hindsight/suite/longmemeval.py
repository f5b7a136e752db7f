"""LongMemEval (Wu et al. 2025), and sets in its schema: each question has a haystack of its own, which is one user's past.

The official files are read as they are: longmemeval_s, _m and _oracle, with or without "cleaned" in their names. Of _m (some 2.7 GB) no
more than one haystack is held: a case knows where in the file its turns stand, and reads them when it is asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar, Literal, overload

from hindsight.logs.longmemeval import Source, again, id_of, placed, time_of
from hindsight.logs.raw import Spot, moment, name_of
from hindsight.suite.past import at_least_one, report
from hindsight.types import Case, Count, Dialogue, Query, Turn, opaque

WANTED = "questions whose evidence turns are marked by has_answer"
ABSTENTION = "_abs"  # how the id of a question that the haystack does not answer ends
Level = Literal["turn", "session"]


@dataclass(frozen=True)
class LongMemEval:
    """Asked when the haystack has ended. Gold = turns with ``has_answer``; ids, which tell it too, are never read for it.

    ``level``: ``session`` makes each session one memory; gold are then the sessions of ``answer_session_ids``, as upstream.
    ``users_only``: only what users said is indexed and judged, as upstream's scripts do (src/retrieval/run_retrieval.py); questions
    with evidence from assistants alone fall out. ``abstentions``: keep those ``_abs`` questions that have evidence turns (of a
    look-alike); the others are what ``unanswerable`` gives.
    """

    path: Path
    level: Level = "turn"
    users_only: bool = False
    abstentions: bool = False
    name: ClassVar[str] = "longmemeval"

    @property
    def unit(self) -> str:
        return self.level

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

    def unanswerable(self) -> list[Case]:
        """The abstention questions that ``cases`` leaves out, with an empty ``relevant``: a system should stay silent on them."""
        found: list[Case] = []
        for dialogue, sources, question, spot in placed(self.path, Count()):
            name = name_of(question.get("question_id"))
            evidence = any(is_evidence(question, source) for source in sources)
            if name.endswith(ABSTENTION) and not (self.abstentions and evidence) and name_of(question.get("question")):
                turns, _ = seen(dialogue.turns, sources, question, self.level, self.users_only)
                found.append(self._asked(dialogue, question, self._held(turns, spot, question, dialogue), (), Count()))
        return found

    def _cases(self, count: Count) -> Iterator[Case]:
        reading = Count()
        for dialogue, sources, question, spot in placed(self.path, reading):
            case = self._case(dialogue, sources, question, spot, count)
            if case is not None:
                count.keep()
                yield case
        report(reading, count)

    def _case(
        self, dialogue: Dialogue, sources: list[Source], question: dict[str, Any], spot: Spot | None, count: Count
    ) -> Case | None:
        text, name = name_of(question.get("question")), name_of(question.get("question_id"))
        place = f"{dialogue.source} {name}"
        missing = sorted({*map(name_of, question.get("answer_session_ids") or [])} - {source.session for source in sources})
        for session in missing:
            count.note("gold session is not in the haystack", place=f"{place}: {session}")
        marked = [is_evidence(question, source) for source in sources]
        if name.endswith(ABSTENTION) and not (self.abstentions and any(marked)):
            count.skip("abstention, with evidence turns" if any(marked) else "abstention, without evidence turns")
            return None
        turns, gold = seen(dialogue.turns, sources, question, self.level, self.users_only)
        users = [mark and turn.role == "user" for turn, mark in zip(dialogue.turns, marked)]
        if not text or not any(gold):
            reason = "evidence is not the user's" if self.users_only and any(marked) else "no evidence turn"
            count.skip(reason if text else "no question", place)
            return None
        if self.users_only and self.level == "turn" and sum(users) < sum(marked):
            count.note("evidence of the assistant left out beside the user's", place=place)
        relevant = tuple(turn.position for turn, mark in zip(turns, gold) if mark)
        case = self._asked(dialogue, question, self._held(turns, spot, question, dialogue), relevant, count)
        _note_later(case.query, [turns[i].time for i in relevant], [turn.time for turn in turns], place, count)
        return case

    def _asked(
        self, dialogue: Dialogue, question: dict[str, Any], turns: Sequence[Turn], relevant: tuple[int, ...], count: Count
    ) -> Case:
        query = Query(
            query_id=opaque("query", dialogue.user_id),
            user_id=dialogue.user_id,
            dialogue_id=dialogue.dialogue_id,
            text=name_of(question.get("question")),
            asked_at=len(turns),
            time=_time(question, f"{dialogue.source} {name_of(question.get('question_id'))}", count),
        )
        kind, answers = name_of(question.get("question_type")), tuple(filter(None, [name_of(question.get("answer"))]))
        return Case(query, turns, relevant, kind, answers)

    def _held(
        self, turns: tuple[Turn, ...], spot: Spot | None, question: dict[str, Any], dialogue: Dialogue
    ) -> Sequence[Turn]:
        """By the place in the file where there is one to go back to, else the turns themselves."""
        if spot is None:
            return turns
        return Haystack(spot, id_of(question, dialogue.source), self.level, self.users_only, len(turns))


@dataclass(frozen=True, eq=False)
class Haystack(Sequence[Turn]):
    """A question's turns, which are read from the file when somebody looks; of a process's haystacks the last one is held."""

    spot: Spot
    name: str
    level: Level
    users_only: bool
    length: int

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[Turn]:
        return iter(_turns_at(self.spot, self.name, self.level, self.users_only))

    @overload
    def __getitem__(self, key: int) -> Turn: ...
    @overload
    def __getitem__(self, key: slice) -> Sequence[Turn]: ...
    def __getitem__(self, key: int | slice) -> Turn | Sequence[Turn]:
        return _turns_at(self.spot, self.name, self.level, self.users_only)[key]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(a == b for a, b in zip(self, other))

    __hash__ = None  # pyright: ignore[reportAssignmentType]  # like a list


@lru_cache(maxsize=1)
def _turns_at(spot: Spot, name: str, level: Level, users_only: bool) -> tuple[Turn, ...]:
    turns, sources, question = again(spot, name)
    return seen(turns, sources, question, level, users_only)[0]


def seen(
    turns: Sequence[Turn], sources: Sequence[Source], question: dict[str, Any], level: Level, users_only: bool
) -> tuple[tuple[Turn, ...], list[bool]]:
    """(what is indexed, numbered anew; whether each is gold). A session is one turn that says all its turns.

    Of sessions those of ``answer_session_ids`` are gold; where an id stands in the haystack twice, the copies whose turns are marked,
    if any are. With ``users_only`` a gold session has a marked turn of the user.
    """
    marked = [is_evidence(question, source) for source in sources]
    kept = [n for n, turn in enumerate(turns) if turn.role == "user" or not users_only]
    if level == "turn":
        return tuple(replace(turns[n], position=at) for at, n in enumerate(kept)), [marked[n] for n in kept]
    named = {*map(name_of, question.get("answer_session_ids") or [])}
    shown = {sources[n].session for n in kept if marked[n]}
    found: list[Turn] = []
    gold: list[bool] = []
    for _, group in groupby(kept, key=lambda n: sources[n].place):
        own = list(group)
        first, session = turns[own[0]], sources[own[0]].session
        text = "\n".join(turns[n].text if users_only else f"{turns[n].speaker.capitalize()}: {turns[n].text}" for n in own)
        found.append(replace(first, position=len(found), speaker="user", role="user", text=text))
        told = any(marked[n] for n in own)
        gold.append(told or (session in named and session not in shown and not users_only))
    return tuple(found), gold


def is_evidence(question: dict[str, Any], source: Source) -> bool:
    return question["haystack_sessions"][source.place][source.turn].get("has_answer") is True


def _time(question: dict[str, Any], place: str, count: Count) -> str | None:
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
