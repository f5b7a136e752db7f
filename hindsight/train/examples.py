"""Labelled queries as a Hugging Face data set: Arrow on disk, memory-mapped, so that reading holds a batch and not the log.

``datasets.load_from_disk(path)`` opens it too. One row a query:

| column | holds |
|---|---|
| ``query`` | the fields of ``types.Query`` |
| ``uses`` | a list of ``memory_id``, ``gain`` (0 to 1), ``evidence`` |
| ``kind``, ``weight``, ``hidden``, ``quality``, ``unsure`` | as in ``types.Labelled`` |
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hindsight.io import sha256_of
from hindsight.types import DataError, Labelled, Query, Use

if TYPE_CHECKING:
    import datasets

_ROWS = 1000  # held at once


def write(path: Path, labelled: Iterable[Labelled]) -> int:
    """Writes the folder whole or not at all, in the order given, and returns how many. The same rows give the same bytes.

    What stands at ``path`` is replaced if it is such a folder. Raises DataError if it is anything else, where there is no row, or
    where a text is not Unicode.
    """
    import datasets
    from datasets.arrow_writer import ArrowWriter

    if path.exists() and not (path / "state.json").exists():
        raise DataError(
            path, "a file" if path.is_file() else "a folder of something else", "labelled examples, or a new name"
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as beside, _quiet():
        rows, written = Path(beside) / "rows.arrow", 0
        writer = ArrowWriter(features=_features(), path=str(rows), writer_batch_size=_ROWS)
        try:
            for one in labelled:
                writer.write(_row(one))
                written += 1
            writer.finalize()
        except UnicodeEncodeError as error:
            raise DataError(
                f"labelled query {written}", error, "text without half characters, as readers give it"
            ) from error
        finally:
            writer.close()
        if not written:
            raise DataError(path, "no labelled query", "one or more: mine more dialogues, or use another labeler")
        whole = Path(beside) / "whole"
        datasets.Dataset(datasets.Dataset.from_file(str(rows)).data, fingerprint=sha256_of(rows)[:16]).save_to_disk(
            str(whole)
        )
        if path.exists():
            shutil.rmtree(path)
        whole.replace(path)
    return written


def read(path: Path) -> Iterator[Labelled]:
    """In the order written. Raises DataError where the folder is missing, torn or of something else."""
    for number, row in enumerate(_rows(path)):
        try:
            query = Query(**_tupled(row["query"]))
            uses = tuple(Use(query.query_id, **use) for use in row["uses"])
            rest = {name: row[name] for name in ("kind", "weight", "quality")}
            yield Labelled(query, uses, hidden=tuple(row["hidden"]), unsure=tuple(row["unsure"]), **rest)
        except (KeyError, TypeError) as error:
            raise DataError(f"{path}:row {number}", error, "a labelled query that this version wrote") from error


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    import datasets
    import pyarrow

    if not (path / "state.json").exists():
        got = "a folder without state.json" if path.is_dir() else "no such folder"
        raise DataError(path, got, "labelled examples: run `hindsight label` first")
    try:
        found = datasets.load_from_disk(str(path), keep_in_memory=False)
        if not isinstance(found, datasets.Dataset):
            raise TypeError("several splits")
        for batch in found.with_format("arrow").iter(_ROWS):
            yield from batch.to_pylist()  # pyright: ignore[reportAttributeAccessIssue]  # an Arrow table, in this format
    except (OSError, ValueError, TypeError, KeyError, pyarrow.ArrowException) as error:
        raise DataError(path, error, "labelled examples, whole: run `hindsight label` again") from error


def _features() -> datasets.Features:
    from datasets import Features, Value

    text, number, whole = Value("string"), Value("float64"), Value("int64")
    query = dict.fromkeys(("query_id", "user_id", "dialogue_id", "text", "goal", "time"), text)
    return Features(
        {
            "query": query | {"asked_at": whole, "context": [whole]},
            "uses": [{"memory_id": text, "gain": number, "evidence": text}],
            "kind": text,
            "weight": number,
            "hidden": [whole],
            "quality": number,
            "unsure": [text],
        }
    )


def _row(one: Labelled) -> dict[str, Any]:
    row = asdict(one)
    for use in row["uses"]:
        if use.pop("query_id") != one.query.query_id:
            raise ValueError(f"query {one.query.query_id} holds a use of another query")
    return row


def _tupled(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}


@contextmanager
def _quiet() -> Iterator[None]:
    """A bar for a second's work only litters logs."""
    import datasets

    before = datasets.are_progress_bars_disabled()
    datasets.disable_progress_bars()
    try:
        yield
    finally:
        if not before:
            datasets.enable_progress_bars()
