"""What an audit of a user's own logs says in words: the labels first, then their evidence, what they favour, and the gold."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from hindsight.report import braces, figure, signed, visible

STAYS = 0.9  # more than this, and the label is not moved by the future
SHIFT = 0.2  # of a standard deviation: less is no leaning to speak of
HALF = 0.05  # the half width of an interval that a handful of gold is held against

Mean = Mapping[str, Any]


def findings(report: Mapping[str, Any]) -> list[str]:
    """One line a finding; the first is the verdict."""
    return [_moves(report), *_parts(report), *_leanings(report), *_gold(report)]


def percent(found: Mean | None) -> str:
    """`41 % {33, 48}`."""
    if found is None:
        return "–"
    ends = "{–}" if found["low"] is None else f"{{{100 * found['low']:.0f}, {100 * found['high']:.0f}}}"
    return f"{100 * found['mean']:.0f} % {ends}"


def _moves(report: Mapping[str, Any]) -> str:
    stays, apart = report["stays"]["shuffled"], report["apart"]
    if not report["n"] or not report["labelled"] or not report["labelled"]["mean"]:
        return "no label: no future in this log shows a use to this labeler"
    if stays is None:
        return "no label could be held against another future"
    moved = f"{percent(stays)} of their gain stays in place when the future is another one"
    if (stays["mean"] if stays["low"] is None else stays["low"]) > STAYS:
        return f"labels do not move with the future: {moved}, so they say nothing of use"
    if apart is None:
        return f"labels move with the future: {moved}; but no future shows anything that the query does not"
    told = f"the true future shows more than another one {percent(apart)} of the time, where 50 % is chance"
    if apart["low"] is None:
        return (
            f"labels move with the future: {moved}; {told}; from one {report['cluster']} there is no interval, so no verdict"
        )
    if apart["low"] > 0.5:
        return f"labels move with the future, and with the true one most: {moved}; {told}"
    if apart["high"] < 0.5:
        return f"labels move with the future, but with another one more than with the true one: {moved}; {told}: do not trust them"
    return f"labels move with the future, but no more with the true one than with another: {moved}; {told}: no sign of use"


def _parts(report: Mapping[str, Any]) -> Iterator[str]:
    for name, one in report["signals"].items():
        apart = one["apart"]
        if one["speaks"] is None or not one["speaks"]["mean"]:
            yield f"{visible(name)} never speaks here"
        elif apart is not None and apart["low"] is not None:
            said = f"shows more under the true future {percent(apart)} of the time"
            word = "tells" if apart["low"] > 0.5 else "runs against" if apart["high"] < 0.5 else "does not tell"
            yield f"{visible(name)} {word} the true future from another: it {said}"


def _leanings(report: Mapping[str, Any]) -> Iterator[str]:
    """What the labels favour. The control says whether the future makes it so."""
    for name, one in report["lean"].items():
        real, hidden, beyond = one["shift"]["real"], one["shift"].get("hidden"), one["beyond"]
        if real is None or abs(real["mean"]) < SHIFT or (real["low"] is not None and real["low"] <= 0 <= real["high"]):
            continue
        line = f'labels lean to {"more" if real["mean"] > 0 else "less"} of "{name}" than the pool: '
        line += f"{signed(real['mean'])} {braces(real['low'], real['high'])} standard deviations"
        if hidden is not None:
            line += f" (with the future hidden {signed(hidden['mean'])}"
            if beyond is not None and beyond["low"] is not None:
                line += (
                    ": the future adds to it"
                    if beyond["low"] * real["mean"] > 0 and beyond["high"] * real["mean"] > 0
                    else ""
                )
            line += ")"
        yield line


def _gold(report: Mapping[str, Any]) -> Iterator[str]:
    """What a handful can say, and what it cannot."""
    gold = report.get("gold")
    if not gold:
        return
    found = gold["futures"]["real"]["by"].get("all")
    if not found:
        yield "no gold pair could be judged: " + ", ".join(
            f"{why} {n}" for why, n in gold["futures"]["real"]["skipped"].items()
        )
        return
    auc, top1, control = found["auc"], found["top1"], gold["futures"]["shuffled"]["by"]["all"]["auc"]
    yield (
        f"against {found['n']} gold queries of {found['users']} users: AUC {figure(auc['mean'])} {braces(auc['low'], auc['high'])} "
        f"(another future {figure(control['mean'])}), first memory right {percent(top1)}"
    )
    half = 1.96 * math.sqrt(max(top1["mean"] * (1 - top1["mean"]), 0.05) / found["n"])
    if half > HALF:
        needed = math.ceil(found["n"] * (half / HALF) ** 2)
        yield (
            f'{found["n"]} queries can say little: "first memory right" is known to about ±{100 * half:.0f} points; '
            f"±{100 * HALF:.0f} would take about {needed:,} queries"
        )
