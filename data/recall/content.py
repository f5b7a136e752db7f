"""The content files of a world. ``@ name`` begins an attribute, ``key: text`` is a line of it; lines before the first are lists.

``v`` values (``~`` begins a pattern), ``t`` tellings, ``q`` questions, ``u`` updates, ``n`` negations (``text => phrase``: what an
answer must know) and ``nq`` their questions, ``o`` another person's value, ``oq`` the question about it, ``b`` about both, ``f`` small
talk of the same words (``user => assistant``); of type ``said``: ``u`` what the person asks, ``a`` the reply that holds the value.
``[this|that]`` chooses; ``{v}``, ``{who}``, ``{when}`` and the names of lists are filled in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hindsight.types import DataError

HERE = Path(__file__).resolve().parent
JOINED = ("v", "type")  # keys with one line, of which ``v`` is a list


@dataclass(frozen=True)
class Attribute:
    """``type``: general, temporal, preference or said."""

    name: str
    type: str
    lines: Mapping[str, tuple[str, ...]]

    @property
    def values(self) -> tuple[str, ...]:
        return tuple(value.strip() for value in self.lines.get("v", ("",))[0].split(" | "))


@dataclass(frozen=True)
class World:
    name: str
    language: str
    lists: Mapping[str, tuple[str, ...]]
    attributes: tuple[Attribute, ...]
    filler: tuple[str, ...]

    def of(self, type_: str) -> list[Attribute]:
        return [one for one in self.attributes if one.type == type_]


def read(name: str, language: str) -> World:
    """Raises DataError, naming the line, on what is no content."""
    path = HERE / f"{name}_{language}.txt"
    lists: dict[str, tuple[str, ...]] = {}
    blocks: dict[str, dict[str, tuple[str, ...]]] = {}
    block: dict[str, tuple[str, ...]] | None = None
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        key, colon, text = line.partition(":")
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("@ "):
            block = blocks.setdefault(line[2:].strip(), {})
        elif not colon:
            raise DataError(f"{path}:{number}", line, "@ name, or key: text")
        elif block is None:
            lists[key] = tuple(part.strip() for part in text.split("|"))
        else:
            block[key] = (*block.get(key, ()), text.strip())
    filler = [line for found in blocks.values() for line in found.get("f", ())]
    attributes = [Attribute(at, found.get("type", ("general",))[0], found) for at, found in blocks.items() if at != "filler"]
    return World(name, language, lists, tuple(attributes), tuple(filler))
