"""Reads the content files. Formats are described in README.md of this folder; a mistake names its file and line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Fact:
    """One attribute of a person: key -> alternatives. Pairs (noise, call) are still joined by `` => ``."""

    name: str
    kinds: tuple[str, ...]
    lines: dict[str, tuple[str, ...]]

    def get(self, key: str) -> tuple[str, ...]:
        return self.lines.get(key, ())


@dataclass
class Line:
    """One turn of a plot. ``flag``: "", "ask" or "act"; ``type`` of an ask; ``uses``: the slots that it needs."""

    role: str
    texts: list[str]
    flag: str = ""
    type: str = ""
    uses: tuple[str, ...] = ()
    optional: bool = False
    calls: list[str] = field(default_factory=list)


@dataclass
class Plot:
    """A goal over sessions. ``slots``: (names, rows of values); ``sets`` in a session change a slot before its line."""

    name: str
    slots: list[tuple[tuple[str, ...], list[tuple[str, ...]]]]
    sessions: list[list[Line]]


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    for number, raw in enumerate(path.read_text("utf-8").split("\n"), 1):
        line = raw.strip()
        if line and not line.startswith("#"):
            yield number, line


@cache
def facts(language: str) -> tuple[Fact, ...]:
    found: list[Fact] = []
    for path in sorted((HERE / language).glob("facts_*.txt")):
        lines: dict[str, list[str]] = {}
        key = ""
        for number, line in _lines(path):
            if line.startswith("["):
                name, _, kinds = line[1:].partition("]")
                lines = {}
                found.append(Fact(name, tuple(kinds.split()), lines))  # pyright: ignore[reportArgumentType]
            elif line.startswith("| "):
                lines[key].append(line[2:].strip())
            elif ":" in line:
                key, text = (part.strip() for part in line.split(":", 1))
                lines[key] = [part.strip() for part in text.split(" | ")] if key in ("value", "who") else [text]
            else:
                raise ValueError(f"{path}:{number}: {line!r} is neither [name], key: text, nor | text")
    return tuple(Fact(f.name, f.kinds, {k: tuple(v) for k, v in f.lines.items()}) for f in found)


@cache
def pairs(language: str, name: str) -> tuple[tuple[str, str], ...]:
    """``user text => assistant text``, one a line."""
    found: list[tuple[str, str]] = []
    for number, line in _lines(HERE / language / f"{name}.txt"):
        if line.count(" => ") != 1:
            raise ValueError(f"{name}.txt:{number}: wanted one ` => `, got {line!r}")
        said, reply = line.split(" => ")
        found.append((said.strip(), reply.strip()))
    return tuple(found)


@cache
def lists(language: str, name: str) -> tuple[str, ...]:
    return tuple(line for _, line in _lines(HERE / language / f"{name}.txt"))


@cache
def plots(language: str, kind: str) -> tuple[Plot, ...]:
    """A file may hold several plots, each begun by ``plot:``."""
    found: list[Plot] = []
    for path in sorted((HERE / language / "plots").glob(f"{kind}*.txt")):
        for number, line in _lines(path):
            try:
                _plot_line(found, line)
            except (ValueError, IndexError) as error:
                raise ValueError(f"{path}:{number}: {line!r}: {error}") from error
    return tuple(found)


def _plot_line(found: list[Plot], line: str) -> None:
    if line.startswith("| "):
        found[-1].sessions[-1][-1].texts.append(line[2:].strip())
        return
    if line.startswith("---"):
        found[-1].sessions.append([])
        return
    head, colon, text = (part.strip() for part in line.partition(":"))
    if not colon:
        raise ValueError("wanted `head: text`")
    words = head.split()
    if words[0] == "plot":
        found.append(Plot(text, [], []))
    elif words[0] == "slot":
        names, _, rows = text.partition("=")
        keys = tuple(name.strip() for name in names.split(","))
        values = [tuple(v.strip() for v in row.split(" ; ")) for row in rows.split(" | ")]
        if any(len(row) != len(keys) for row in values):
            raise ValueError(f"wanted {len(keys)} values in each of {values}")
        found[-1].slots.append((keys, values))
    elif words[0] == "call":
        found[-1].sessions[-1][-1].calls.append(text)
    elif words[0] == "set":
        found[-1].sessions[-1].append(Line("set", [text]))
    else:
        flag = words[1] if len(words) > 1 else ""
        if words[0] not in ("u", "u?", "a") or flag not in ("", "ask", "act"):
            raise ValueError("unknown head")
        rest = words[2:]
        kind = rest.pop(0) if flag == "ask" else ""
        uses = tuple(part.strip() for part in " ".join(rest).split(",") if part.strip())
        found[-1].sessions[-1].append(Line(words[0][0], [text], flag, kind, uses, words[0].endswith("?")))
