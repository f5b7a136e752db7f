"""A picture of what a bias does: the share of attention on each memory, before and after, as one SVG file."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from hindsight.report import figure, visible
from hindsight.types import DataError

WIDE, ROW, TOP, LEFT, TEXT = 860, 46, 64, 420, 58  # pixels; characters of a memory that are shown
BEFORE, AFTER = "#9aa0a6", "#1a73e8"


def picture(
    memories: Sequence[str], utilities: Sequence[float], before: Sequence[float], after: Sequence[float], title: str
) -> str:
    """A row a memory: its text and utility, two bars. All (memories,); ``before`` and ``after`` are shares from 0 to 1.

    Raises DataError where they are not equally many, or none."""
    if not memories or len({len(memories), len(utilities), len(before), len(after)}) > 1:
        got = [len(memories), len(utilities), len(before), len(after)]
        raise DataError("picture", got, "one text, one utility and two shares of each memory")
    most = max(*before, *after, 1e-9)
    high = TOP + ROW * len(memories) + 30
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {high}" font-family="system-ui, sans-serif" font-size="13">',
        f'<rect width="{WIDE}" height="{high}" fill="#ffffff"/>',
        f'<text x="16" y="26" font-size="15" font-weight="600" fill="#202124">{escape(visible(title))}</text>',
        f'<text x="16" y="50" fill="#5f6368">memory (utility)</text><text x="{LEFT}" y="50" fill="#5f6368">share of attention: '
        f'<tspan fill="{BEFORE}">without</tspan> and <tspan fill="{AFTER}">with the bias</tspan></text>',
    ]
    for number, (text, utility, *shares) in enumerate(zip(memories, utilities, before, after)):
        y = TOP + ROW * number
        line = visible(text)
        line = line if len(line) <= TEXT else f"{line[: TEXT - 1]}…"
        parts.append(
            f'<text x="16" y="{y + 24}" fill="#202124">{escape(line)} <tspan fill="#5f6368">({figure(utility)})</tspan></text>'
        )
        for place, (share, colour) in enumerate(zip(shares, (BEFORE, AFTER))):
            width = round((WIDE - LEFT - 60) * share / most, 1)
            top = y + 4 + 17 * place
            parts.append(f'<rect x="{LEFT}" y="{top}" width="{width}" height="14" rx="2" fill="{colour}"/>')
            parts.append(f'<text x="{LEFT + width + 6}" y="{top + 12}" font-size="11" fill="#5f6368">{figure(share)}</text>')
    total = f"all memories together: {figure(sum(before))} without, {figure(sum(after))} with the bias"
    parts.append(f'<text x="{LEFT}" y="{high - 12}" fill="#5f6368">{total}</text></svg>')
    return "\n".join(parts) + "\n"
