"""Hindsight labels for *ask*: which early memories does the next turn draw on, given that something asked for it?

Training queries from raw turns: HQ = the questions of turn t-1, HP = a statement of turn t with a span gone; the future is
turn t, candidates end at t-4. Self-supervised: PQ = HP's query asked at the end of the log, where turn t itself is the
answer; RQ = HQ's query asked at the end, with turn t-1 taken out of the past and turn t as the answer.

In a log with an assistant, people ask about what *they* told, and a reply is no evidence of use: it echoes what it was told, advises at
length, and resembles other replies. There only people's turns are asked about, there is no RQ, and a query whose likeliest memory is a
reply is left out (LOG.md: labels that credit replies turn the speaker cue round).

The teacher (SCIENCE): 2 z(BM25 of words that are in the future and not in the query) + 1.5 z(BM25 window, query)
+ 1.5 z(MaxSim-idf, query) + z(cosine to the future) + z(MaxSim-idf, future); softmax, top 8.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from hindsight.features.goal import unit
from hindsight.features.moment import Moment, zscore
from hindsight.features.replay import moment, replay
from hindsight.labeler.asking import fitting_question, fitting_questions
from hindsight.labeler.pseudo import questions, statement_question
from hindsight.miner.wording import said, speaker_of
from hindsight.text import terms
from hindsight.types import Encoder, Floats, Labelled, Memory, Query, Turn, Use, opaque

KINDS = ("HQ", "HP", "PQ", "RQ")
# the parts of the teacher
NOVELTY, WINDOW, TOKENS = "novel words, BM25", "query, BM25 window", "query, MaxSim-idf"
COSINE, FUTURE_TOKENS = "future, cosine", "future, MaxSim-idf"
ASKING = {"fitting": (fitting_questions, fitting_question), "random": (questions, statement_question)}


@dataclass(frozen=True)
class Gated:
    """``future``: ``real``; ``hidden`` sets the teacher's future terms to zero and ``shuffled`` takes them from another turn of
    the same role (the two controls). PQ and RQ have their answer from the future too: hidden, the teacher is asked what their words
    say; shuffled, it is the other turn. ``drop``: share of HQ and HP whose best novelty is lowest. ``weights``: of HQ, HP, PQ, RQ
    between people; ``assisted``: of HQ, HP, PQ in a log with an assistant, where questions are mostly requests.
    ``asking``: ``fitting`` words questions as people do (asking.py), ``random`` puts any wh-word in front (pseudo.py).

    ``most``: queries of each kind from one user, chosen by a hash.
    """

    future: Literal["real", "hidden", "shuffled"] = "real"
    asking: Literal["fitting", "random"] = "fitting"
    drop: float = 0.4
    weights: tuple[float, float, float, float] = (2.0, 1.0, 0.5, 1.0)
    assisted: tuple[float, float, float] = (0.5, 1.0, 2.0)
    top: int = 8
    listed: int = 16
    gap: int = 3
    least_pool: int = 50
    most: int = 1000
    seed: int = 0

    def build(self) -> Gated:
        return self

    def label(self, turns: Sequence[Turn], memories: Sequence[Memory], encoder: Encoder) -> list[Labelled]:
        """One user's stream -> training queries, in order of ``asked_at``. Memories must be turns."""
        user_id = memories[0].user_id if memories else ""
        asked = _most(list(_queries(turns, user_id, self)), self.most)
        encoder.encode([labelled.query.text for labelled, _ in asked])
        answer_of = {m.sources[-1]: m for m in memories}
        futures = _futures(turns, self.future, self.seed)
        found: list[Labelled] = []
        for place, past in replay(turns, memories, encoder, [one.query.asked_at for one, _ in asked]):
            labelled, t = asked[place]
            if labelled.kind in ("PQ", "RQ") and self.future != "hidden":
                source = futures[t].position  # t itself, or another turn where futures are shuffled
                if len(past) >= self.least_pool and source in answer_of:
                    use = Use(labelled.query.query_id, answer_of[source].memory_id, 1.0, "the turn itself")
                    found.append(replace(labelled, uses=(use,)))
            elif (known := moment(past, labelled.query)) and len(known.rows) >= self.least_pool:
                taught, _ = self.explain(known, (), labelled, futures[t])
                found += [taught] if taught else []
        return found

    def teach(self, known: Moment, before: Sequence[Turn], future: Turn) -> Labelled | None:
        """Any query and its future, such as a question and its answer. ``before`` adds nothing to the query's text."""
        return self._taught(known, Labelled(known.query, (), "HP"), future) if len(known.rows) else None

    def asked(self, turns: Sequence[Turn], user_id: str) -> list[tuple[int, Labelled]]:
        """(position of the future, query without uses) of every query that a future answers: HQ and HP."""
        found = _queries(turns, user_id, self)
        return [(t, labelled) for labelled, t in found if labelled.kind not in ("PQ", "RQ")]

    def explain(
        self, known: Moment, before: Sequence[Turn], asked: Labelled, future: Turn
    ) -> tuple[Labelled | None, dict[str, Floats]]:
        """The label, and what each part of the teacher says of each candidate. ``known`` must hold one. No label where the
        likeliest memory is an assistant's reply."""
        parts = self._parts(known, asked, future)
        label = self._credited(known, asked, parts)
        best = known.past.memories[known.past.row_of[label.uses[0].memory_id]]
        return (None if best.role == "assistant" else label), parts

    def _taught(self, known: Moment, labelled: Labelled, future: Turn) -> Labelled:
        return self._credited(known, labelled, self._parts(known, labelled, future))

    def _credited(self, known: Moment, labelled: Labelled, parts: dict[str, Floats]) -> Labelled:
        query_id = labelled.query.query_id
        score, novelty = _teacher(parts)
        order = np.argsort(-score, kind="stable")[: self.listed]
        gain = np.exp(score[order] - score[order[0]])
        gain[self.top :] = 0
        gain /= gain.sum()
        uses = tuple(
            Use(query_id, known.past.memories[known.rows[row]].memory_id, round(float(g), 6)) for row, g in zip(order, gain)
        )
        return replace(labelled, uses=uses, quality=float(novelty))

    def _parts(self, known: Moment, labelled: Labelled, future: Turn) -> dict[str, Floats]:
        """Name -> (candidates,). Where the future is hidden, only what the query says."""
        past = known.past
        asks = {WINDOW: known.bm25_window, TOKENS: known.maxsim_query[1]}
        if self.future == "hidden":
            return asks
        names = {term for name in past.speakers for term in terms(name)}
        text = f"{speaker_of(future)}: {said(future.text)}"
        asked = set(known.query_terms)
        novel = known.bm25(tuple(dict.fromkeys(t for t in terms(text) if t not in asked and t not in names)))
        encoded = past.encoder.encode([text])[0]
        near = encoded.pooled
        if labelled.kind == "HQ":  # the question and its answer together
            near = unit(near + past.pooled.view[-1])
        return {NOVELTY: novel, **asks, COSINE: known.cosine(near), FUTURE_TOKENS: known.maxsim(encoded)[1]}

    def balance(self, labelled: Sequence[Labelled]) -> list[Labelled]:
        """Over all training users: the least novel HQ and HP fall out, each kind gets its weight divided by its count."""
        kept: list[Labelled] = []
        assisted = not any(one.kind == "RQ" for one in labelled)  # only logs between people have it
        for kind, weight in zip(KINDS, self.assisted if assisted else self.weights):
            rows = [one for one in labelled if one.kind == kind]
            if kind in ("HQ", "HP") and rows and self.future != "hidden":
                least = np.quantile([one.quality for one in rows], self.drop)
                rows = [one for one in rows if one.quality >= least]
            kept += [replace(one, weight=weight / len(rows)) for one in rows]
        kept += [one for one in labelled if one.kind not in KINDS]  # gold, for the upper bound
        scale = len(kept) / max(sum(one.weight for one in kept), 1e-12)
        return [replace(one, weight=one.weight * scale) for one in kept]


def _teacher(parts: dict[str, Floats]) -> tuple[Floats, float]:
    """(candidates,) the teacher's score, and the best novelty."""
    asks = np.float32(1.5) * (zscore(parts[WINDOW]) + zscore(parts[TOKENS]))
    if NOVELTY not in parts:
        return asks * np.float32(2 / 1.5), 0.0
    score = np.float32(2) * zscore(parts[NOVELTY]) + asks + zscore(parts[COSINE]) + zscore(parts[FUTURE_TOKENS])
    return score, float(parts[NOVELTY].max())


def _queries(turns: Sequence[Turn], user_id: str, how: Gated) -> Iterator[tuple[Labelled, int]]:
    """(training query without uses, position of the turn that is its future or its answer). A system prompt is no turn of theirs:
    it asks nothing and tells nothing."""
    end = turns[-1].position + 1 if turns else 0
    of_questions, of_statement = ASKING[how.asking]
    assisted = any(turn.role == "assistant" for turn in turns)
    for place, turn in enumerate(turns):
        if turn.role == "system":
            continue
        me, text = speaker_of(turn), said(turn.text)
        before = turns[place - 1] if place and turns[place - 1].session == turn.session else None
        context = tuple(t.position for t in turns[max(0, place - how.gap) : place])
        asker = before if before and before.role not in ("system", "assistant") else None
        if asker and (asked := of_questions(said(asker.text), speaker_of(asker), me)):
            yield _one("HQ", user_id, turn, asked, turn.position, context), turn.position
            if not assisted:
                yield _one("RQ", user_id, turn, asked, end, (), (asker.position,)), turn.position
        if turn.role == "assistant":
            continue
        other = speaker_of(before) if before else next((speaker_of(t) for t in turns if t.speaker != turn.speaker), me)
        rng = random.Random(f"{how.seed}:{turn.position}:{text}")
        if asked := of_statement(text, me, other, rng):
            yield _one("HP", user_id, turn, asked, turn.position, context), turn.position
            yield _one("PQ", user_id, turn, asked, end, ()), turn.position


def _most(asked: list[tuple[Labelled, int]], most: int) -> list[tuple[Labelled, int]]:
    """Of each kind as many, chosen by a hash: a stream of thousands of long turns would take hours and say little more."""
    kept: set[str] = set()
    for kind in KINDS:
        ids = sorted(opaque("most", one.query.query_id) for one, _ in asked if one.kind == kind)
        kept.update(ids[:most])
    return [(one, t) for one, t in asked if opaque("most", one.query.query_id) in kept]


def _one(
    kind: str, user_id: str, turn: Turn, text: str, asked_at: int, context: tuple[int, ...], hidden: tuple[int, ...] = ()
) -> Labelled:
    query = Query(opaque(kind, user_id, turn.position, text), user_id, "", text, asked_at, time=turn.time, context=context)
    return Labelled(query, (), kind, hidden=hidden)


def _futures(turns: Sequence[Turn], future: str, seed: int) -> dict[int, Turn]:
    found = {turn.position: turn for turn in turns}
    if future == "shuffled":
        rng = random.Random(f"futures:{seed}")
        for role in sorted({turn.role for turn in turns}):
            own = [turn for turn in turns if turn.role == role]
            found |= {turn.position: other for turn, other in zip(own, rng.sample(own, len(own)))}
    return found
