"""A labeler's audit in the terminal: against a suite's gold, or on a user's own logs with a verdict in words."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import IO, Any

from rich import box
from rich.console import Console
from rich.table import Table

from hindsight.report import braces, cautions, figure, signed, visible
from hindsight.report.findings import percent

_MEANS = ("auc", "ndcg@10", "top1", "gain_on_gold")
_DECISIONS = ("precision", "recall", "f1")


def show(report: Mapping[str, Any], stream: IO[str] | None = None) -> None:
    """``report``: the audit stage's metrics.json."""
    console, plain = _console(stream)
    left = ", ".join(f"{reason} {count}" for reason, count in report["skipped"].items()) or "none"
    console.print(f"audit on {report['suite']}; left out: {left}; data sha256 {report['data_sha256'][:16]}")
    table = _table(plain, "future", "kind", "n", *_MEANS, *_DECISIONS)
    for future, found in report["futures"].items():
        for kind, numbers in found["by"].items():
            table.add_row(future, kind, *_judged(numbers))
    console.print(table)


def show_own(report: Mapping[str, Any], stream: IO[str] | None = None) -> None:
    """``report``: the audit stage's metrics.json, of a user's own logs. The last line is the verdict."""
    console, plain = _console(stream)
    left = ", ".join(f"{reason} {count}" for reason, count in report["skipped"].items()) or "none"
    console.print(
        f"audit of labeler {report['labeler']} on own logs: {report['n']} moments, {{low, high}} by {report['cluster']} "
        f"({report['clusters']}); left out: {left}; data sha256 {report['data_sha256'][:16]}"
    )
    for line in cautions(report):
        console.print(f"* {line}")
    table = _table(plain, "signal", "speaks", "stays under another future", "true future told", "first = label's first")
    for name, one in report["signals"].items():
        table.add_row(visible(name), *(percent(one[key]) for key in ("speaks", "stays", "apart", "with_label")))
    console.print(table)
    table = _table(plain, "labels favour", "in SD of the pool", "another future", "future hidden", "rank correlation")
    for name, one in report["lean"].items():
        shift = [one["shift"].get(future) for future in ("real", "shuffled", "hidden")]
        table.add_row(visible(name), *(_signed(mean) for mean in (*shift, one["rank"])))
    console.print(table)
    if report["gold"]:
        table = _table(plain, "against gold", "n", *_MEANS, *_DECISIONS)
        futures = {f"label, future {name}": found for name, found in report["gold"]["futures"].items()}
        for name, found in {**futures, **report["gold"]["signals"]}.items():
            if "all" in found["by"]:
                table.add_row(visible(name), *_judged(found["by"]["all"]))
        console.print(table)
    for line in report["findings"][:0:-1]:
        console.print(f"- {line}")
    console.print(f"verdict: {report['findings'][0]}")


def _console(stream: IO[str] | None) -> tuple[Console, bool]:
    """(console, whether it is no terminal)."""
    console = Console(file=stream or sys.stdout, highlight=False, markup=False, emoji=False)
    if not console.is_terminal:  # no width to keep to: one line a row, as Markdown
        console.width = 10_000
    return console, not console.is_terminal


def _table(plain: bool, *heads: str) -> Table:
    return Table(*heads, box=box.MARKDOWN if plain else box.HEAVY_HEAD)


def _judged(numbers: Mapping[str, Any]) -> list[str]:
    means = [f"{figure(numbers[m]['mean'])} {braces(numbers[m]['low'], numbers[m]['high'])}" for m in _MEANS]
    return [str(numbers["n"]), *means, *(figure(numbers[name]) for name in _DECISIONS)]


def _signed(mean: Mapping[str, Any] | None) -> str:
    return "–" if mean is None else f"{signed(mean['mean'])} {braces(mean['low'], mean['high'])}"
