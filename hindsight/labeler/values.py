"""Hindsight labels for *act*: which early turn first carried a value that the next turn uses?

At an assistant turn that calls tools, the values are the calls' arguments (what it says then, the tools told it); at any other, the
names, dates and figures in its reply. A value that stands in the context anyway shows no use. Credit goes to the first turn that said
the value, in its own words or in others (values.says), in the session that goes on; else in the one that shares most with it
(crediting all carriers, or a longer future, was worse: SCIENCE). No annotation is read.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from hindsight.features import cues
from hindsight.features.moment import Moment
from hindsight.features.replay import moment, replay
from hindsight.features.timeline import Timeline
from hindsight.labeler.moments import moments
from hindsight.miner.wording import said, worded
from hindsight.text import normalise
from hindsight.types import Encoder, Floats, Ints, Labelled, Memory, Turn, Use
from hindsight.values import is_weak, keys, leaves, named, says

Evidence = list[tuple[int, float, str]]  # (row, gain, the value)
_DAY = re.compile(r"\d\d-\d\d")
_FIGURES = re.compile(r"[\d.,:-]+")  # dates, times, numbers: many are the same by chance
_LATELY = 16  # rows of the session that goes on, in which its names are read


@dataclass(frozen=True)
class Values:
    """``context``: turns before the reply that the model sees anyway. ``future``: ``shuffled`` takes calls and reply from
    another assistant turn (of the same tools, where there is one), ``hidden`` credits the newest candidate: the controls."""

    future: Literal["real", "hidden", "shuffled"] = "real"
    context: int = 3
    least_pool: int = 17
    seed: int = 0

    def build(self) -> Values:
        return self

    def label(self, turns: Sequence[Turn], memories: Sequence[Memory], encoder: Encoder) -> list[Labelled]:
        """One user's stream -> a query at each assistant turn whose future shows a use, in order."""
        user_id = memories[0].user_id if memories else ""
        asked = list(moments(turns, user_id, self.context))
        futures = _futures([turns[place] for place, _ in asked], self.future, self.seed)
        found: list[Labelled] = []
        for place, past in replay(turns, memories, encoder, [query.asked_at for _, query in asked]):
            at, query = asked[place]
            known = moment(past, query)
            before = turns[at - len(query.context) : at]
            if len(known.rows) >= self.least_pool and (one := self.teach(known, before, futures[place])):
                found.append(one)
        return found

    def teach(self, known: Moment, before: Sequence[Turn], future: Turn) -> Labelled | None:
        """None where the future shows no use of an earlier value."""
        return self._credited(known, *credit(known.past, known.rows, before, future))

    def asked(self, turns: Sequence[Turn], user_id: str) -> list[tuple[int, Labelled]]:
        """(position of the future, query without uses) of every assistant turn that something was said before."""
        return [(turns[place].position, Labelled(q, (), "")) for place, q in moments(turns, user_id, self.context)]

    def explain(
        self, known: Moment, before: Sequence[Turn], asked: Labelled, future: Turn
    ) -> tuple[Labelled | None, dict[str, Floats]]:
        """The label, and what calls and reply, each on its own, say of each candidate."""
        alone = {"call values": replace(future, text=""), "reply entities": replace(future, calls=())}
        parts = {name: np.zeros(len(known.rows), np.float32) for name in alone}
        for name, turn in alone.items():
            for row, gain, _ in credit(known.past, known.rows, before, turn)[1]:
                parts[name][np.searchsorted(known.rows, row)] = gain
        return self.teach(known, before, future), parts

    def _credited(self, known: Moment, kind: str, evidence: Evidence) -> Labelled | None:
        past, query = known.past, known.query
        if not evidence:
            return None
        if self.future == "hidden":
            evidence = [(int(known.rows[-1]), 1.0, "the newest")]
        best = max(gain for _, gain, _ in evidence)
        uses = tuple(
            Use(query.query_id, past.memories[row].memory_id, round(gain / best, 6), value)
            for row, gain, value in sorted(evidence)
        )
        return Labelled(query, uses, kind, quality=best)

    def balance(self, labelled: Sequence[Labelled]) -> list[Labelled]:
        """Calls and replies weigh the same in total: an argument is a certain use, a word of a reply is often a coincidence, and
        there are twice as many of those."""
        kinds = Counter(one.kind for one in labelled)
        return [replace(one, weight=len(labelled) / (len(kinds) * kinds[one.kind])) for one in labelled]


def credit(past: Timeline, rows: Ints, before: Sequence[Turn], future: Turn) -> tuple[str, Evidence]:
    """("call" or "reply", evidence). Several values may credit one row: their gains add up."""
    end = int(rows[-1]) + 1 if len(rows) else 0
    seen = normalise(
        " ".join(said(turn.text) or worded(turn, "") for turn in before)
    )  # as memories: a bare call reads as such
    if future.calls:
        told = [leaf for call in future.calls for leaf in leaves(call.arguments) if not is_weak(leaf)]
    else:
        told = list(_told(past, end, said(future.text)))
    told = list(dict.fromkeys(told))
    used = {value: carriers for value in told if not says(seen, value) and (carriers := holders(past, end, value))}
    found = dict[int, tuple[float, str]]()
    links = _links(past, end, told) if any(_elsewhere(past, carriers) for carriers in used.values()) else {}
    for value, carriers in used.items():
        if (row := _giver(past, value, carriers, links)) is not None:
            weight = 1.0 if future.calls else float(np.log(1 + (end - len(carriers) + 0.5) / (len(carriers) + 0.5)))
            gain, values = found.get(row, (0.0, ""))
            found[row] = (gain + weight, f"{values}, {value}" if values else value)
    return "call" if future.calls else "reply", [(row, gain, values) for row, (gain, values) in found.items()]


def holders(past: Timeline, end: int, value: str) -> list[int]:
    """Rows before ``end`` that say it, in order."""
    if not (found := keys(value)):
        return [row for row in range(end) if says(past.plain[row], value)]
    rows = np.unique(np.concatenate([past.postings.get(key)[0] for key in found]))
    return [row for row in rows[: np.searchsorted(rows, end)].tolist() if says(past.plain[row], value)]


def _told(past: Timeline, end: int, text: str) -> Iterator[str]:
    """A text's names, dates and figures. Of a name that nobody said the longest part that somebody said: a sentence may open it with a
    word of its own, or two names may stand side by side."""
    for value, opens in named(text):
        parts = value.split()
        if value[0].isdigit() and len(parts) == 1:
            yield f"{past.year}-{value}" if _DAY.fullmatch(value) and past.year else value
            continue
        yield next((part for part in _runs(parts, opens) if holders(past, end, part)), value)
    if not text.isascii():  # scripts without capitals
        yield from sorted(entity for entity in cues.entities(text) if not is_weak(entity))


def _runs(parts: list[str], opens: bool) -> Iterator[str]:
    """Longest first, down to two words; of two that open a sentence also the second."""
    for length in range(len(parts), min(2, len(parts)) - 1, -1):
        for start in range(len(parts) - length + 1):
            yield " ".join(parts[start : start + length])
    if opens and len(parts) == 2:
        yield parts[1]


def _elsewhere(past: Timeline, carriers: list[int]) -> bool:
    return past.session.view[carriers[-1]] != past.sessions.get(past.session_now, -1)


def _links(past: Timeline, end: int, told: list[str]) -> dict[int, dict[str, float]]:
    """Earlier session -> what it shares with the one that goes on: the future's values and those lately named, by rarity."""
    now = past.sessions.get(past.session_now, -1)
    lately = [row for row in range(max(0, len(past) - _LATELY), len(past)) if past.session.view[row] == now]
    shared: dict[int, dict[str, float]] = {}
    for value in dict.fromkeys([*told, *(one for row in lately for one in _told(past, end, _text(past.memories[row])))]):
        sessions = {int(past.session.view[row]) for row in holders(past, end, value)}
        for session in sessions:
            weight = np.log(1 + (len(past.sessions) - len(sessions) + 0.5) / (len(sessions) + 0.5))
            shared.setdefault(session, {})[value] = float(weight)
    return shared


def _giver(past: Timeline, value: str, carriers: list[int], links: dict[int, dict[str, float]]) -> int | None:
    """The first carrier in the session that goes on; else in the one that shares most with it, the newest of equals. A date or a
    number that shares nothing else is a coincidence."""
    sessions = sorted({int(past.session.view[row]) for row in carriers})
    chosen = past.sessions.get(past.session_now, -1)
    if chosen not in sessions:
        chosen = max(sessions, key=lambda session: (sum(links[session].values()), session))
        names = [one for one in links[chosen] if not _FIGURES.fullmatch(one) and one != value]
        if _FIGURES.fullmatch(value) and not names:
            return None
    return next(row for row in carriers if past.session.view[row] == chosen)


def _text(memory: Memory) -> str:
    return memory.text.split(": ", 1)[-1] if memory.kind == "turn" else memory.text


def _futures(answers: list[Turn], future: str, seed: int) -> list[Turn]:
    """Each answer, or (shuffled) another one that calls the same tools; without such, any other."""
    if future != "shuffled":
        return answers
    rng = random.Random(f"futures:{seed}")
    alike: dict[tuple[str, ...], list[int]] = {}
    for place, turn in enumerate(answers):
        alike.setdefault(tuple(sorted({call.name for call in turn.calls})), []).append(place)
    chosen = list(answers)
    for places in alike.values():
        others = places if len(places) > 1 else list(range(len(answers)))
        for place in places:
            choices = [p for p in others if p != place]
            chosen[place] = answers[rng.choice(choices)] if choices else answers[place]
    return chosen
