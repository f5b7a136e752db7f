"""How a person types: carefully, loosely in lower case, or with slips. Values between the grammar's marks are left alone."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from data.generator.grammar import CLOSE, OPEN, tidy

STYLES = ("careful", "careful", "plain", "loose", "hasty")
_SHORT = {"because": "cuz", "please": "pls", "you": "u", "are": "r", "really": "rly", "tomorrow": "tmrw", "probably": "prob",
          "though": "tho", "something": "smth", "between": "btwn", "about": "abt", "thanks": "thx"}  # fmt: skip
_PARTS = re.compile(f"({OPEN}[^{CLOSE}]*{CLOSE})")


def typed(text: str, style: str, rng: random.Random) -> str:
    """The turn as this person would write it, marks removed."""
    change: Callable[[str], str] = {"loose": lambda part: _loose(part, rng), "hasty": lambda part: _hasty(part, rng)}.get(
        style, lambda part: part
    )
    parts = [part if part.startswith(OPEN) else change(part) for part in _PARTS.split(text)]
    done = tidy("".join(parts).replace(OPEN, "").replace(CLOSE, ""))
    if style in ("loose", "hasty") and done.endswith((".", "。")) and rng.random() < 0.7:
        done = done[:-1]
    return done


def _loose(part: str, rng: random.Random) -> str:
    part = re.sub(r"\b([A-Z])(?=[a-z' ])", lambda match: match.group(1).lower(), part)
    if rng.random() < 0.5:
        part = part.replace("'", "")
    return re.sub(
        r"[a-z]+", lambda match: _SHORT.get(match.group(), match.group()) if rng.random() < 0.3 else match.group(), part
    )


def _hasty(part: str, rng: random.Random) -> str:
    """One word in twenty has two neighbouring letters swapped, as fast fingers do."""

    def slip(match: re.Match[str]) -> str:
        word = match.group()
        if rng.random() > 0.05:
            return word
        at = rng.randrange(1, len(word) - 2)
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]

    return re.sub(r"\b[a-z]{5,}\b", slip, part)
