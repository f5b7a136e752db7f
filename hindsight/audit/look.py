"""One moment under three futures: the true one, another one, none. What the label and each part of its evidence make of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

import numpy as np

from hindsight.audit.futures import Chosen, explains
from hindsight.features import cues
from hindsight.features.moment import Moment
from hindsight.labeler.overlap import Overlap
from hindsight.measure.agreement import Coded, Lean, Pair, coded, credited, in_place, lean, pairs, shared, speaks
from hindsight.miner.wording import call_text, clip, said, worded
from hindsight.types import Floats, Labelled, Turn

LABEL, BASELINE = "the whole label", "words alone (baseline)"
# what a memory looks like -> how it is read off a moment's candidates
ATTRIBUTES: Mapping[str, Callable[[Moment], Floats]] = {
    "length (log of words)": lambda known: np.log1p(known.past.words.view[known.take]),
    "asks a question": lambda known: _cue(known, "has_question"),
    "holds a digit": lambda known: _cue(known, "digit"),
    "says I or my": lambda known: _cue(known, "first_person"),
    "said by the user": lambda known: known.past.by_user.view[known.take],
    "recency (0 oldest, 1 newest)": lambda known: np.linspace(0, 1, len(known.rows), dtype=np.float32),
}

Explained = tuple[Labelled | None, dict[str, Floats]]


@dataclass(frozen=True, slots=True)
class Signal:
    """``stays``: share of its credit that another future leaves in place, None where it is silent. ``apart``: 1 the true future shows
    more, .5 as much, 0 the other one does; None where it reads no future, or neither shows anything.

    A part that gives some candidates nothing counts what is new in a future, so the other one's news is held against it; one that
    compares whole texts gets the whole other turn."""

    speaks: bool
    stays: float | None
    apart: float | None


@dataclass(frozen=True, slots=True)
class Look:
    """``stays``: control -> share of the label's gain that stays in place; ``lean``: future -> attribute -> how the label leans."""

    user_id: str
    session: str
    kind: str
    pool: int
    novel: tuple[int, int]  # novel words of the true future, and of the other
    signals: Mapping[str, Signal]
    pairs: Mapping[tuple[str, str], Pair]
    coded: Coded
    stays: Mapping[str, float] = field(default_factory=dict[str, float])
    lean: Mapping[str, Mapping[str, Lean]] = field(default_factory=dict[str, Mapping[str, Lean]])
    shown: Mapping[str, str] = field(default_factory=dict[str, str])  # words for people: asked, came next, credited


def true_to(labeler: Any, future: str) -> Any:
    """The labeler under this future; None where it has no such setting."""
    has = is_dataclass(labeler) and any(one.name == "future" for one in fields(labeler))
    return (
        replace(labeler, future=future) if has and not isinstance(labeler, type) else labeler if future == "real" else None
    )


def explain(labeler: Any, known: Moment, before: Sequence[Turn], asked: Labelled, future: Turn) -> Explained:
    """A labeler that shows no evidence has its label alone."""
    if explains(labeler):
        return labeler.explain(known, before, asked, future)
    return labeler.teach(known, before, future), {}


def gains(known: Moment, one: Labelled | None) -> Floats:
    """(candidates,) what a label gives each."""
    found = np.zeros(len(known.rows), np.float32)
    for use in one.uses if one else ():
        found[np.searchsorted(known.rows, known.past.row_of[use.memory_id])] = use.gain
    return found


def signals(
    labeler: Any, known: Moment, before: Sequence[Turn], asked: Labelled, future: Turn
) -> tuple[Labelled | None, dict[str, Floats]]:
    """The label, and each part of its evidence, the whole of it, and the lexical baseline, over the candidates."""
    label, parts = explain(labeler, known, before, asked, future)
    found = {**parts, LABEL: gains(known, label)}
    if "overlap" not in parts:
        found[BASELINE] = Overlap().explain(known, before, asked, future)[1]["overlap"]
    return label, found


def look(labeler: Any, known: Moment, before: Sequence[Turn], chosen: Chosen, novel: tuple[int, int]) -> Look:
    """``labeler``: with its true future."""
    asked = chosen.asked
    label, real = signals(labeler, known, before, asked, chosen.future)
    _, other = signals(labeler, known, before, asked, chosen.other)
    news_label, news = signals(labeler, known, before, asked, chosen.news)
    under = {"real": real[LABEL], "shuffled": other[LABEL]}
    if (blind := true_to(labeler, "hidden")) is not None:
        under["hidden"] = gains(known, explain(blind, known, before, asked, chosen.future)[0])
    found = {name: _signal(real[name], other[name], news[name]) for name in real}
    found[LABEL] = replace(found[LABEL], apart=_apart(label, news_label, real[LABEL], news[LABEL]))
    parts = {name: values for name, values in real.items() if name not in (LABEL, BASELINE)}
    spoke = speaks(real[LABEL])
    attributes = {name: read(known) for name, read in ATTRIBUTES.items()} if spoke else {}
    return Look(
        asked.query.user_id, chosen.future.session, asked.kind or (label.kind if label else ""), len(known.rows), novel, found,
        pairs(real), coded(parts),
        {name: in_place(real[LABEL], gain) for name, gain in under.items() if name != "real"} if spoke else {},
        {name: {attribute: lean(gain, values) for attribute, values in attributes.items()}
         for name, gain in under.items() if gain.sum() > 0},
        _shown(known, label, asked, chosen) if spoke else {},
    )  # fmt: skip


def _signal(real: Floats, other: Floats, news: Floats) -> Signal:
    heard = speaks(real)
    stays = shared(credited(real), credited(other)) if heard else None
    rival = news if real.min() == 0 else other
    return Signal(heard, stays, None if np.array_equal(real, rival) else _more(float(real.max()), float(rival.max())))


def _apart(label: Labelled | None, other: Labelled | None, real: Floats, placebo: Floats) -> float | None:
    """By what each future showed that the query did not."""
    if (label is None and other is None) or np.array_equal(real, placebo):
        return None
    return _more(label.quality if label else 0.0, other.quality if other else 0.0)


def _more(a: float, b: float) -> float:
    return 0.5 if a == b else float(a > b)


def _cue(known: Moment, name: str) -> Floats:
    return known.past.cue.view[known.take, cues.COLUMN[name]]


def _shown(known: Moment, label: Labelled | None, asked: Labelled, chosen: Chosen) -> dict[str, str]:
    best = max(label.uses, key=lambda use: use.gain) if label else None
    memory = known.past.memories[known.past.row_of[best.memory_id]] if best else None
    words, calls = said(chosen.future.text), [f"[call {call_text(call)}]" for call in chosen.future.calls]
    return {
        "asked": clip(asked.query.text, 60),
        "future": clip(" ".join([worded(chosen.future, words), *calls] if words else [worded(chosen.future, "")]), 60),
        "credited": clip(memory.text, 60) if memory else "",
        "evidence": best.evidence if best else "",
        "gain": f"{best.gain:.2f}" if best else "",
    }
