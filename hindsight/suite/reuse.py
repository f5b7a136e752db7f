"""Value reuse, the heart of *act*: at a tool call or a statement, which earlier turn first gave a value that the turn uses?

Gold comes from SGD's or CrossWOZ's annotation (see given), or of the bundled logs by construction, and is seen here alone. A value
that stands in the last three turns, or that nobody gave before, asks for no memory. The query is what the last three turns say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from hindsight.labeler.moments import moments
from hindsight.logs.crosswoz_histories import CrossWOZHistories
from hindsight.logs.histories import Annotated
from hindsight.logs.raw import looks_like
from hindsight.logs.sgd_histories import SGDHistories
from hindsight.suite.given import Given, of_crosswoz, of_sgd
from hindsight.suite.gold import FOLDER, GOLD, Split, events
from hindsight.suite.past import Prefix, at_least_one
from hindsight.text import normalise
from hindsight.types import Case, Count, DataError, Dialogue, Query, Turn, opaque

_EARLIEST = 20  # position from which there is something to forget
CONTEXT = 3
NOTHING = 12
WANTED = "the folder of an SGD split (dialogues_*.json), a CrossWOZ file, or the folder of the bundled logs"


@dataclass(frozen=True)
class Reuse:
    """``path``: the folder of an SGD split, a CrossWOZ file, or the folder of the bundled logs, where ``split`` chooses the users.

    ``order``, ``histories``, ``seed``: of SGD's and CrossWOZ's histories, see logs/histories.
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
        return at_least_one((case for case in self._all(count) if case.relevant), self.path, count, WANTED)

    def unanswerable(self) -> list[Case]:
        """Moments at which no value from before the context is needed, with an empty ``relevant``, for abstention: of each user as
        many as ``NOTHING``, chosen by a hash."""
        found: dict[str, list[Case]] = {}
        for case in self._all(Count()):
            if not case.relevant:
                found.setdefault(case.query.user_id, []).append(case)
        chosen = [sorted(own, key=lambda one: opaque("nothing", one.query.query_id))[:NOTHING] for own in found.values()]
        return [case for own in chosen for case in sorted(own, key=lambda one: one.query.asked_at)]

    def _all(self, count: Count) -> Iterator[Case]:
        if (self.path / GOLD).exists():
            return self._bundled(count)
        woz = "crosswoz" in looks_like(self.path)
        histories = (CrossWOZHistories if woz else SGDHistories)(self.order, self.histories, self.seed)
        return _annotated(histories.keyed(self.path, Count()), of_crosswoz if woz else of_sgd, count)

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
            else:
                count.keep()
            earlier = any(stream.turns[p].session != stream.turns[at].session for p in relevant)
            kind = f"{row.type}, {'earlier' if earlier else 'same'} session"
            yield Case(query, Prefix(stream.turns, at + 1), relevant, kind, tuple(row.answers), stream.turns[at + 1])


def _annotated(
    histories: Iterable[tuple[Dialogue, list[Annotated]]], of: Callable[[Annotated], Given], count: Count
) -> Iterator[Case]:
    for dialogue, annotated in histories:
        yield from _events(dialogue.user_id, dialogue.turns, annotated, [of(one) for one in annotated], count)


def _events(
    user_id: str, turns: tuple[Turn, ...], annotated: list[Annotated], given: list[Given], count: Count
) -> Iterator[Case]:
    texts = [normalise(turn.text) for turn in turns]
    for place, query in moments(turns, user_id, CONTEXT):
        if place < _EARLIEST:
            count.skip(f"before turn {_EARLIEST}")
            continue
        gold = _gold(annotated, given, texts, place, query)
        if not gold:
            count.skip("states and calls no value" if gold is None else "no value from before the context")
            yield Case(query, Prefix(turns, place), ())
        else:
            count.keep()
            kind = "call" if given[place].call else "reply"
            earlier = any(turns[p].session != turns[place].session for p in gold)
            kind += ", earlier session" if earlier else ", same session"
            yield Case(query, Prefix(turns, place), tuple(sorted(gold)), kind, future=turns[place])


def _gold(annotated: list[Annotated], given: list[Given], texts: list[str], place: int, query: Query) -> set[int] | None:
    """First givers of the values needed; None where the turn needs no value."""
    begins = place - len(query.context)
    seen_values = frozenset[tuple[str, str, str]]().union(*(one.values for one in given[begins:place]))
    seen_strong = frozenset[str]().union(*(one.strong for one in given[begins:place]))
    seen_text = " ".join(texts[begins:place])
    gold: set[int] = set()
    done: set[str] = set()
    for (service, slot, value), weak in given[place].needs:
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
    return gold if given[place].needs else None
