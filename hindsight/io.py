"""Files in and out: JSONL that names its line when it is wrong, atomic writes, and a manifest that is written last."""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import json
import os
import platform
import subprocess
import zlib
from collections.abc import Iterable, Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from pydantic import TypeAdapter, ValidationError

from hindsight.types import Count, DataError

MANIFEST = "manifest.json"
T = TypeVar("T")


def sha256_of(path: Path) -> str:
    """Of a file's bytes, or of a folder's file names and bytes in sorted order."""
    digest = hashlib.sha256()
    files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
    for file in files:
        if path.is_dir():
            digest.update(str(file.relative_to(path)).encode() + b"\0")
        with file.open("rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


def read_lines(path: Path, count: Count) -> Iterator[tuple[int, str]]:
    """(line number from 1, text) of every line that is not blank. Reads gzip; takes a BOM, UTF-16 with a BOM, and CRLF.

    Undecodable bytes are a counted skip, never a guess. Only ``\\n`` ends a line: U+2028 inside a JSON string does not.
    """
    if not path.exists():
        raise DataError(path, "no such file", "an existing file")
    with path.open("rb") as raw:
        head = raw.read(2)
    encoding = "utf-16" if head in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    if encoding == "utf-16":
        try:
            lines: Iterable[bytes] = (line.encode() for line in path.read_text("utf-16").split("\n"))
        except UnicodeError as error:
            raise DataError(path, error, "whole UTF-16 text") from error
    else:
        lines = gzip.open(path, "rb") if head == b"\x1f\x8b" else path.open("rb")
    number = 0
    try:
        for number, line in enumerate(lines, 1):
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8").strip("\r\n \t")
            except UnicodeDecodeError:
                count.skip("line is not UTF-8", f"{path.name}:{number}")
                continue
            if text:
                yield number, text
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"{path}:{number + 1}", error, "a whole gzip file") from error


def read_json_lines(path: Path, count: Count) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line number, object). A line that is not a JSON object is skipped and counted (a torn last line says so)."""
    pending: tuple[int, str] | None = None
    for line in read_lines(path, count):
        if pending is not None:
            yield from _parsed(path, pending, count, last=False)
        pending = line
    if pending is not None:
        yield from _parsed(path, pending, count, last=True)


def _parsed(path: Path, line: tuple[int, str], count: Count, last: bool) -> Iterator[tuple[int, dict[str, Any]]]:
    number, place = line[0], f"{path.name}:{line[0]}"
    try:
        record: object = json.loads(line[1])
    except (json.JSONDecodeError, RecursionError):
        count.skip("last line is cut off or not JSON" if last else "line is not JSON", place)
        return
    except ValueError:  # Python reads no integer of more than 4,300 digits
        count.skip("line holds an integer of too many digits", place)
        return
    if not isinstance(record, dict):
        count.skip("line is not a JSON object", place)
        return
    yield number, record  # pyright: ignore[reportUnknownVariableType]


def write_text(path: Path, text: str) -> None:
    """All or nothing: written beside, flushed to disk, then renamed into place."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    with beside.open("w", encoding="utf-8", errors="surrogatepass", newline="\n") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    beside.replace(path)


def to_json(value: object, indent: int | None = None) -> str:
    """Stable JSON: dataclasses as objects, keys as they come, no NaN."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent, default=_plain)


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    raise TypeError(f"{type(value).__name__} has no JSON form")


def write_json_lines(path: Path, records: Iterable[object]) -> int:
    """One JSON object a line, atomically. Returns how many."""
    lines = [to_json(record) for record in records]
    write_text(path, "".join(line + "\n" for line in lines))
    return len(lines)


def read_artefact(path: Path, kind: type[T]) -> Iterator[T]:
    """Dataclass records that a stage wrote itself: here a bad line is an error, not a skip."""
    adapter = TypeAdapter(kind)
    for number, record in read_json_lines(path, count := Count()):
        try:
            yield adapter.validate_python(record)
        except ValidationError as error:
            raise DataError(f"{path}:{number}", error, f"a {kind.__name__} that this version wrote") from error
    if count.skipped:
        raise DataError(path, str(count), "a whole artefact; run the stage again")


def versions() -> dict[str, str]:
    """Of Python and of each package that can move a number."""
    found = {"python": platform.python_version()}
    for name in ("hindsight-scorer", "torch", "transformers", "numpy", "faiss-cpu", "bm25s", "accelerate", "datasets"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def commit() -> str:
    """The checkout's commit, with ``+dirty`` where files differ; ``unknown`` outside a checkout."""
    here = Path(__file__).resolve().parent

    def git(*arguments: str) -> str:
        run = subprocess.run(["git", "-C", str(here), *arguments], capture_output=True, text=True, check=True)
        return run.stdout.strip()

    try:
        return git("rev-parse", "HEAD") + ("+dirty" if git("status", "--porcelain", "-uno") else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def write_manifest(folder: Path, stage: str, inputs: Mapping[str, Path | None], **facts: object) -> None:
    """Written last: a folder with a manifest is whole. Holds inputs' sha256, commit, seed and versions."""
    known = {
        name: {"path": str(path), "sha256": sha256_of(path) if path.exists() else "not a file here (a hub id?)"}
        for name, path in inputs.items()
        if path is not None
    }
    files = [p for p in sorted(folder.iterdir()) if p.name != MANIFEST and not p.name.startswith(".")]
    outputs = {p.name: sha256_of(p) for p in files}
    body = {"stage": stage, "inputs": known, "outputs": outputs, "commit": commit(), "versions": versions(), **facts}
    write_text(folder / MANIFEST, to_json(body, indent=2) + "\n")


def read_manifest(folder: Path, stage: str) -> dict[str, Any]:
    """The manifest of a finished stage. Raises DataError where it is missing (the stage did not end) or of another stage."""
    path = folder / MANIFEST
    if not path.exists():
        raise DataError(folder, "no manifest.json", f"the folder of a finished {stage} stage: run `hindsight {stage}` first")
    try:
        body = json.loads(path.read_text("utf-8"))
        found = body.get("stage")
    except (ValueError, AttributeError) as error:
        raise DataError(path, error, f"a whole manifest: run `hindsight {stage}` again") from error
    if found != stage:
        raise DataError(path, f"stage {found!r}", f"stage {stage!r}")
    return body
