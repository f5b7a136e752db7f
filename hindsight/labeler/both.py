"""Both regimes from the same logs: *ask* by ``gated``, *act* by ``values``, and moments at which nothing was needed.

A query's template must not give its regime away, so some come twice: a task's moment also as its last utterance alone (``call
alone``, ``reply alone``), a question also as the transcript that it ends (``HQ in place``). With an assistant, a question in its
place is a moment of ``values`` already, whose uses say more: what the reply used, not what it resembles. Without a use: ``nothing
asked`` is a question whose answer was taken out of the past, ``nothing needed`` a moment whose next turn used no value from before
its context.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from hindsight.features.moment import Moment, utterance
from hindsight.labeler import gated
from hindsight.labeler.gated import Gated
from hindsight.labeler.moments import moments, transcript
from hindsight.labeler.values import Values
from hindsight.types import Encoder, Labelled, Memory, Turn, opaque

ASK, ACT = (*gated.KINDS, "HQ in place"), ("call", "reply")
ACTS_AN_ASK = 4  # a log has fewer moments at which a value is used than sentences that a question can be made of
ALONE = ("call alone", "reply alone")
NOTHING = ("nothing asked", "nothing needed")


@dataclass(frozen=True)
class Both:
    """``nothing``: queries without a use, as a share of those with one. ``future``: of both labelers.
    ``most``: of each kind of question from one user; four times as many moments of a task."""

    future: Literal["real", "hidden", "shuffled"] = "real"
    nothing: float = 0.25
    most: int = 1000
    seed: int = 0

    def build(self) -> Both:
        return self

    @property
    def asks(self) -> Gated:
        return Gated(future=self.future, seed=self.seed, most=self.most)

    @property
    def acts(self) -> Values:
        return Values(future=self.future, seed=self.seed)

    def label(self, turns: Sequence[Turn], memories: Sequence[Memory], encoder: Encoder) -> list[Labelled]:
        """One user's stream -> queries of both regimes, each kind in order of ``asked_at``."""
        asked = self.asks.label(turns, memories, encoder)
        used = self.acts.label(turns, memories, encoder)
        assisted = any(turn.role == "assistant" for turn in turns)
        used = _each_kind(used, ACTS_AN_ASK * self.most)
        unused = list(_unused(turns, memories[0].user_id if memories else "", used, self.acts))
        answer_of = {memory.memory_id: memory.sources[-1] for memory in memories}
        unanswered = [_unanswered(one, answer_of[one.uses[0].memory_id]) for one in asked if one.kind == "PQ"]
        return [
            *asked,
            *([] if assisted else _in_place(turns, [one for one in asked if one.kind == "HQ"])),
            *used,
            *(_alone(one) for one in used),
            *_some(unanswered, round(self.nothing * len(asked))),
            *_some(unused, round(self.nothing * 4 * len(used))),
        ]

    def teach(self, known: Moment, before: Sequence[Turn], future: Turn) -> Labelled | None:
        """By the values that the next turn uses; where it shows none, as the answer to a question."""
        return self.acts.teach(known, before, future) or self.asks.teach(known, before, future)

    def balance(self, labelled: Sequence[Labelled]) -> list[Labelled]:
        """Each regime by its own labeler's weights, half the total each; what has no use weighs 1."""
        asked = self.asks.balance([one for one in labelled if one.kind in ASK[:-1]])
        place = [replace(one, weight=1.0) for one in labelled if one.kind == ASK[-1]]
        acted = self.acts.balance([one for one in labelled if one.kind in ACT])
        rest = [replace(one, weight=1.0) for one in labelled if one.kind in (*ALONE, *NOTHING)]
        scale = len(asked) / max(1, len(acted))
        return [*asked, *place, *(replace(one, weight=one.weight * scale) for one in acted), *rest]


def _in_place(turns: Sequence[Turn], asked: Sequence[Labelled]) -> Iterator[Labelled]:
    """The same questions in their own words, at the end of what was said before them."""
    place_of = {turn.position: place for place, turn in enumerate(turns)}
    for one in asked:
        end = place_of[one.query.asked_at]
        begin = end
        while begin > 0 and turns[begin - 1].session == turns[end].session:
            begin -= 1
        seen = turns[max(begin, end - len(one.query.context)) : end]
        query = replace(
            one.query,
            query_id=opaque("in place", one.query.query_id),
            text=transcript(seen),
            goal=transcript(turns[begin:end]),
            context=tuple(turn.position for turn in seen),
        )
        uses = tuple(replace(use, query_id=query.query_id) for use in one.uses)
        yield replace(one, query=query, uses=uses, kind=ASK[-1])


def _alone(one: Labelled) -> Labelled:
    """The same moment by its last utterance alone."""
    query = replace(one.query, query_id=opaque("alone", one.query.query_id), text=utterance(one.query.text), goal="")
    uses = tuple(replace(use, query_id=query.query_id) for use in one.uses)
    return replace(one, query=query, uses=uses, kind=f"{one.kind} alone")


def _unanswered(one: Labelled, answer: int) -> Labelled:
    """A question about one turn, asked of a past without that turn."""
    query = replace(one.query, query_id=opaque("unanswered", one.query.query_id))
    return replace(one, query=query, uses=(), kind=NOTHING[0], hidden=(*one.hidden, answer))


def _unused(turns: Sequence[Turn], user_id: str, used: Sequence[Labelled], values: Values) -> Iterator[Labelled]:
    known = {one.query.asked_at for one in used}
    for place, query in moments(turns, user_id, values.context):
        if query.asked_at not in known and place >= values.least_pool:
            yield Labelled(query, (), NOTHING[1])


def _each_kind(found: Sequence[Labelled], most: int) -> list[Labelled]:
    kept = {id(one) for kind in ACT for one in _some([one for one in found if one.kind == kind], most)}
    return [one for one in found if id(one) in kept]


def _some(found: Sequence[Labelled], count: int) -> list[Labelled]:
    """About ``count`` of them, chosen by a hash."""
    chosen = sorted(found, key=lambda one: opaque("some", one.query.query_id))[: max(0, count)]
    return sorted(chosen, key=lambda one: (one.query.asked_at, one.query.query_id))
