"""An audit's metrics.json as one self-contained page, report.html, in the look of page.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hindsight.io import write_text
from hindsight.report import Metrics, braces, cautions, figure, signed, visible
from hindsight.report.findings import percent
from hindsight.report.page import Axis, environment, reliability

Mean = Mapping[str, Any]
FUTURES = {"real": "the true future", "shuffled": "another future", "hidden": "future hidden"}


def write(path: Path, report: Metrics) -> None:
    """Atomic."""
    write_text(path, page(report))


def page(report: Metrics) -> str:
    """The whole page as HTML; the same input gives the same text."""
    gold = report["gold"]
    judged = _judged(gold) if gold else {}
    signals = report["signals"]
    return environment().get_template("audit.html.j2").render(
        labeler=report["labeler"],
        findings=report["findings"],
        tone=_tone(report),
        facts=_facts(report),
        cautions=cautions(report),
        signals=_signals(signals),
        apart=_dots({name: one["apart"] for name, one in signals.items()}, 0.0, 1.0, 0.5),
        stays=_dots({name: one["stays"] for name, one in signals.items()}, 0.0, 1.0, None),
        matrix=_matrix(list(signals), report["agreement"]["pairs"]),
        alpha=report["agreement"]["alpha"],
        lean=_lean(report["lean"]),
        gold=_dots({name: one["auc"] for name, one in judged.items()}, 0.0, 1.0, 0.5) if judged else None,
        judged=_table(judged),
        calibration=[
            reliability(f"gain of the label, {FUTURES[name]}", found["by"]["all"]["calibration"])
            for name, found in (gold["futures"] if gold else {}).items()
            if name != "hidden" and "calibration" in found["by"].get("all", {})
        ],
        examples=report["examples"],
        config=report["config"],
        sha256=report["data_sha256"],
    )  # fmt: skip


def _signals(found: Mapping[str, Mapping[str, Any]]) -> list[dict[str, str]]:
    shown = ("speaks", "stays", "apart", "with_label")
    return [{"name": name} | {key: percent(one[key]) for key in shown} for name, one in found.items()]


def _tone(report: Metrics) -> str:
    """Of the verdict: the colour of its border."""
    apart = report["apart"]
    if apart is None or apart["low"] is None:
        return "not-apart"
    return "above" if apart["low"] > 0.5 else "below" if apart["high"] < 0.5 else "not-apart"


def _facts(report: Metrics) -> dict[str, str]:
    left = ", ".join(f"{why} {n:,}" for why, n in report["skipped"].items())
    found = {
        "labeler": report["labeler"],
        "n": f"{report['n']:,} moments of {report['users']:,} users",
        "kinds": ", ".join(f"{kind or 'no label'} {n:,}" for kind, n in report["kinds"].items()),
        "labelled": percent(report["labelled"]),
        "gain that stays": f"{percent(report['stays']['shuffled'])} under another future, {percent(report['stays']['hidden'])} without one",
        "{low, high}": f"95 % interval, {report['clusters']:,} {report['cluster']}s resampled",
        "pool": f"{report['pool']:,.0f} memories (median)",
        "new words a future": f"{_number(report['novel_words']['real'])}; the other one {_number(report['novel_words']['other'])}",
        "left out": left or "none",
        "data": f"sha256 {report['data_sha256'][:16]}",
    }
    return {name: visible(value) for name, value in found.items()}


def _number(mean: Mean | None) -> str:
    return "–" if mean is None else f"{mean['mean']:.1f}"


def _dots(means: Mapping[str, Mean | None], low: float, high: float, zero: float | None) -> dict[str, Any]:
    """Points with intervals, one a row; ``zero``: where chance lies."""
    axis = Axis(low, high)
    rows = [
        {"name": name, "n": mean.get("n"), "verdict": _side(mean, zero)} | axis.mark(mean, "mean")
        for name, mean in means.items()
        if mean is not None
    ]
    return {"ticks": axis.ticks(), "rows": rows, "zero": None if zero is None else axis.place(zero)}


def _side(mean: Mean, zero: float | None) -> str:
    if zero is None or mean["low"] is None or mean["low"] <= zero <= mean["high"]:
        return "apart"
    return "above" if mean["low"] > zero else "below"


def _matrix(names: Sequence[str], found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Below the diagonal the share of credited memories in common, above it the rank correlation; the shade is the value."""
    by = {frozenset((one["a"], one["b"])): one for one in found}
    rows: list[dict[str, Any]] = []
    for i, a in enumerate(names):
        cells: list[dict[str, Any]] = []
        for j, b in enumerate(names):
            one = by.get(frozenset((a, b))) if a != b else None
            mean = one["rank" if j > i else "top8"] if one else None
            told = (
                ""
                if one is None
                else f"{a} and {b}: rank {_of(one['rank'])}, first {_of(one['top1'])}, best eight {_of(one['top8'])}"
            )
            told += f", kappa {figure(one['kappa'])}, n = {one['n']:,}" if one else ""
            cells.append({"text": "" if mean is None else figure(mean["mean"]), "told": told,
                          "shade": 0 if mean is None else round(100 * max(0.0, min(1.0, mean["mean"])))})  # fmt: skip
        rows.append({"name": a, "cells": cells})
    return {"names": list(names), "rows": rows}


def _of(mean: Mean | None) -> str:
    return "–" if mean is None else f"{figure(mean['mean'])} {braces(mean['low'], mean['high'])}"


def _lean(found: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """One row an attribute; a mark a future."""
    shifts = [mean for one in found.values() for mean in one["shift"].values() if mean is not None]
    ends = [value for mean in shifts for value in (mean["mean"], mean["low"], mean["high"]) if value is not None]
    axis = Axis(min(0.0, -0.2, *ends), max(0.2, *ends)) if ends else Axis(-1, 1)
    rows: list[dict[str, Any]] = []
    for name, one in found.items():
        marks = [
            {"future": FUTURES[future], "colour": colour} | axis.mark(mean, "mean") | {"text": signed(mean["mean"])}
            for colour, (future, mean) in enumerate(one["shift"].items(), 1)
            if mean is not None
        ]
        rows.append({"name": name, "marks": marks[::-1], "rank": _of(one["rank"])})
    return {"ticks": axis.ticks(signed), "rows": rows, "zero": axis.place(0)}


def _judged(gold: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Label and signals -> their numbers over all gold queries."""
    futures = {f"the whole label, {FUTURES[name]}": found for name, found in gold["futures"].items()}
    return {name: found["by"]["all"] for name, found in {**futures, **gold["signals"]}.items() if "all" in found["by"]}


def _table(judged: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        {"name": name, "n": one["n"], "cells": [_of(one[key]) for key in ("auc", "ndcg@10", "top1")]
         + [f"{figure(one[key])} {braces(one.get(f'{key}_low'), one.get(f'{key}_high'))}" for key in ("precision", "recall", "f1")]}
        for name, one in judged.items()
    ]  # fmt: skip
