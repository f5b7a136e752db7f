"""The plain baseline among labelers: a memory is used as far as it holds the words that a turn says and its context did not.

BM25 of the turn's novel words, nothing else. It tells a surprise from a repetition, and no more (SCIENCE: AUC .864 against gold in
*ask*, where the gated teacher has .985; blind in *act* to values that only a tool call names).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from hindsight.features.moment import Moment
from hindsight.features.replay import moment, replay
from hindsight.labeler.moments import moments
from hindsight.miner.wording import said
from hindsight.text import terms
from hindsight.types import Encoder, Floats, Labelled, Memory, Turn, Use


@dataclass(frozen=True)
class Overlap:
    """``context``: turns before the turn that the model sees anyway; their words are not novel. ``top``: memories credited.

    ``future``: ``shuffled`` takes the novel words from another turn, ``hidden`` takes the query's words in their place: the
    controls.
    """

    future: Literal["real", "hidden", "shuffled"] = "real"
    context: int = 3
    top: int = 8
    least_pool: int = 17
    seed: int = 0

    def build(self) -> Overlap:
        return self

    def label(self, turns: Sequence[Turn], memories: Sequence[Memory], encoder: Encoder) -> list[Labelled]:
        """One user's stream -> a query at each turn whose novel words an earlier memory holds, in order."""
        user_id = memories[0].user_id if memories else ""
        asked = list(moments(turns, user_id, self.context, ("user", "assistant")))
        futures = [turns[place] for place, _ in asked]
        if self.future == "shuffled":
            random.Random(f"futures:{self.seed}").shuffle(futures)
        found: list[Labelled] = []
        for place, past in replay(turns, memories, encoder, [query.asked_at for _, query in asked]):
            at, query = asked[place]
            known = moment(past, query)
            if len(known.rows) >= self.least_pool and (one := self.teach(known, (), futures[place])):
                found.append(replace(one, kind=turns[at].role))
        return found

    def teach(self, known: Moment, before: Sequence[Turn], future: Turn) -> Labelled | None:
        """What is novel is so against the query, so ``before`` is not looked at. None: nothing novel stands in the past."""
        return self._credited(known, self._novel(known, future))

    def asked(self, turns: Sequence[Turn], user_id: str) -> list[tuple[int, Labelled]]:
        """(position of the future, query without uses) of every turn that something was said before."""
        found = moments(turns, user_id, self.context, ("user", "assistant"))
        return [(turns[place].position, Labelled(query, (), turns[place].role)) for place, query in found]

    def explain(
        self, known: Moment, before: Sequence[Turn], asked: Labelled, future: Turn
    ) -> tuple[Labelled | None, dict[str, Floats]]:
        """The label, and the one part that it has."""
        score = self._novel(known, future)
        return self._credited(known, score), {"overlap": score}

    def _novel(self, known: Moment, future: Turn) -> Floats:
        """(candidates,) BM25 of the future's novel words."""
        asked = known.query_terms
        novel = tuple(term for term in dict.fromkeys(terms(said(future.text))) if term not in asked)
        return known.bm25(asked if self.future == "hidden" else novel)

    def _credited(self, known: Moment, score: Floats) -> Labelled | None:
        best = float(score.max(initial=0))
        if best <= 0:
            return None
        query = known.query
        uses = tuple(
            Use(query.query_id, known.past.memories[known.rows[row]].memory_id, round(float(score[row]) / best, 6))
            for row in np.argsort(-score, kind="stable")[: self.top]
            if score[row] > 0
        )
        return Labelled(query, uses, "", quality=best)

    def balance(self, labelled: Sequence[Labelled]) -> list[Labelled]:
        """Every use counts the same."""
        return [replace(one, weight=1.0) for one in labelled]
