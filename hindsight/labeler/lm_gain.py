"""Hindsight labels by a reading model: how much likelier does a memory make what was said next?

A teacher (gated or values) names the candidates; on a budgeted share of the queries a language model reads the last turns with and
without each of the best, and its gain joins the teacher's label:

    first_m = log p(later turn | context, m) - log p(later turn | context)
    last_m  = log p(later turn | context, S) - log p(later turn | context, S without m)      S: the teacher's best few, shown together
    label_m ~ teacher_m * exp(weight * gain_m),   gain_m: the mean of first_m and last_m

With weight 1 that is Bayes' rule: the teacher's label is the prior, and the model says how likely the later turn is under each.
Alone, a memory is credited for what another one says too; left out of several, it is not credited for that at all. The mean of both
is Shapley's value for two memories, and near it for few. The gain is of the reading model: another one may know without being told.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np
from tqdm import tqdm

from hindsight.encoder.cache import default_folder
from hindsight.features.moment import Moment
from hindsight.labeler.teacher import Teacher, chosen, futures, teacher
from hindsight.lm.cache import CachedLm
from hindsight.lm.local import DEFAULT, Likelihood, LocalLm
from hindsight.miner.wording import call_text, clip, said, speaker_of, worded
from hindsight.types import ConfigError, Encoder, Floats, Labelled, Memory, Query, Turn

FLOOR = 5e-7  # a teacher's gains have six digits
WORDS = 60  # of a turn, a memory and the later turn that are read
SIGNAL = "language model's gain"


@dataclass(frozen=True)
class LmGain:
    """``share`` of the queries is read again by the model, chosen by a hash of their ids (a larger share holds a smaller one); the
    others keep the teacher's label. ``weight``: of a nat of gain. ``top``: memories read; ``shown``: of those, read together.

    ``future``: ``shuffled`` takes the later turn from elsewhere for both, ``hidden`` is the teacher's own control, which no model
    reads. ``folder``: of the cache, as the encoder's. ``least_pool``: 0 is the teacher's own.
    """

    teacher: Literal["gated", "values"] = "gated"
    future: Literal["real", "hidden", "shuffled"] = "real"
    share: float = 0.1
    weight: float = 1.0
    top: int = 8
    shown: int = 3
    model: str = DEFAULT
    dtype: Literal["float32", "bfloat16"] = "float32"
    folder: str = "auto"
    least_pool: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        wrong = {
            f"labeler.share={self.share}: wanted 0 to 1": not 0 <= self.share <= 1,
            f"labeler.top={self.top}: wanted 1 or more": self.top < 1,
            f"labeler.shown={self.shown}: wanted 0 to labeler.top={self.top}": not 0 <= self.shown <= self.top,
        }
        if problems := [problem for problem, holds in wrong.items() if holds]:
            raise ConfigError(problems)

    def build(self) -> LmGain:
        return self

    @property
    def taught(self) -> Teacher:
        """The teacher, under the same future."""
        return teacher(self.teacher, self.future, self.seed, self.least_pool)

    def label(self, turns: Sequence[Turn], memories: Sequence[Memory], encoder: Encoder) -> list[Labelled]:
        """The teacher's queries; of those chosen, the best candidates' gains are new. A query that is asked when the log has ended (of
        self-supervision) keeps its own: its answer is a memory itself."""
        labelled = self.taught.label(turns, memories, encoder)
        later, text_of = futures(self.taught, turns), {memory.memory_id: memory.text for memory in memories}
        turn_at = {turn.position: turn for turn in turns}
        reading = [n for n, one in enumerate(labelled) if one.query.asked_at in later and self._chosen(one.query.query_id)]
        for n in tqdm(reading, "lm_gain", disable=not sys.stderr.isatty(), leave=False):
            query = labelled[n].query
            before = [turn_at[position] for position in query.context if position in turn_at]
            labelled[n], _ = self._read(labelled[n], text_of, before, later[query.asked_at])
        return labelled

    def teach(self, known: Moment, before: Sequence[Turn], future: Turn) -> Labelled | None:
        """As the teacher; read again if the query is among those chosen."""
        return self._joined(known, self.taught.teach(known, before, future), before, future)[0]

    def asked(self, turns: Sequence[Turn], user_id: str) -> list[tuple[int, Labelled]]:
        return self.taught.asked(turns, user_id)

    def explain(
        self, known: Moment, before: Sequence[Turn], asked: Labelled, future: Turn
    ) -> tuple[Labelled | None, dict[str, Floats]]:
        """The label, the teacher's parts, and the model's gain, in nats, of the candidates that it read."""
        label, parts = self.taught.explain(known, before, asked, future)
        label, gain_of = self._joined(known, label, before, future)
        column = np.zeros(len(known.rows), np.float32)
        for memory_id, gain in gain_of.items():
            column[np.searchsorted(known.rows, known.past.row_of[memory_id])] = gain
        return label, {**parts, SIGNAL: column}

    def balance(self, labelled: Sequence[Labelled]) -> list[Labelled]:
        """As the teacher."""
        return self.taught.balance(labelled)

    def _joined(
        self, known: Moment, one: Labelled | None, before: Sequence[Turn], future: Turn
    ) -> tuple[Labelled | None, dict[str, float]]:
        if one is None or self.future == "hidden" or not self._chosen(one.query.query_id):
            return one, {}
        past = known.past
        text_of = {use.memory_id: past.memories[past.row_of[use.memory_id]].text for use in one.uses}
        return self._read(one, text_of, before, future)

    def _chosen(self, query_id: str) -> bool:
        return chosen(f"lm_gain {self.seed}", query_id, self.share)

    def _read(
        self, one: Labelled, text_of: Mapping[str, str], before: Sequence[Turn], future: Turn
    ) -> tuple[Labelled, dict[str, float]]:
        """(the label, memory -> gain in nats). The teacher's, where there is no candidate or nothing was said next."""
        # of equal ones, such as those rounded to 0, in the teacher's order
        best = sorted(one.uses, key=lambda use: -use.gain)[: self.top]
        target = told(future)
        if not best or not target:
            return one, {}
        model = opened(LocalLm(self.model, self.dtype), self.folder)
        lines = [line(text_of[use.memory_id]) for use in best]
        first, last, without = gains(model, context(one.query, before), lines, self.shown, f"{speaker_of(future)}:", target)
        gain = [(a + b) / 2 for a, b in zip(first, last)]
        score = [math.log(max(use.gain, FLOOR)) + self.weight * g for use, g in zip(best, gain)]
        shares = [math.exp(each - max(score)) for each in score]
        scale = min(1.0, sum(use.gain for use in best) / sum(shares))  # as much in all as the teacher gave, and none over 1
        new = {
            use.memory_id: replace(use, gain=round(share * scale, 6), evidence=_evidence(use.evidence, a, b, without))
            for use, share, a, b in zip(best, shares, first, last)
        }
        uses = tuple(new.get(use.memory_id, use) for use in one.uses)
        return replace(one, uses=uses), {use.memory_id: g for use, g in zip(best, gain)}


def gains(
    model: CachedLm, before: str, memories: Sequence[str], shown: int, speaker: str, target: str
) -> tuple[list[float], list[float], Likelihood]:
    """(gain of each memory alone, its gain as the last of those shown together, likelihood without any), in nats. The first ``shown``
    are shown together; of the others, and where only one is, the last gain is the first."""
    together = tuple(range(min(shown, len(memories))))
    less = {m: tuple(other for other in together if other != m) for m in together} if len(together) > 1 else {}
    asked: list[tuple[int, ...]] = [(), *((m,) for m in range(len(memories))), *([together, *less.values()] if less else [])]
    middles = ["".join(memories[m] for m in some) + speaker for some in asked]
    found = dict(zip(asked, model.likelihoods(before, middles, f" {target}")))
    first = [found[m,].total - found[()].total for m in range(len(memories))]
    last = [found[together].total - found[less[m]].total if m in less else first[m] for m in range(len(memories))]
    return first, last, found[()]


def context(query: Query, before: Sequence[Turn]) -> str:
    """The turns that the model sees anyway, a line each; the query itself where it stands alone, as a question does."""
    lines = [worded(turn, said(turn.text)) for turn in before] or query.text.split("\n")
    return "".join(f"{_short(line)}\n" for line in lines if line)


def told(future: Turn) -> str:
    """What the later turn says and calls, without who says it and without what a tool answered."""
    calls = [f"[call {call_text(replace(call, result=None))}]" for call in future.calls]
    return _short(" ".join([*calls, said(future.text)]))


@lru_cache(maxsize=1)
def opened(model: LocalLm, folder: str) -> CachedLm:
    """One a process."""
    return CachedLm(model.build(), default_folder() if folder == "auto" else Path(folder) if folder else None)


def _short(text: str) -> str:
    return clip(" ".join(text.split()), WORDS)


def line(memory: str) -> str:
    return f"({_short(memory)})\n"


def _evidence(of_teacher: str, first: float, last: float, without: Likelihood) -> str:
    read = f"{first:+.2f} nats alone, {last:+.2f} as the last; {without.total:.2f} without, {without.tokens} tokens"
    return f"{of_teacher}; {read}" if of_teacher else read
