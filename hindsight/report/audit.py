"""A labeler's audit in the terminal: what it finds, beside what it finds without the future."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import IO, Any

from rich import box
from rich.console import Console
from rich.table import Table

from hindsight.report import braces, figure

_MEANS = ("auc", "ndcg@10", "gain_on_gold")
_DECISIONS = ("precision", "recall", "f1")


def show(report: Mapping[str, Any], stream: IO[str] | None = None) -> None:
    """``report``: the audit stage's metrics.json."""
    console = Console(file=stream or sys.stdout, highlight=False, markup=False, emoji=False)
    plain = not console.is_terminal
    if plain:  # no width to keep to: one line a row, as Markdown
        console.width = 10_000
    left = ", ".join(f"{reason} {count}" for reason, count in report["skipped"].items()) or "none"
    console.print(f"audit on {report['suite']}; left out: {left}; data sha256 {report['data_sha256'][:16]}")
    table = Table("future", "kind", "n", *_MEANS, *_DECISIONS, box=box.MARKDOWN if plain else box.HEAVY_HEAD)
    for future, found in report["futures"].items():
        for kind, numbers in found["by"].items():
            means = [f"{figure(numbers[m]['mean'])} {braces(numbers[m]['low'], numbers[m]['high'])}" for m in _MEANS]
            table.add_row(future, kind, str(numbers["n"]), *means, *(figure(numbers[name]) for name in _DECISIONS))
    console.print(table)
