"""How many tokens a text has: as its encoder cuts it, or about so where the encoder makes no pieces."""

from __future__ import annotations

from collections.abc import Sequence

from hindsight.text import tokens_about
from hindsight.types import Encoder


def tokens_of(encoder: Encoder, lines: Sequence[str]) -> list[int]:
    """Of each line; 0 of an empty one."""
    known = [line for line in dict.fromkeys(lines) if line]
    found = {line: len(one.pieces) or tokens_about(line) for line, one in zip(known, encoder.encode(known))}
    return [found.get(line, 0) for line in lines]
