"""Every question under every condition: read in batches, each written down as it is read, so that a stopped run goes on.

A reading is known by a hash of the model, the prompt's tokens, the bias and the answer. What has the same hash is read once, be it
under another condition, or in a run before.
"""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from hindsight.io import read_json_lines, to_json
from hindsight.reading.conditions import Condition, Request
from hindsight.reading.reader import Reader
from hindsight.types import Count


@dataclass(frozen=True)
class Task:
    """A question under a condition. ``target``: the answer's tokens. ``key``: the hash of all that decides what comes out."""

    question: int
    condition: Condition
    seed: int
    request: Request
    target: tuple[int, ...]
    key: str


def key_of(fingerprint: str, reader: Reader, request: Request, target: Sequence[int]) -> str:
    how = None if request.injection is None else asdict(request.injection)
    parts = [fingerprint, reader.new, request.prompt.ids, request.prompt.spans, request.scores, how, target]
    return hashlib.blake2b(to_json(parts).encode(), digest_size=16).hexdigest()


def read_all(reader: Reader, tasks: Sequence[Task], batch: int, path: Path) -> dict[str, dict[str, Any]]:
    """key -> {reply, nats, tokens}, of every task. ``path``: JSON lines, read first and then added to. ``batch``: questions at a time, of
    like length. A batch that was cut off is read again as a whole, so that a run that was stopped gives the same bytes as one that was
    not."""
    known = known_at(path, "reply")
    for some in tqdm(list(_batches(tasks, batch)), "read", disable=not sys.stderr.isatty()):
        if any(task.key not in known for task in some):
            found = reader.read([task.request for task in some], [task.target for task in some])
            lines = [
                {"key": task.key, "reply": one.reply, "nats": round(one.nats, 6), "tokens": one.tokens}
                for task, one in zip(some, found)
            ]
            known |= {line["key"]: line for line in lines}
            append(path, lines)
    return known


def time_all(reader: Reader, tasks: Sequence[Task], path: Path) -> dict[str, list[dict[str, Any]]]:
    """Condition -> of each task {ms, mb}: one prompt at a time, and its reply alone. ``mb``: the most memory that the process (or the
    GPU) held meanwhile, None where the system doesn't tell."""
    known = known_at(path, "ms")
    found: dict[str, list[dict[str, Any]]] = {}
    if any(_timed(task) not in known for task in tasks):
        reader.read([tasks[0].request], [()])  # what is slow once
    for task in tqdm(tasks, "time", disable=not sys.stderr.isatty()):
        if (key := _timed(task)) not in known:
            _reset_peak()
            began = time.perf_counter()
            reader.read([task.request], [()])
            spent = (time.perf_counter() - began) * 1000
            known[key] = {"key": key, "ms": round(spent, 3), "mb": _peak()}
            append(path, [known[key]])
        found.setdefault(task.condition.name, []).append(known[key])
    return found


def _timed(task: Task) -> str:
    return f"{task.key} {task.question} {task.condition.name}"


def _batches(tasks: Sequence[Task], batch: int) -> Iterator[list[Task]]:
    """Of ``batch`` questions each, the longest first; equal readings once, where the first of them stands."""
    own: dict[int, list[Task]] = {}
    for task in tasks:
        own.setdefault(task.question, []).append(task)
    longest = {question: max(len(task.request.prompt.ids) for task in some) for question, some in own.items()}
    order = sorted(own, key=lambda question: (-longest[question], question))
    seen: set[str] = set()
    for first in range(0, len(order), batch):
        some = {
            task.key: task for question in order[first : first + batch] for task in own[question] if task.key not in seen
        }
        seen |= set(some)
        if some:
            yield list(some.values())


def known_at(path: Path, field: str) -> dict[str, dict[str, Any]]:
    """A line that was cut off counts as none."""
    if not path.exists():
        return {}
    return {line["key"]: line for _, line in read_json_lines(path, Count()) if "key" in line and field in line}


def append(path: Path, lines: Sequence[Mapping[str, Any]]) -> None:
    torn = path.exists() and path.stat().st_size > 0 and not path.read_bytes().endswith(b"\n")
    with path.open("a", encoding="utf-8", errors="surrogatepass", newline="\n") as stream:
        stream.write("\n" * torn + "".join(f"{to_json(line)}\n" for line in lines))


def _reset_peak() -> None:
    import torch

    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
    elif (file := Path("/proc/self/clear_refs")).exists():
        try:
            file.write_text("5")
        except OSError:  # no right to: then the peak is that of the whole run
            return


def _peak() -> float | None:
    import torch

    if torch.cuda.is_available():
        return round(torch.cuda.max_memory_allocated() / 2**20, 1)
    if (file := Path("/proc/self/status")).exists():
        kilobytes = next((line.split()[1] for line in file.read_text().splitlines() if line.startswith("VmHWM:")), None)
        return None if kilobytes is None else round(int(kilobytes) / 1024, 1)
    return None
