"""Features by name: the one place that knows which block makes which column, and to which group of the head it belongs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from hindsight.features import asked, context, dense, goal, late_interaction, lexical, need, neighbours, outcome
from hindsight.features.moment import Moment
from hindsight.types import ConfigError, Floats


def _of_last(make: Callable[[Moment], Floats], moment: Moment) -> Floats:
    return make(moment.last)


GROUPS = ("text relevance", "goal match", "outcome feedback", "context", "need")
_BLOCKS = (lexical, dense, late_interaction, asked, context, goal, outcome, neighbours, need)
_PLAIN = {name: (block.GROUP, make) for block in _BLOCKS for name, make in block.COLUMNS.items()}
LAST = "@last"  # NAME@last is NAME for the query's last utterance alone
_NAMED = _PLAIN | {f"{name}{LAST}": (group, partial(_of_last, make)) for name, (group, make) in _PLAIN.items()}
GROUP_OF: dict[str, str] = {name: group for name, (group, _) in _NAMED.items()}
_MAKE = {name: make for name, (_, make) in _NAMED.items()}

# SCIENCE's wide ask head: best where it was trained. Lengths and recency are left out on purpose (labels favour long memories).
ASK = (
    *(n for n in lexical.NAMES if n not in ("bm25_last", "bm25_wide")),
    *(n for n in dense.NAMES if n not in ("cosine_last", "cosine_long")),
    *(n for n in late_interaction.NAMES if n != "maxsim_last"),
    *neighbours.NAMES,
    "speaker",
    "has_question",
    "ends_question",
    "digit",
    "entities_few",
)
# The seven that carry over to logs of another kind.
NARROW = ("bm25", "bm25_window", "cosine", "cosine_window", "maxsim", "maxsim_idf", "speaker")
ACT = (
    *(n for n in NARROW if n != "speaker"),
    *("bm25_last", "cosine_last", "maxsim_last"),
    *(n for n in context.NAMES if n not in ("speaker", "digit", "entities_few")),
    *goal.NAMES,
    *(n for n in outcome.NAMES if n not in ("failed", *outcome.OVERWRITES)),  # these help little so far: LOG.md
)
# The wide head with the question's side: +.014 nDCG@10 on LoCoMo over ask, cross-fitted (.666 against .652, one seed); the word
# lists behind it were written by people who had seen such questions.
CUED = (*ASK, "bm25_wide", "cosine_long", *asked.NAMES)
# What carried over to logs of other kinds, in development on several: each is a match or a cue in a user's own terms. All are of
# the last utterance, so a transcript and a lone question come out alike; with what calibration needs to say "nothing".
FREE = ("bm25", "bm25_window", "bm25_wide", "cosine", "cosine_window", "maxsim", "maxsim_idf", "speaker", "answer_words")
HAND = ("cosine_long", "first_person", "answer_type", "date_span", "answers_question")  # word lists and forms by people
TRAVEL = (*(f"{name}{LAST}" for name in (*FREE, *HAND)), *need.NAMES)
# And what a memory says by itself: who tells it, how long it is, whether it only asks. Trained on a log whose use was seen in replies
# these tell a telling from talk; on labels by likelihood they favour what is long.
TOLD = (
    *TRAVEL,
    *(f"{name}{LAST}" for name in ("user_said", "length", "has_question", "ends_question", "entities", "number", "date")),
)
SETS = {
    "free": (*(f"{name}{LAST}" for name in FREE), *need.NAMES),
    "travel": TRAVEL,
    "told": TOLD,
    "ask": ASK,
    "cued": CUED,
    "narrow": NARROW,
    "act": ACT,
}


def columns_of(name: str, without: Sequence[str] = ()) -> tuple[str, ...]:
    """A named set of features, ``without`` some columns or whole groups of it. Raises ConfigError for an unknown name."""
    if name not in SETS:
        raise ConfigError([f"features={name!r}; known: {', '.join(SETS)}"])
    if unknown := [out for out in without if out not in GROUPS and out not in GROUP_OF]:
        raise ConfigError(
            [f"without={out!r}: no feature and no group; the groups are: {', '.join(GROUPS)}" for out in unknown]
        )
    left = tuple(c for c in SETS[name] if not {c, c.removesuffix(LAST), GROUP_OF[c]} & set(without))
    if not left:
        raise ConfigError([f"features={name!r} without {', '.join(without)}: nothing is left"])
    return left


def check(columns: Sequence[str]) -> None:
    """Raises ConfigError naming every column that does not exist."""
    unknown = [name for name in columns if name not in GROUP_OF]
    if unknown:
        raise ConfigError([f"unknown feature {name!r}; known: {', '.join(sorted(GROUP_OF))}" for name in unknown])


def compute(moment: Moment, columns: Sequence[str]) -> Floats:
    """(candidates, columns) float32. Only what is asked for is made, and only once for one moment."""
    found = np.empty((len(columns), len(moment.rows)), np.float32)
    if len(moment.rows):
        for place, name in enumerate(columns):
            found[place] = moment.once(name, lambda make=_MAKE[name]: make(moment))
    return np.ascontiguousarray(found.T)
