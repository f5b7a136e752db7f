"""Runs and judgments on disk, in TREC format: the way in for a ranking made by any other program.

run: `query_id Q0 memory_id rank score tag`; qrels: `query_id 0 memory_id relevance`; white space between, one a line.
Scores rank, and ties go by memory_id, rising; the rank column is written for people and not believed when read (so does
trec_eval, but it breaks ties by falling id). A query on which nothing was recalled has no line.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path

from hindsight.io import read_lines, write_text
from hindsight.types import Count, DataError

Run = Mapping[str, Mapping[str, float]]  # query_id -> memory_id -> score
Qrels = Mapping[str, Mapping[str, int]]  # query_id -> memory_id -> relevance


def ranked(scores: Mapping[str, float]) -> list[str]:
    """Memory ids, best first, ties by id."""
    return sorted(scores, key=lambda memory_id: (-scores[memory_id], memory_id))


def write_runs(path: Path, runs: Mapping[str, Run]) -> None:
    """System name -> run; the name is the tag. Atomic. Raises DataError on an id with white space or a score not finite."""
    lines: list[str] = []
    for tag, run in runs.items():
        for query_id, scores in run.items():
            for rank, memory_id in enumerate(ranked(scores), 1):
                score = float(scores[memory_id])
                _finite(f"{path}: {query_id} {memory_id}", score)
                fields = (_word(path, query_id), "Q0", _word(path, memory_id), str(rank), repr(score), _word(path, tag))
                lines.append(" ".join(fields) + "\n")
    write_text(path, "".join(lines))


def read_runs(path: Path) -> dict[str, dict[str, dict[str, float]]]:
    """Tag -> query_id -> memory_id -> score. Raises DataError, naming the line, on anything that is not a run."""
    runs: dict[str, dict[str, dict[str, float]]] = {}
    for place, fields in _rows(path, "query_id Q0 memory_id rank score tag"):
        query_id, _, memory_id, _, text, tag = fields
        try:
            score = float(text)
        except ValueError:
            raise DataError(place, text, "a score that is a number") from None
        _finite(place, score)
        scores = runs.setdefault(tag, {}).setdefault(query_id, {})
        _once(place, query_id, memory_id, scores)
        scores[memory_id] = score
    return runs


def read_run(path: Path, tag: str | None = None) -> dict[str, dict[str, float]]:
    """One system's run: the file's only one, or the one of that tag. Raises DataError if that is not one."""
    runs = read_runs(path)
    if tag is None and len(runs) == 1:
        return next(iter(runs.values()))
    if tag not in runs:
        raise DataError(path, tag or f"{len(runs)} tags", f"one of the tags {', '.join(sorted(runs))}")
    return runs[tag]


def write_qrels(path: Path, qrels: Qrels) -> None:
    """Atomic; in the given order. Raises DataError on an id with white space."""
    lines = [
        f"{_word(path, query_id)} 0 {_word(path, memory_id)} {int(relevance)}\n"
        for query_id, judged in qrels.items()
        for memory_id, relevance in judged.items()
    ]
    write_text(path, "".join(lines))


def read_qrels(path: Path) -> dict[str, dict[str, int]]:
    """query_id -> memory_id -> relevance. Raises DataError, naming the line, on anything that is not a judgment."""
    qrels: dict[str, dict[str, int]] = {}
    for place, (query_id, _, memory_id, text) in _rows(path, "query_id 0 memory_id relevance"):
        try:
            relevance = int(text)
        except ValueError:
            raise DataError(place, text, "a relevance that is a whole number") from None
        judged = qrels.setdefault(query_id, {})
        _once(place, query_id, memory_id, judged)
        judged[memory_id] = relevance
    return qrels


def _rows(path: Path, wanted: str) -> Iterator[tuple[str, list[str]]]:
    place, count = "", Count()
    for number, line in read_lines(path, count):
        place, fields = f"{path}:{number}", line.split()
        if len(fields) != len(wanted.split()):
            raise DataError(place, line, wanted)
        yield place, fields
    if count.skipped:
        raise DataError(path, str(count), "UTF-8 text")
    if not place:
        raise DataError(path, "an empty file", f"lines of {wanted}")


def _once(place: str, query_id: str, memory_id: str, seen: Mapping[str, object]) -> None:
    if memory_id in seen:
        raise DataError(place, f"{query_id} {memory_id} again", "each memory once a query")


def _finite(place: str, score: float) -> None:
    if not math.isfinite(score):
        raise DataError(place, score, "a finite score")


def _word(path: Path, text: str) -> str:
    if not text or text.split() != [text]:
        raise DataError(path, repr(text), "an id or tag without white space")
    return text
