"""Hindsight labels for *ask* from an assistant's log: a user asks, and the reply says what an earlier turn had said.

A reply's words that the question does not have are looked for in the user's past, each by its rarity there; the turn that holds most of
them is credited if it holds at least half, then the one that holds most of what is left (a question may need two). Of equals the first
counts: what came later repeats it. A reply that the assistant gave before in the same words is canned, and shows no use. Where ``values``
looks for names, dates and figures under a transcript, this takes any words under a lone question. No annotation is read.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from hindsight.features import cues
from hindsight.features.moment import Moment
from hindsight.features.postings import idf
from hindsight.features.replay import moment, replay
from hindsight.labeler.moments import moments
from hindsight.miner.wording import said
from hindsight.text import normalise, terms
from hindsight.types import Encoder, Floats, Labelled, Memory, Query, Turn, Use

MOST = 3  # memories that a reply is made of
SECOND = 0.3  # of what the reply says anew: what a further one has to hold, so that a turn of phrase credits nobody
AS_MUCH = 0.9  # of the best's share: then the earlier one is credited


@dataclass(frozen=True)
class Answered:
    """``share``: of what a reply says anew, by rarity, that one memory has to hold; ``least``: the rarity that it has to come to (4 is a
    word that one turn in fifty holds). ``future``: ``shuffled`` takes another question's reply, ``hidden`` the question's own words."""

    future: Literal["real", "hidden", "shuffled"] = "real"
    share: float = 0.5
    least: float = 4.0
    least_pool: int = 17
    seed: int = 0

    def build(self) -> Answered:
        return self

    def label(self, turns: Sequence[Turn], memories: Sequence[Memory], encoder: Encoder) -> list[Labelled]:
        """One user's stream -> their questions whose reply shows a use, in order."""
        user_id = memories[0].user_id if memories else ""
        asked = list(_questions(turns, user_id))
        futures = [turns[place] for place, _ in asked]
        if self.future == "shuffled":
            random.Random(f"futures:{self.seed}").shuffle(futures)
        found: list[Labelled] = []
        for place, past in replay(turns, memories, encoder, [query.asked_at for _, query in asked]):
            known = moment(past, asked[place][1])
            if len(known.rows) >= self.least_pool and (one := self.teach(known, (), futures[place])):
                found.append(one)
        return found

    def teach(self, known: Moment, before: Sequence[Turn], future: Turn) -> Labelled | None:
        """What is new is so against the question, so ``before`` is not looked at. None: the reply shows no use."""
        return self._credited(known, self._gains(known, future))

    def asked(self, turns: Sequence[Turn], user_id: str) -> list[tuple[int, Labelled]]:
        """(position of the reply, query without uses) of every question of the user's that is replied to."""
        return [(turns[place].position, Labelled(query, (), "HQ")) for place, query in _questions(turns, user_id)]

    def explain(
        self, known: Moment, before: Sequence[Turn], asked: Labelled, future: Turn
    ) -> tuple[Labelled | None, dict[str, Floats]]:
        """The label, and the one part that it has."""
        gains, part = self._gains(known, future), np.zeros(len(known.rows), np.float32)
        for place, gain in gains:
            part[place] = gain
        return self._credited(known, gains), {"reply": part}

    def balance(self, labelled: Sequence[Labelled]) -> list[Labelled]:
        """Every question counts the same."""
        return [replace(one, weight=1.0) for one in labelled]

    def _gains(self, known: Moment, future: Turn) -> list[tuple[int, float]]:
        """(place among the candidates, idf mass of the reply's new words that it is credited for)."""
        new = [term for term in dict.fromkeys(terms(said(future.text))) if term not in known.query_terms]
        held = _held(known, list(known.query_terms) if self.future == "hidden" else new)
        total, found = float(held.max(axis=1).sum()) if held.size else 0.0, list[tuple[int, float]]()
        while held.size and len(found) < MOST:
            mass = held.sum(axis=0)
            best = float(mass.max())
            if best < max(self.least, (SECOND if found else self.share) * total):
                break
            place = int(np.flatnonzero(mass >= AS_MUCH * best)[0])
            found.append((place, float(mass[place])))
            held = held[held[:, place] == 0]
        return found

    def _credited(self, known: Moment, gains: Sequence[tuple[int, float]]) -> Labelled | None:
        if not gains:
            return None
        best, query = max(gain for _, gain in gains), known.query
        ids = [known.past.memories[known.rows[place]].memory_id for place, _ in gains]
        uses = tuple(Use(query.query_id, memory_id, round(gain / best, 6)) for memory_id, (_, gain) in zip(ids, gains))
        return Labelled(query, uses, "HQ", quality=best)


def _held(known: Moment, words: Sequence[str]) -> Floats:
    """(terms, candidates) the term's idf where a candidate holds it; of terms that some candidate holds."""
    found: list[Floats] = []
    for word in words:
        rows, _ = known.past.postings.get(word)
        inside = np.isin(known.rows, rows)
        if inside.any():
            found.append(inside.astype(np.float32) * np.float32(idf(len(known.past), np.array([len(rows)]))[0]))
    return np.stack(found) if found else np.zeros((0, len(known.rows)), np.float32)


def _questions(turns: Sequence[Turn], user_id: str) -> Iterator[tuple[int, Query]]:
    """(place of the reply, the question alone), where the reply's words are new in the assistant's mouth."""
    seen: set[str] = set()
    told = 0
    for place, query in moments(turns, user_id, 1):
        asks, reply = turns[place - 1], normalise(said(turns[place].text))
        seen |= {normalise(said(turn.text)) for turn in turns[told:place] if turn.role == "assistant"}
        told = place
        text = said(asks.text)
        if asks.role == "user" and reply not in seen and cues.flags(text)[cues.COLUMN["has_question"]]:
            yield place, replace(query, text=text, goal="")
