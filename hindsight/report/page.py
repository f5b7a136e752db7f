"""metrics.json and its questions as one self-contained page, report.html: nothing is fetched, everything is escaped.

Plots are SVG in percent of the width they find, so that text keeps its size on a phone. The page works without scripts;
a script adds the choice of measure and the sorting and filtering of questions.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from hindsight.io import write_text
from hindsight.measure.table import over_seeds
from hindsight.report import (
    Metrics,
    amount,
    braces,
    cautions,
    chance,
    difference,
    facts,
    figure,
    headline_of,
    label,
    measures_of,
    notes,
    signed,
    verdict,
    visible,
)

MOST_QUESTIONS = 2000
MOST_COLOURS = 5
BINS = 10  # a side, of the histogram of differences

Row = Mapping[str, Any]


def write(path: Path, metrics: Metrics, rows: Iterable[Row] = ()) -> None:
    """`rows`: those of questions.jsonl, in which `text` (the question) is shown where it is given. Atomic."""
    write_text(path, page(metrics, rows))


def page(metrics: Metrics, rows: Iterable[Row] = ()) -> str:
    """The whole page as HTML; the same input gives the same text."""
    measures, headline = measures_of(metrics), headline_of(metrics)
    colours = _colours(metrics)
    questions = over_seeds(({"seed": 0} | dict(row) for row in rows), [headline])
    compared = [one for one in metrics.get("comparisons", []) if one["measure"] == headline]
    return (
        environment()
        .get_template("page.html.j2")
        .render(
            suite=metrics["suite"],
            facts=facts(metrics),
            cautions=cautions(metrics),
            claims=[{"text": difference(one), "verdict": verdict(one), "a": one["a"], "b": one["b"]} for one in compared],
            measures=measures,
            headline=headline,
            saturated=metrics.get("saturated") or {},
            systems=_systems(metrics, measures),
            colours=colours,
            bars={name: _bars(metrics, name) for name in measures},
            kinds={name: _kinds(metrics, name, colours) for name in measures} if metrics.get("by") else {},
            forest={name: plot for name in measures if (plot := _forest(metrics, name))},
            histograms=[_histogram(questions, headline, one["a"], one["b"]) for one in compared] if questions else [],
            calibration=[reliability(name, one) for name, one in (metrics.get("calibration") or {}).items()],
            questions=_questions(questions, headline, list(colours), compared),
            config=metrics.get("config") or {},
            sha256=metrics.get("data_sha256", "unknown"),
        )
    )


def environment() -> Environment:
    """Templates of this folder, everything escaped, numbers written as everywhere."""
    found = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {"figure": figure, "signed": signed, "amount": amount, "label": label, "visible": visible}
    found.filters |= {"chance": chance}
    return found


def _colours(metrics: Metrics) -> dict[str, int]:
    """The systems that plots set apart -> colour number: those compared, else the first."""
    named = [one[side] for one in metrics.get("comparisons", []) for side in ("a", "b")]
    chosen = list(dict.fromkeys([name for name in named if name in metrics["systems"]] or metrics["systems"]))
    return {name: number for number, name in enumerate(chosen[:MOST_COLOURS], 1)}


def _systems(metrics: Metrics, measures: Sequence[str]) -> list[dict[str, Any]]:
    best = {name: max(one[name]["mean"] for one in metrics["systems"].values() if name in one) for name in measures}
    found: list[dict[str, Any]] = []
    for system, one in metrics["systems"].items():
        cells = [
            {
                "mean": figure(cell.get("mean")),
                "interval": braces(cell["low"], cell["high"]) if "low" in cell else "",
                "best": cell.get("mean") == best[name],
                "saturated": name in (metrics.get("saturated") or {}),
            }
            for name in measures
            for cell in [one.get(name, {})]
        ]
        times = one.get("ms_per_query") or {}
        cost = [times.get("p50"), times.get("p95"), one.get("bytes_per_memory"), one.get("tokens")]
        found.append({"name": system, "cells": cells, "cost": cost, "notes": notes(one)})
    return found


def _bars(metrics: Metrics, measure: str) -> dict[str, Any]:
    cells = {name: one[measure] for name, one in metrics["systems"].items() if measure in one}
    ends = [
        cell.get(key) if cell.get(key) is not None else cell["mean"] for cell in cells.values() for key in ("low", "high")
    ]
    axis = Axis(min(0, *ends), max(0, *ends))
    return {"ticks": axis.ticks(), "rows": [{"name": name} | axis.mark(cell, "mean") for name, cell in cells.items()]}


def _kinds(metrics: Metrics, measure: str, colours: Mapping[str, int]) -> dict[str, Any]:
    by: Mapping[str, Any] = metrics["by"]
    cells = [one[measure] for kind in by.values() for one in kind.values() if measure in one]
    means = [cell["mean"] for cell in cells] or [1]
    axis = Axis(min(0, *means), max(0, *means))
    counts = metrics.get("kinds") or {}
    rows: list[dict[str, Any]] = []
    for kind, systems in by.items():
        dots = [
            {"name": name, "colour": colours.get(name, 0)} | axis.mark(one[measure], "mean")
            for name, one in systems.items()
            if measure in one
        ]
        rows.append({"name": kind, "n": counts.get(kind), "dots": sorted(dots, key=lambda dot: -dot["colour"] or -99)})
    return {"ticks": axis.ticks(), "rows": rows}


def _forest(metrics: Metrics, measure: str) -> dict[str, Any] | None:
    found = [one for one in metrics.get("comparisons", []) if one["measure"] == measure]
    if not found:
        return None
    ends = [one[key] for one in found for key in ("difference", "low", "high") if one[key] is not None]
    axis = Axis(min(0, *ends), max(0, *ends))
    rows = [{"name": f"{one['a']} − {one['b']}", "verdict": verdict(one), "p": chance(one.get("p"))} | axis.mark(one, "difference")
            for one in found]  # fmt: skip
    return {"ticks": axis.ticks(signed), "rows": rows, "zero": axis.place(0)}


class Axis:
    """Values -> percent of the width, from a round number to a round number."""

    def __init__(self, low: float, high: float) -> None:
        span = max(high - low, 1e-3)
        power = 10.0 ** math.floor(math.log10(span / 4))
        self.step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if span / (power * factor) <= 5)
        self.low = math.floor(low / self.step + 1e-9) * self.step
        self.high = max(math.ceil(high / self.step - 1e-9) * self.step, self.low + self.step)

    def place(self, value: float) -> float:
        return round(100 * (value - self.low) / (self.high - self.low), 2)

    def ticks(self, write: Any = figure) -> list[dict[str, Any]]:
        values = [self.low + i * self.step for i in range(round((self.high - self.low) / self.step) + 1)]
        return [{"at": self.place(value), "text": write(value) if abs(value) > 1e-9 else "0"} for value in values]

    def mark(self, cell: Mapping[str, Any], key: str) -> dict[str, Any]:
        """A point with its interval, placed and written."""
        low, high = cell.get("low"), cell.get("high")
        text = signed(cell[key]) if key == "difference" else figure(cell[key])
        return {
            "at": self.place(cell[key]),
            "low": None if low is None else self.place(low),
            "high": None if high is None else self.place(high),
            "text": text,
            "interval": "" if low is None else braces(low, high),
        }


def _histogram(questions: Sequence[Row], measure: str, a: str, b: str) -> dict[str, Any]:
    """Per-question differences in `2 * BINS` bars; questions without a difference are counted, not drawn."""
    values = {name: {row["query_id"]: row[measure] for row in questions if row["system"] == name} for name in (a, b)}
    differences = [round(values[a][query] - values[b][query], 9) for query in values[a] if query in values[b]]
    bins = Counter(
        max(-BINS, math.floor(d * BINS)) if d < 0 else min(BINS - 1, math.ceil(d * BINS) - 1) for d in differences if d
    )
    most = max(bins.values(), default=1)
    bars = [{"from": i / BINS, "to": (i + 1) / BINS, "n": bins[i], "height": bins[i] / most} for i in range(-BINS, BINS)]
    better, worse = sum(d > 0 for d in differences), sum(d < 0 for d in differences)
    return {"a": a, "b": b, "bars": bars, "most": most, "better": better, "worse": worse,
            "equal": len(differences) - better - worse}  # fmt: skip


def reliability(name: str, one: Mapping[str, Any]) -> dict[str, Any]:
    """Predicted against observed, both from 0 to the largest of them."""
    top = Axis(0, max(0.05, *(value for b in one["bins"] for value in (b["predicted"], b["observed"]))))
    points = [
        {"x": top.place(b["predicted"]), "y": top.place(b["observed"]), "n": b["n"],
         "text": f"predicted {figure(b['predicted'])}, observed {figure(b['observed'])}, n = {b['n']:,}"}
        for b in one["bins"]
    ]  # fmt: skip
    return {
        "name": name,
        "points": points,
        "ticks": top.ticks(),
        "brier": one.get("brier"),
        "ece": one.get("ece"),
        "n": one.get("n"),
        "thresholds": [{"wanted": f"{row['wanted']:.0%}"} | {key: figure(row[key]) for key in ("threshold", "precision", "recall")}
                       | {"n": f"{row['n']:,}"} for row in one.get("thresholds") or ()],
    }  # fmt: skip


def _questions(rows: Sequence[Row], measure: str, systems: Sequence[str], compared: Sequence[Row]) -> dict[str, Any]:
    """One row a question; of more than `MOST_QUESTIONS`, those on which the first pair differs most."""
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        one = found.setdefault(
            row["query_id"],
            {"id": row["query_id"], "kind": row.get("kind") or "", "text": row.get("text") or "", "values": {}},
        )
        one["values"][row["system"]] = row[measure]
    pair = (compared[0]["a"], compared[0]["b"]) if compared else None
    for one in found.values():
        left, right = (one["values"].get(name) for name in pair) if pair else (None, None)
        one["difference"] = None if left is None or right is None else left - right
    shown = list(found.values())
    if len(shown) > MOST_QUESTIONS:
        shown = sorted(shown, key=lambda one: (-abs(one["difference"] or 0), one["id"]))[:MOST_QUESTIONS]
    kinds = sorted({one["kind"] for one in shown if one["kind"]})
    return {"rows": shown, "of": len(found), "systems": list(systems), "pair": pair, "kinds": kinds}
