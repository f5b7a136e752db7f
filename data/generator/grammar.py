"""The small grammar of the content files: ``[this|that]`` alternatives, nested; ``{slot}`` values; ``~^^-###`` patterns."""

from __future__ import annotations

import random
import re
import string
from collections.abc import Callable
from dataclasses import dataclass

OPEN, CLOSE = "\x01", "\x02"  # around every slot's value until the turn is written: a typing style leaves values alone
_INNER = re.compile(r"\[([^\[\]|]*(?:\|[^\[\]|]*)+)\]")
_SLOT = re.compile(r"\{([a-z_0-9.]+)\}")
_PATTERN = re.compile(r"[\^#]")


@dataclass(frozen=True)
class Phrase:
    """Text with its values still marked, and the slots that it used, in order."""

    text: str
    slots: tuple[str, ...]

    @property
    def plain(self) -> str:
        return tidy(self.text.replace(OPEN, "").replace(CLOSE, ""))


def tidy(text: str) -> str:
    return re.sub(r" +([,.!?])(?=\s|$)", r"\1", re.sub(r"[ \t]{2,}", " ", text)).strip()


def expand(text: str, value: Callable[[str], str], rng: random.Random) -> Phrase:
    """Chooses among alternatives, innermost first, then fills slots. ``value`` raises KeyError for an unknown slot."""
    while _INNER.search(text):
        text = _INNER.sub(lambda match: rng.choice(match.group(1).split("|")), text)
    used: list[str] = []

    def fill(match: re.Match[str]) -> str:
        used.append(match.group(1))
        return OPEN + value(match.group(1)) + CLOSE

    return Phrase(_SLOT.sub(fill, text), tuple(used))


def pattern(text: str, rng: random.Random) -> str:
    """``^`` becomes a capital letter that is not easily misread, ``#`` a digit (1 to 9)."""
    letters = "".join(set_ for set_ in string.ascii_uppercase if set_ not in "IOQ")
    return _PATTERN.sub(lambda match: rng.choice(letters) if match.group() == "^" else rng.choice("123456789"), text)
