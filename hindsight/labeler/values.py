"""Hindsight labels for *act*: which early turn first carried a value that the next turn uses?

At an assistant turn, the values are its tool calls' arguments; where those show nothing, the names and numbers that are new in
its reply. A value that stands in the context anyway shows no use. Credit goes to the first turn that carried the value, in the
most recent session that holds it (crediting all carriers, or a longer future, was worse: SCIENCE). No annotation is read.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
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
from hindsight.values import leaves, surfaces

Evidence = list[tuple[int, float, str]]  # (row, gain, the value)


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
    found = dict[int, tuple[float, str]]()

    def give(carriers: list[int], gain: float, value: str) -> None:
        if carriers:
            newest = past.session.view[carriers[-1]]
            first = next(row for row in carriers if past.session.view[row] == newest)
            old = found.get(first, (0.0, ""))
            found[first] = (old[0] + gain, f"{old[1]}, {value}" if old[1] else value)

    for value in dict.fromkeys(leaf for call in future.calls for leaf in leaves(call.arguments)):
        forms = surfaces(value)
        if forms and not any(form in seen for form in forms):
            give([row for row in past.holders(forms) if row < end], 1.0, value)
    if found:
        return "call", [(row, gain, value) for row, (gain, value) in found.items()]
    known = frozenset[str]().union(*(cues.entities(said(turn.text)) for turn in before))
    for entity in sorted(cues.entities(said(future.text)) - known):
        carriers = [row for row in past.with_entity(entity) if row < end]
        if carriers and normalise(entity) not in seen:
            give(carriers, float(np.log(1 + (end - len(carriers) + 0.5) / (len(carriers) + 0.5))), entity)
    return "reply", [(row, gain, value) for row, (gain, value) in found.items()]


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
