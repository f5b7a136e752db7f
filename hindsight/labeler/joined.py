"""The label model: what several labelers' signals say together, and how sure that is. No gold.

Each part of each labeler's evidence (Explains.explain) votes on each candidate: used, not used, or nothing; how good each signal is comes
from agreement alone (agree.py). The label is the chance that the memory was used. Where that is neither high nor low, or where no
signal speaks, the memory stays unlabelled: it is named in ``Labelled.unsure`` and enters the loss neither as used nor as not used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from hindsight.features.moment import Moment
from hindsight.features.replay import moment, replay
from hindsight.labeler import gated, judge, lm_gain, overlap, values
from hindsight.labeler.agree import FALSE, HIT, Rates, Votes, fit
from hindsight.labeler.teacher import Teacher, futures, teacher
from hindsight.types import ConfigError, Encoder, Floats, Labelled, Memory, Turn, Use

Name = Literal["values", "gated", "overlap", "lm_gain", "judge"]
SIGNED = frozenset({lm_gain.SIGNAL, judge.SIGNAL})  # read a few candidates: zero is one that they did not
WITHOUT_FUTURE = frozenset({gated.WINDOW, gated.TOKENS})  # what the query alone says is no evidence of use
# hit and false rate that a signal is believed to have before this log is seen: a value that is the same in both is hardly chance, words
# are now and then, and something is always nearest
BELIEVED = {
    "call values": (0.8, 0.003),
    "reply entities": (0.75, 0.003),
    judge.SIGNAL: (0.8, 0.05),
    lm_gain.SIGNAL: (0.6, 0.1),
    gated.NOVELTY: (0.5, 0.03),
    "overlap": (0.5, 0.03),
    gated.COSINE: (0.3, 0.03),
    gated.FUTURE_TOKENS: (0.3, 0.03),
}
BELIEF = 100.0  # pairs that this is worth: with less, words, which most signals look at, would soon be what "used" means
EXACT = frozenset({"call values", "reply entities"})
NEAR_BEST = 0.75  # of the way from the median to the best


@dataclass(frozen=True)
class Joined:
    """``labelers``: whose signals vote; the first one, values or gated, chooses the queries. ``sure``: chances up to the first are not
    used, from the second on used, between them unlabelled. ``url``, ``model``, ``key``: of a judge, if it is among them.

    ``future``: ``shuffled`` takes what came next from elsewhere, as the first labeler does; ``hidden`` is the first's own control.
    """

    labelers: tuple[Name, ...] = ("values", "gated")
    future: Literal["real", "hidden", "shuffled"] = "real"
    sure: tuple[float, float] = (0.05, 0.5)
    url: str = ""
    model: str = ""
    key: str = ""
    least_pool: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        first = self.labelers[0] if self.labelers else ""
        wrong = {
            f"labeler.labelers={list(self.labelers)}: wanted values or gated first": first not in ("values", "gated"),
            "labeler.labelers: one stands twice": len(set(self.labelers)) < len(self.labelers),
            f"labeler.sure={list(self.sure)}: wanted 0 to 1, rising": not 0 <= self.sure[0] < self.sure[1] <= 1,
        }
        if problems := [problem for problem, holds in wrong.items() if holds]:
            raise ConfigError(problems)

    def build(self) -> Joined:
        return self

    @property
    def first(self) -> Teacher:
        return teacher(self.labelers[0], self.future, self.seed, self.least_pool)

    def label(self, turns: Sequence[Turn], memories: Sequence[Memory], encoder: Encoder) -> list[Labelled]:
        """One user's stream. The signals' rates are those of this stream, for each kind of query apart. A query without a memory that was
        surely used falls out."""
        if self.future == "hidden" or not memories:
            return self.first.label(turns, memories, encoder)
        asked = self.asked(turns, memories[0].user_id)
        later, at = futures(self.first, turns), {turn.position: turn for turn in turns}
        encoder.encode([line for _, one in asked for line in one.query.text.split("\n")])
        seen: list[tuple[Labelled, list[str], dict[str, Votes]]] = []
        for place, past in replay(turns, memories, encoder, [one.query.asked_at for _, one in asked]):
            position, one = asked[place]
            known = moment(past, one.query)
            if len(known.rows) >= self.first.least_pool:
                before = [at[p] for p in one.query.context if p in at]
                own, parts = self._parts(known, before, one, later[position])
                ids = [past.memories[row].memory_id for row in known.rows.tolist()]
                seen.append((own, ids, {name: ballot(name, part) for name, part in parts.items()}))
        names = sorted({name for _, _, votes in seen for name in votes})
        if not names:
            return []
        tables = [_table(votes, names, len(ids)) for _, ids, votes in seen]
        of_kind: dict[str, list[Votes]] = {}
        for (own, _, _), table in zip(seen, tables):
            of_kind.setdefault(own.kind, []).append(table)
        rates = {
            kind: _fit(np.concatenate(some), names) for kind, some in of_kind.items()
        }  # a reply's words at a call are worth less
        found = [self._said(own, ids, table, names, rates[own.kind]) for (own, ids, _), table in zip(seen, tables)]
        return [one for one in found if one is not None]

    def teach(self, known: Moment, before: Sequence[Turn], future: Turn) -> Labelled | None:
        """One query: the rates rest on little more than the prior."""
        return self.explain(known, before, Labelled(known.query, (), ""), future)[0]

    def asked(self, turns: Sequence[Turn], user_id: str) -> list[tuple[int, Labelled]]:
        return self.first.asked(turns, user_id)

    def explain(
        self, known: Moment, before: Sequence[Turn], asked: Labelled, future: Turn
    ) -> tuple[Labelled | None, dict[str, Floats]]:
        """The label, and every signal that votes."""
        if self.future == "hidden":
            return self.first.explain(known, before, asked, future)
        if not len(known.rows):
            return None, {}
        own, parts = self._parts(known, before, asked, future)
        names = sorted(parts)
        table = _table({name: ballot(name, part) for name, part in parts.items()}, names, len(known.rows))
        ids = [known.past.memories[row].memory_id for row in known.rows.tolist()]
        return self._said(own, ids, table, names, _fit(table, names)), parts

    def balance(self, labelled: Sequence[Labelled]) -> list[Labelled]:
        """As the first labeler."""
        return self.first.balance(labelled)

    def _parts(
        self, known: Moment, before: Sequence[Turn], asked: Labelled, future: Turn
    ) -> tuple[Labelled, dict[str, Floats]]:
        """(the query with the first labeler's kind and quality, signal -> what it says of each candidate)."""
        parts: dict[str, Floats] = {}
        label: Labelled | None = None
        for name in self.labelers:
            own, shown = self._build(name).explain(known, before, asked, future)
            label = own if name == self.labelers[0] else label
            parts |= {part: column for part, column in shown.items() if part not in WITHOUT_FUTURE}
        kind = label.kind if label else asked.kind or ("call" if future.calls else "reply")
        return replace(asked, kind=kind, quality=label.quality if label else 0.0), parts

    def _build(self, name: Name) -> Any:
        if name == "overlap":
            return overlap.Overlap()
        if name == "lm_gain":
            return lm_gain.LmGain(teacher=self._taught, seed=self.seed)
        if name == "judge":
            return judge.Judge(teacher=self._taught, url=self.url, model=self.model, key=self.key, seed=self.seed)
        return values.Values() if name == "values" else gated.Gated()

    @property
    def _taught(self) -> Literal["gated", "values"]:
        return "gated" if self.labelers[0] == "gated" else "values"

    def _said(self, own: Labelled, ids: Sequence[str], table: Votes, names: Sequence[str], rates: Rates) -> Labelled | None:
        """None where no memory was surely used."""
        chance = rates.posterior(table)
        spoken = np.abs(table).sum(axis=1) > 0
        uses: list[Use] = []
        unsure: list[str] = []
        for memory_id, row, p, heard in zip(ids, table, chance.tolist(), spoken.tolist()):
            if heard and p >= self.sure[1]:
                uses.append(Use(own.query.query_id, memory_id, round(p, 6), _evidence(row, names)))
            elif not heard or p > self.sure[0]:
                unsure.append(memory_id)
        return replace(own, uses=tuple(uses), unsure=tuple(unsure)) if uses else None


def ballot(name: str, part: Floats) -> Votes:
    """(candidates,) a signal's scores -> its votes; where all are equal it says nothing. Used: near the best, or any of which exact
    evidence stands. Not used: no better than most."""
    votes = np.zeros(len(part), np.int8)
    middle = 0.0 if name in SIGNED else float(np.median(part))
    best = float(part.max(initial=middle)) - middle
    if best > 0:
        votes[part <= middle] = -1
        votes[part > middle if name in EXACT else part - middle >= NEAR_BEST * best] = 1
    if name in SIGNED:
        votes[part < 0] = -1
        votes[part == 0] = 0
    return votes


def _table(votes: dict[str, Votes], names: Sequence[str], candidates: int) -> Votes:
    """(candidates, signals)."""
    silent = np.zeros(candidates, np.int8)
    return np.stack([votes.get(name, silent) for name in names], axis=1)


def _fit(votes: Votes, names: Sequence[str]) -> Rates:
    return fit(votes, [BELIEVED.get(name, (HIT, FALSE)) for name in names], BELIEF)


def _evidence(row: Votes, names: Sequence[str]) -> str:
    return ", ".join(f"{'+' if vote > 0 else '-'} {name}" for vote, name in zip(row.tolist(), names) if vote)
