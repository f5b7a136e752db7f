"""Dialogues from a data set of the Hugging Face hub, or from one on disk: rows in the native or the OpenAI chat form.

Arrow gives every record every key of its column, null where the record had none. So nulls are left out here, also inside a tool
call's arguments.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hindsight.logs import native, openai
from hindsight.logs.raw import Parse, at_least_one, read_records
from hindsight.types import Count, DataError, Dialogue

if TYPE_CHECKING:
    import datasets

_FORMS: dict[str, Parse] = {"turns": native.parse, "messages": openai.parse}  # the column that tells which
_TABLES = {".parquet": "parquet", ".jsonl": "json", ".json": "json", ".arrow": "arrow"}
WANTED = 'a data set with a column "turns" (native) or "messages" (OpenAI chat), see data/FORMAT.md'


@dataclass(frozen=True)
class HubReader:
    """``split`` and ``subset`` as the data set names them; ``revision``: a commit, so that the same rows come again."""

    split: str = "train"
    subset: str = ""
    revision: str = ""

    def build(self) -> HubReader:
        return self

    def read(self, path: Path, count: Count) -> Iterator[Dialogue]:
        """``path``: a hub id (owner/name); or a folder that ``save_to_disk`` wrote, one of data files, or one such file.

        Rows are memory-mapped; a hub's are downloaded once. Raises DataError where it cannot be loaded or no row is kept.
        """
        found = self._loaded(path)
        form = next((column for column in _FORMS if column in found.column_names), None)
        if form is None:
            raise DataError(path, f"columns {', '.join(found.column_names)}", WANTED)

        def rows(tally: Count) -> Iterator[tuple[str, dict[str, Any]]]:
            for number, row in enumerate(found):
                yield f"{path.name}[{self.split}]:{number}", _without_nulls(row)

        yield from at_least_one(read_records(rows, count, _FORMS[form]), path, count, WANTED)

    def _loaded(self, path: Path) -> datasets.Dataset:
        import datasets

        try:
            if (path / "state.json").exists() or (path / "dataset_dict.json").exists():
                found = datasets.load_from_disk(str(path))
                if isinstance(found, datasets.DatasetDict):
                    found = found[self.split]
            elif path.is_file():
                kind = _TABLES.get(path.suffix)
                if kind is None:
                    raise DataError(path, f"a file {path.suffix or 'without ending'}", f"one of {', '.join(_TABLES)}")
                found = datasets.load_dataset(kind, data_files=str(path), split="train")
            elif path.is_dir():
                found = datasets.load_dataset(str(path), self.subset or None, split=self.split)
            else:
                name, revision = path.as_posix(), self.revision or None
                found = datasets.load_dataset(name, self.subset or None, split=self.split, revision=revision)
        except DataError:
            raise
        except Exception as error:  # hub client, Arrow and file systems raise dozens of kinds; each means the same here
            known = "a hub id while the hub is reachable, or a data set on disk; logs.split and logs.subset as it names them"
            raise DataError(path, f"{type(error).__name__}: {error}", known) from error
        assert isinstance(found, datasets.Dataset)  # one split, not streamed
        return found


def _without_nulls(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [_without_nulls(inner) for inner in value]
    return value.isoformat() if isinstance(value, datetime | date) else value
