"""A sweep as one self-contained page, and as a table on standard output."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hindsight.io import write_text
from hindsight.report import amount, figure, label, signed, visible
from hindsight.report.page import environment

COLUMNS = ("system", "changed", "mean", "against it as it is", "tokens", "ms p50")


def write(path: Path, found: Mapping[str, Any]) -> None:
    write_text(path, page(found))


def page(found: Mapping[str, Any]) -> str:
    """The same input gives the same text."""
    rows = [dict(zip(("system", "changed", "mean", "difference", "tokens", "ms"), cells(row))) for row in found["rows"]]
    bars = [_bar(row, found["rows"]) for row in found["rows"]]
    return (
        environment()
        .get_template("sweep.html.j2")
        .render(found=found, measure=label(found["measure"]), rows=[row | bar for row, bar in zip(rows, bars)])
    )


def show(found: Mapping[str, Any]) -> None:
    print(f"{label(found['measure'])}, split {found['split'] or 'of the suite'}; {{low, high}}: 95 %, users resampled\n")
    print("| " + " | ".join(COLUMNS) + " |\n|" + "---|" * len(COLUMNS))
    for row in found["rows"]:
        print("| " + " | ".join(cells(row)) + " |")
    for system, chosen in found["chosen"].items():
        print(f"{system}: {chosen['changed']} ({chosen['why']})")


def cells(row: Mapping[str, Any]) -> list[str]:
    apart = row.get("difference")
    against = f"{signed(apart['mean'])} {_braces(apart, signed)}" if apart else "–"
    mean = f"{figure(row['mean'])} {_braces(row, figure)}"
    return [visible(row["system"]), visible(row["changed"]), mean, against, amount(row["tokens"]), amount(row["ms"])]


def _braces(one: Mapping[str, Any], shown: Any) -> str:
    return "" if one["low"] is None else f"{{{shown(one['low'])}, {shown(one['high'])}}}"


def _bar(row: Mapping[str, Any], rows: Any) -> dict[str, float]:
    """In percent of the widest."""
    most = max([other["high"] or other["mean"] for other in rows] + [1e-9])
    low, high = row["low"] or row["mean"], row["high"] or row["mean"]
    return {"at": 100 * row["mean"] / most, "from": 100 * low / most, "to": 100 * high / most}
