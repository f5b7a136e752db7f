"""Questions that a language model answers with recalled memories in its prompt: is the attention bias worth it?

The questions are those of ``bundled`` or ``locomo``. Of the bundled people there are also questions that nothing answers, and it is
known which values were overwritten: what a bias is for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from hindsight.lm.local import DEFAULT
from hindsight.suite.bundled import Bundled
from hindsight.suite.gold import FOLDER, Split
from hindsight.suite.locomo import LoCoMo
from hindsight.suite.told import absent, before, names_of, overwritten, read_told, rivals
from hindsight.types import Case, ConfigError, Count, DataError, opaque

# reading/conditions.py has the grammar. All are compared with plain and with each drop. Thresholds, strengths and formulas were
# chosen on train people alone (LOG.md): of the thresholds drop:.03:relative has the best likelihood there and drop:.05 says the answer
# most often; of the biases linear:3 is above both on both.
CONDITIONS = (
    "none", "plain", "best-first", "worst-first", "marks", "drop:.01", "drop:.03:relative", "drop:.05", "uniform+linear:3:after",
    "shuffled+linear:3:after", "oracle+linear:3:after", "oracle+drop:.5", "log:1:floor.2:after", "linear:3:after", "share:.3:after",
    "linear:3:after+drop:.03:relative",
)  # fmt: skip


@dataclass(frozen=True)
class Question:
    """``needed``: alternatives, each a set of values that a right answer holds all of; none of a question that nothing answers.
    ``target``: what the likelihood is of. ``told``: values that the user has told by then, ``old`` those of the same attribute that
    were overwritten, ``rivals`` all others of it."""

    case: Case
    needed: tuple[tuple[str, ...], ...] = ()
    target: str = ""
    told: tuple[str, ...] = ()
    old: tuple[str, ...] = ()
    rivals: tuple[str, ...] = ()


@dataclass(frozen=True)
class InjectionSuite:
    """``of``: where the questions are from. ``path``: a folder like data/bundled (another seed's people:
    ``python -m data.generator --seed 7 --to DIR``), or locomo10.json. ``split``: of the bundled people; tune on ``train`` alone.

    ``model``, ``dtype``: the reader, as in lm/local.py; ``chat``: it has a chat template. ``k`` memories of at most ``budget`` tokens
    together. ``limit``: so many questions, drawn by a hash. ``batch``: questions read at a time, under all conditions. ``generate``:
    answers are written, not only their likelihood read. ``seeds``: of what is drawn by chance. ``timed``: questions whose latency is
    measured, one at a time."""

    of: Literal["bundled", "locomo"] = "bundled"
    path: Path = FOLDER
    split: Split = "test"
    model: str = DEFAULT
    dtype: Literal["float32", "bfloat16"] = "float32"
    chat: bool = False
    conditions: tuple[str, ...] = CONDITIONS
    k: int = 8
    budget: int = 512
    limit: int = 0
    batch: int = 4
    new_tokens: int = 16
    generate: bool = True
    seeds: int = 3
    timed: int = 5
    name: ClassVar[str] = "injection"
    unit: ClassVar[str] = "turn"

    def __post_init__(self) -> None:
        counts = {
            "k": self.k,
            "budget": self.budget,
            "batch": self.batch,
            "new_tokens": self.new_tokens,
            "seeds": self.seeds,
        }
        wrong = {f"suite.{name}={value}: wanted 1 or more": value < 1 for name, value in counts.items()}
        wrong |= {f"suite.limit={self.limit}: wanted 0 or more": self.limit < 0}
        wrong |= {f"suite.timed={self.timed}: wanted 0 or more": self.timed < 0}
        wrong |= {"suite.conditions=[]: wanted one or more": not self.conditions}
        wrong |= {f"condition {name!r} stands twice": self.conditions.count(name) > 1 for name in self.conditions}
        wrong |= {"suite.of=locomo: give suite.path=locomo10.json": self.of == "locomo" and self.path == FOLDER}
        if problems := [problem for problem, holds in wrong.items() if holds]:
            raise ConfigError(problems)

    def build(self) -> InjectionSuite:
        return self

    @property
    def source(self) -> Bundled | LoCoMo:
        return Bundled(self.path, self.split) if self.of == "bundled" else LoCoMo(self.path)

    @property
    def notes(self) -> tuple[str, ...]:
        return (f"questions of {self.of}", *self.source.notes)

    def cases(self, count: Count) -> Iterator[Case]:
        """Those with an answer."""
        return iter(self.source.cases(count))

    def unanswerable(self) -> list[Case]:
        source = self.source
        return source.unanswerable() if isinstance(source, Bundled) else []

    def questions(self, count: Count) -> list[Question]:
        """By user, a user's in stream order. Raises DataError where none is left."""
        source = self.source
        found = list(self._bundled(source, count)) if isinstance(source, Bundled) else list(_locomo(source, count))
        chosen = sorted(found, key=lambda one: opaque("limit", one.case.query.query_id))[: self.limit or len(found)]
        kept = {one.case.query.query_id for one in chosen}
        if not kept:
            raise DataError(self.path, f"no question ({count})", "questions with an answer")
        order = {user: place for place, user in enumerate(dict.fromkeys(one.case.query.user_id for one in found))}
        found = [one for one in found if one.case.query.query_id in kept]
        return sorted(found, key=lambda one: (order[one.case.query.user_id], one.case.query.asked_at))

    def _bundled(self, source: Bundled, count: Count) -> Iterator[Question]:
        told = read_told(self.path, self.split)
        names = names_of(one for own in told.values() for one in own)
        logs: dict[str, str] = {}
        cases = list(source.cases(count))
        for case in cases:  # of one user they are prefixes of one stream, and the last is the longest
            logs[case.query.user_id] = " ".join(turn.text for turn in case.turns)
        for case in cases:
            own = told[case.query.user_id]
            yield Question(case, needed(case), target(case), before(case, own), overwritten(case, own), rivals(case, own))
            if other := absent(case, own, names, logs[case.query.user_id]):
                yield Question(other, told=before(other, own), rivals=(*case.answers, *rivals(case, own)))
        for case in source.unanswerable():
            yield Question(case, told=before(case, told[case.query.user_id]))


def needed(case: Case) -> tuple[tuple[str, ...], ...]:
    """All of a question's values, but for a time: a date in words or as ISO will do."""
    return tuple((answer,) for answer in case.answers) if case.kind == "temporal" else (case.answers,)


def target(case: Case) -> str:
    return case.answers[0] if case.kind == "temporal" else " and ".join(case.answers)


def _locomo(source: LoCoMo, count: Count) -> Iterator[Question]:
    for case in source.cases(count):
        if case.answers:
            yield Question(case, ((case.answers[0],),), case.answers[0])
        else:
            count.note("question without an answer: left out")
