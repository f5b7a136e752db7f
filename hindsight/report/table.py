"""metrics.json as a table: in colour in a terminal, as Markdown anywhere else."""

from __future__ import annotations

import io
import sys
from collections.abc import Mapping, Sequence
from typing import IO, Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hindsight.report import (
    Metrics,
    amount,
    braces,
    cautions,
    difference,
    facts,
    figure,
    headline_of,
    label,
    measures_of,
    notes,
    verdict,
    visible,
)

_CELL = 15  # columns that `.645` over `{.621, .668}` takes, with its padding
_COST = 36
_STYLE = {"above": "green", "below": "red", "not apart": "yellow"}


def show(metrics: Metrics, stream: IO[str] | None = None) -> None:
    """Systems x measures with 95 % intervals and cost; above it what was measured, below it the differences."""
    console = Console(file=stream or sys.stdout, highlight=False, markup=False, emoji=False)
    if console.is_terminal:
        _print(metrics, console, plain=False)
        return
    # No width to keep to: one line a system, to be pasted or searched.
    whole = io.StringIO()
    _print(
        metrics, Console(file=whole, width=10_000, color_system=None, highlight=False, markup=False, emoji=False), plain=True
    )
    console.file.writelines(line.rstrip() + "\n" for line in whole.getvalue().splitlines())


def _print(metrics: Metrics, console: Console, plain: bool) -> None:
    console.print(Text("; ".join(f"{name} {value}" for name, value in facts(metrics).items()), style="bold"))
    for line in cautions(metrics):
        console.print(Text(f"* {line}", style="yellow"))
    measures, headline = measures_of(metrics), headline_of(metrics)
    if not plain:  # what does not fit goes into further tables: begin with what matters most
        measures.sort(key=lambda name: (name in (metrics.get("saturated") or {}), name != headline))
    names = max(len(visible(name)) for name in metrics["systems"]) + 4
    beside_cost = len(measures) if plain else (console.width - names - _COST) // _CELL
    room = beside_cost if beside_cost > 0 else max(1, (console.width - names) // _CELL)
    for start in range(0, len(measures), room):
        console.print(_table(metrics, measures[start : start + room], cost=start == 0 and beside_cost > 0, plain=plain))
    if beside_cost < 1:
        console.print(_table(metrics, [], cost=True, plain=plain))
    for one in metrics.get("comparisons", []):
        if one["measure"] == headline:
            console.print(Text(difference(one), style=_STYLE[verdict(one)]))
    for name, system in metrics["systems"].items():
        for key, value in notes(system).items():
            console.print(Text(f"{visible(name)}, {key}: {value}", style="dim"))


def _table(metrics: Metrics, measures: Sequence[str], cost: bool, plain: bool) -> Table:
    systems: Mapping[str, Mapping[str, Any]] = metrics["systems"]
    saturated = metrics.get("saturated") or {}
    table = Table(box=box.MARKDOWN if plain else box.SIMPLE_HEAD, padding=(0, 1))
    table.add_column("system", no_wrap=True)
    for name in measures:
        table.add_column(label(name) + ("*" if name in saturated else ""), justify="right", no_wrap=True)
    for heading in ("ms p50", "ms p95", "bytes", "tokens") if cost else ():
        table.add_column(heading, justify="right", no_wrap=True)
    best = {name: max(one[name]["mean"] for one in systems.values() if name in one) for name in measures}
    for system, one in systems.items():
        cells = [_cell(one.get(name), best[name], plain) for name in measures]
        if cost:
            times = one.get("ms_per_query") or {}
            cells += [
                Text(amount(v)) for v in (times.get("p50"), times.get("p95"), one.get("bytes_per_memory"), one.get("tokens"))
            ]
        table.add_row(Text(visible(system)), *cells)
    return table


def _cell(cell: Mapping[str, Any] | None, best: float, plain: bool) -> Text:
    if cell is None:
        return Text("–")
    mean = Text(figure(cell["mean"]), style="bold" if cell["mean"] == best else "")
    if "low" not in cell:
        return mean
    return Text.assemble(mean, " " if plain else "\n", (braces(cell["low"], cell["high"]), "dim"))
