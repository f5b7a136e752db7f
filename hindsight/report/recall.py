"""What was recalled for a query and why, for people: each hit's named contributions as signed bars."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import IO

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from hindsight.report import figure, signed, visible
from hindsight.types import DataError, Hit, Memory, Query

_HALF = 14  # characters on either side of zero
_LONGEST = 320


Reading = tuple[float, Mapping[str, float]]  # probability of a task in progress, and what speaks for and against


def show(
    query: Query,
    hits: Sequence[Hit],
    memories: Mapping[str, Memory],
    stream: IO[str] | None = None,
    reading: Reading | None = None,
) -> None:
    """`memories`: by memory_id. `reading`: of a switch. Raises DataError if a hit's memory is not among them."""
    console = Console(file=stream or sys.stdout, highlight=False, markup=False, emoji=False)
    block = "█" if console.encoding.lower().startswith("utf") else "#"
    console.print(Text.assemble(("? ", "bold cyan"), (_clipped(query.text), "bold"), (f"  (turn {query.asked_at})", "dim")))
    if query.goal:
        console.print(Text(f"  goal: {_clipped(query.goal)}", style="dim"))
    if reading is not None:
        console.print(Text(f"  read as {_read_as(*reading)}", style="dim"))
    if not hits:
        console.print(Text("  nothing is worth recalling", style="yellow"))
    widest = max((abs(value) for hit in hits for value in hit.why.values()), default=0.0)
    for rank, hit in enumerate(hits, 1):
        if hit.memory_id not in memories:
            raise DataError(f"hit {rank} of query {query.query_id}", hit.memory_id, "a memory of this store")
        memory = memories[hit.memory_id]
        console.print(Text(f"{rank:>3}  ") + _figures(hit) + Text(f"  {_where(query, memory)}", style="dim"))
        console.print(Padding(Text(_clipped(memory.text)), (0, 0, 0, 5), expand=False))
        for name, value in hit.why.items():
            console.print(Text(f"     {visible(name):<18.18} ") + _bar(value, widest, block) + Text(f" {signed(value)}"))
        if hit.why:
            console.print(Text(f"     {'= logit':<18} {'':{2 * _HALF + 1}} {signed(sum(hit.why.values()))}", style="bold"))


def _read_as(act: float, reasons: Mapping[str, float]) -> str:
    """The decision and the three columns that speak loudest."""
    what = f"a task in progress ({act:.2f})" if act > 0.5 else f"a question about the past ({1 - act:.2f})"
    loudest = sorted(reasons.items(), key=lambda one: -abs(one[1]))[:3]
    return f"{what}; for a task: {', '.join(f'{name} {signed(share)}' for name, share in loudest)}"


def _figures(hit: Hit) -> Text:
    known = {"utility": hit.utility, "score": hit.score, "similarity": hit.similarity}
    return Text("  ").join(
        Text(f"{name} {figure(value)}", style="bold" if name == "utility" else "")
        for name, value in known.items()
        if value is not None
    )


def _where(query: Query, memory: Memory) -> str:
    parts = [visible(memory.speaker), f"{query.asked_at - memory.born} turns ago", memory.kind]
    if memory.outcome != "unknown":
        parts.append(memory.outcome)
    return ", ".join(part for part in parts if part)


def _bar(value: float, widest: float, block: str) -> Text:
    length = round(_HALF * abs(value) / widest) if widest else 0
    left, right = (block * length, "") if value < 0 else ("", block * length)
    return Text.assemble((f"{left:>{_HALF}}", "red"), "│" if block == "█" else "|", (f"{right:<{_HALF}}", "green"))


def _clipped(text: str) -> str:
    line = visible(text)
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
