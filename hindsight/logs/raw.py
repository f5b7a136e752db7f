"""What the readers share: which files, clean text, times, lines that come again, and what to say when nothing was kept."""

from __future__ import annotations

import gzip
import io
import json
import math
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

from hindsight.io import read_json_lines
from hindsight.types import Count, DataError, Dialogue, ToolCall, Turn, opaque

LINES = ("*.jsonl", "*.jsonl.gz", "*.json")
MONTHS: tuple[str, ...] = tuple(
    "january february march april may june july august september october november december".split()
)
T = TypeVar("T")
_LONE = re.compile("[\ud800-\udfff]")
_ISO = re.compile(r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d)?(?:[.,](\d{1,6})\d*)?\s?(Z|[+-]\d\d(?::?\d\d)?)?)?", re.I)
_GAP = re.compile(r"[\s,:]*")
_LOOKS: tuple[tuple[str, str], ...] = (  # the first key that a file's head holds names its format
    ("haystack_sessions", "a LongMemEval file: use logs=longmemeval"),
    ("dia_id", "a LoCoMo file: use logs=locomo"),
    ("batch_number", "a BEAM chat: use logs=beam"),
    ("utterance", "an SGD file: use logs=sgd"),
    ("sys-usr", "a CrossWOZ file: use logs=crosswoz"),
    ("traj", "a tau-bench file: use logs=tau_bench"),
    ("messages_display", "worked examples of tau-bench: use logs=tau_bench"),
    ("is_success", "a Reflexion file: use logs=reflexion"),
    ("messages", "OpenAI chat: use logs=openai, one conversation a line"),
    ("turns", "the native format: use logs=native, one dialogue a line"),
    ("mapping", "a ChatGPT export, which has no reader: convert it to the native format (data/FORMAT.md)"),
    ("conversations", "ShareGPT, which has no reader: convert it to the native format (data/FORMAT.md)"),
)


def files_of(path: Path, patterns: Sequence[str]) -> list[Path]:
    """The file itself, or a folder's files that match a pattern, by name. Raises DataError where there is none."""
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise DataError(path, "no such file or folder", f"a file, or a folder with {' or '.join(patterns)}")
    found = sorted({file for pattern in patterns for file in path.glob(pattern) if not file.name.startswith(".")})
    if not found:
        raise DataError(path, "a folder without such files", " or ".join(patterns))
    return found


def looks_like(path: Path) -> str:
    """What the head of a file (a folder's first file) shows, with the ``logs=`` name to use; "" where it shows nothing."""
    files = [path] if path.is_file() else sorted(file for pattern in LINES for file in path.glob(pattern))
    try:
        head = read_head(files[0]) if files else ""
    except DataError:
        return ""
    for key, look in _LOOKS:
        if re.search(rf'(?<!\\)"{key}"\s*:', head):
            return look
    return ""


def at_least_one(dialogues: Iterator[T], path: Path, count: Count, wanted: str) -> Iterator[T]:
    """The same again; raises DataError at the end where there were none, with the reasons and what the file looks like."""
    empty = True
    for dialogue in dialogues:
        empty = False
        yield dialogue
    if empty:
        reasons = "; ".join(f"skipped {n}: {why}" for why, n in sorted(count.skipped.items(), key=lambda one: -one[1]))
        look = looks_like(path)
        raise DataError(
            path, f"no dialogue; {reasons or 'it is empty'}", wanted + (f" (it looks like {look})" if look else "")
        )


@dataclass(frozen=True, slots=True)
class Record:
    """A dialogue as read. ``key``: the log's own name for it, "" if it has none. ``trace``: 8 bytes a turn, of its words."""

    dialogue: Dialogue
    key: str
    trace: bytes


def trace_of(*parts: object) -> bytes:
    return bytes.fromhex(opaque(*parts))


Parse = Callable[[dict[str, Any], str, Count], Record | str]  # (record, place, count) -> a Record, or why there is none


def read_jsonl(path: Path, count: Count, parse: Parse, wanted: str) -> Iterator[Dialogue]:
    """Dialogues of a file or folder, one a line. Raises DataError where none is kept."""

    def lines(tally: Count) -> Iterator[tuple[str, dict[str, Any]]]:
        for file in files:
            for number, line in read_json_lines(file, tally):
                yield f"{file.name}:{number}", line

    files = files_of(path, LINES)
    return at_least_one(read_records(lines, count, parse), path, count, wanted)


def read_records(
    lines: Callable[[Count], Iterable[tuple[str, dict[str, Any]]]], count: Count, parse: Parse
) -> Iterator[Dialogue]:
    """``lines``: begins the log anew and gives (place, record); what it cannot give, it counts.

    Reads twice: an export that is read again, or that goes on in a later line, must count once, and only the whole log
    tells which line is the longest. The first pass keeps 8 bytes a turn.
    """

    def records(tally: Count, again: dict[str, str]) -> Iterator[tuple[str, Record]]:
        for place, line in lines(tally):
            try:
                one = again.get(place) or parse(line, place, tally)
            except RecursionError:
                one = "record is nested too deep"
            if isinstance(one, str):
                tally.skip(one, place)
            else:
                tally.keep()
                yield place, one

    first = enumerate(records(Count(), {}))
    again = _again([(one.key, one.trace, -number, place) for number, (place, one) in first])
    for _, one in records(count, again):
        yield one.dialogue


def _again(lines: list[tuple[str, bytes, int, str]]) -> dict[str, str]:
    """(key, trace, minus its number, place) of each line -> place -> why it is left out.

    Sorted, a beginning stands just before what goes on from it, and the first of equal lines stands last and stays.
    """
    return {
        place: "the same dialogue again"
        if trace == longer
        else "an earlier state of a dialogue that goes on in another line"
        for (key, trace, _, place), (other, longer, _, _) in pairwise(sorted(lines))
        if key == other and longer.startswith(trace)
    }


@dataclass(frozen=True, slots=True)
class Spot:
    """Where an element of a JSON list stands in a plain UTF-8 file: bytes [start, end). Read again, it need not be held."""

    path: Path
    start: int
    end: int

    def read(self) -> Any:
        """Raises DataError where the file is no longer the one that was read."""
        try:
            with self.path.open("rb") as stream:
                stream.seek(self.start)
                return json.loads(stream.read(self.end - self.start))
        except (OSError, ValueError) as error:
            raise DataError(self.path, error, "the same file as when it was first read") from error


def read_json_list(path: Path, chunk: int = 1 << 20) -> Iterator[Any]:
    """The elements of one JSON list, one at a time: holds the largest element and a chunk, not the file."""
    return (value for value, _, _ in _values(path, "[", "]", "list", chunk))


def read_json_list_at(path: Path, chunk: int = 1 << 20) -> Iterator[tuple[Any, Spot | None]]:
    """The same, each with its spot; None in an archive or in another encoding, where no byte can be gone back to."""
    with path.open("rb") as raw:
        head = raw.read(4)
    plain = head != b"PK\x03\x04" and head[:2] not in (b"\xff\xfe", b"\xfe\xff", b"\x1f\x8b")
    mark = 3 if head[:3] == b"\xef\xbb\xbf" else 0
    for value, start, end in _values(path, "[", "]", "list", chunk):
        yield value, Spot(path, start + mark, end + mark) if plain else None


def read_json_object(path: Path, chunk: int = 1 << 20) -> Iterator[tuple[str, Any]]:
    """(key, value) of one JSON object, one at a time and in file order."""
    values = (value for value, _, _ in _values(path, "{", "}", "object", chunk))
    for key in values:
        for value in values:
            yield str(key), value
            break
        else:
            raise DataError(path, f"key {key!r} without a value", "a whole JSON object")


def _values(path: Path, opened: str, closed: str, kind: str, chunk: int) -> Iterator[tuple[Any, int, int]]:
    """What stands between the outer brackets, one at a time; of an object, keys and values in turn. With where it starts and ends, in
    bytes of the text as UTF-8."""
    decoder, at, place = json.JSONDecoder(), 0, 0
    with _text(path) as stream:
        whole = _read(stream, path, chunk)
        buffer = whole.lstrip()
        known, passed = 0, _bytes(whole) - _bytes(buffer)  # letters of the buffer, and bytes of the text, counted so far
        if not buffer.startswith(opened):
            look = looks_like(path)
            shown = f"what looks like {look}" if look else repr(buffer[:40])
            raise DataError(path, shown if buffer else "an empty file", f"a JSON {kind}")
        at = 1
        while True:
            gap = _GAP.match(buffer, at)
            at = gap.end() if gap else at
            if buffer.startswith(closed, at):
                return
            try:
                value, end = decoder.raw_decode(buffer, at)
                if end == len(buffer):  # a number may go on, and a list that ends here lacks its bracket
                    raise ValueError(f"the {kind} has no end")
            except ValueError as error:  # not JSON, or not all of it yet
                more = _read(stream, path, max(chunk, len(buffer) - at))
                if not more:
                    raise DataError(
                        f"{path}:element {place}", f"cut off or not JSON: {error}", f"a whole JSON {kind}"
                    ) from error
                passed += _bytes(buffer[known:at])
                buffer, known, at = buffer[at:] + more, 0, 0
                continue
            except RecursionError as error:
                raise DataError(f"{path}:element {place}", "nested too deep", f"a JSON {kind} of plain records") from error
            start = passed + _bytes(buffer[known:at])
            known, passed = end, start + _bytes(buffer[at:end])
            yield value, start, passed
            place, at = place + 1, end


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def read_head(path: Path, letters: int = 1 << 20) -> str:
    with _text(path) as stream:
        return _read(stream, path, letters)


def _text(path: Path) -> Any:
    """Plain, gzip, or a zip archive of one file."""
    with path.open("rb") as raw:
        head = raw.read(4)
    if head == b"PK\x03\x04":
        try:
            archive = zipfile.ZipFile(path)
            names = [name for name in archive.namelist() if not name.endswith("/") and not name.startswith("__MACOSX/")]
            if len(names) != 1:
                raise DataError(path, f"an archive of {len(names)} files", "a zip archive of one file")
            return io.TextIOWrapper(archive.open(names[0]), encoding="utf-8-sig")
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:  # torn; unknown method; under a password
            raise DataError(path, error, "a whole zip archive of one file, not encrypted") from error
    encoding = "utf-16" if head[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    return (
        gzip.open(path, "rt", encoding="utf-8-sig") if head[:2] == b"\x1f\x8b" else path.open(encoding=encoding, newline="")
    )


def _read(stream: Any, path: Path, letters: int) -> str:
    try:
        return stream.read(letters)
    except (UnicodeError, EOFError, gzip.BadGzipFile, zipfile.BadZipFile, zlib.error) as error:
        raise DataError(path, error, "whole UTF-8 text, plain, gzip or zip") from error


def clean(value: Any, count: Count) -> Any:
    """Text, or text inside JSON, that every later step can write: no half characters, NUL or NaN. What it mends is noted."""
    if isinstance(value, str):
        if "\0" in value:
            count.note("NUL in text: taken out")
            value = value.replace("\0", "")
        if not value.isascii() and _LONE.search(value):
            count.note("half a surrogate pair in text: now U+FFFD")
            value = _LONE.sub("\ufffd", value)
        return value
    if isinstance(value, dict):
        return {clean(key, count): clean(inner, count) for key, inner in value.items()}
    if isinstance(value, list):
        return [clean(inner, count) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        count.note("NaN or infinity in a tool call: now null")
        return None
    return value


def name_of(value: object) -> str:
    """An id or a name as text; "" where there is none (JSON null, an object, a truth value, blank)."""
    return str(value).strip() if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


def time_of(value: object, count: Count) -> str | None:
    """ISO 8601 text, or seconds (from 10^11: milliseconds) since 1970 -> ISO 8601; None, and noted, for anything else.

    A time without zone stays without: it is read as UTC where order needs it. Never a guess, never today.

    >>> time_of("2026-01-01 00:00:00-05:00", Count()), time_of(1767243600, Count()), time_of("2026-13-40", Count())
    ('2026-01-01T00:00:00-05:00', '2026-01-01T05:00:00+00:00', None)
    """
    if value is None or value == "":
        return None
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            seconds = value / 1000 if value >= 1e11 else value
            if seconds >= 1e8:
                return datetime.fromtimestamp(seconds, timezone.utc).isoformat()
        elif isinstance(value, str) and (found := _ISO.fullmatch(value.strip())):
            day, minute, second, fraction, zone = found.groups()
            if minute is None:
                return datetime.fromisoformat(day).date().isoformat()
            zone = (zone or "").upper().replace("Z", "+00:00")
            zone = zone if not zone or ":" in zone else f"{zone[:3]}:{zone[3:] or '00'}"
            part = f".{fraction:0<6}" if fraction else ""
            return datetime.fromisoformat(f"{day}T{minute}{second or ':00'}{part}{zone}").isoformat()
    except (ValueError, OverflowError, OSError):
        pass
    count.note("time is not ISO 8601: left out")
    return None


def moment(time: str | None) -> datetime | None:
    """A turn's time for ordering alone; without zone it counts as UTC."""
    if time is None:
        return None
    found = datetime.fromisoformat(time)
    return found if found.tzinfo else found.replace(tzinfo=timezone.utc)


def time_order(times: Sequence[str | None]) -> list[int]:
    """Places in order of (time, place). One without time keeps its place after the one before it."""
    last, known = datetime.min.replace(tzinfo=timezone.utc), []
    for place, time in enumerate(times):
        last = moment(time) or last
        known.append((last, place))
    return [place for _, place in sorted(known)]


def arguments_of(value: object, count: Count) -> dict[str, Any]:
    """A tool call's arguments, given as an object or as JSON text. Other text is kept under the key ``text``, and noted."""
    if isinstance(value, str) and value.strip():
        with suppress(ValueError, RecursionError):
            value = json.loads(value)
    if value is None or value == "":
        return {}
    if isinstance(value, dict):
        return clean(value, count)
    count.note("tool arguments are no JSON object: kept as text")
    return {"text": clean(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), count)}


def verdict(position: int, session: str, success: bool) -> Turn:
    """How a whole trial came out, as a benchmark says it: a last turn of role ``tool`` that miners read as an outcome."""
    return Turn(position, session, "evaluation", "tool", json.dumps({"success": success}))


def same_call(call: ToolCall) -> str:
    """What makes two calls the same request, answered or not."""
    return call.name + json.dumps(call.arguments, ensure_ascii=False, sort_keys=True)
