import json
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import datasets
import pytest

from hindsight.logs.hub import HubReader
from hindsight.logs.native import NativeReader
from hindsight.logs.openai import OpenAIReader
from hindsight.types import Count, DataError

NATIVE = [
    {
        "dialogue_id": f"d{i}",
        "user_id": f"u{i % 2}",
        "turns": [
            {"role": "user", "text": "Book a table in 上海.", "time": "2024-05-01T10:00:00+00:00"},
            {"role": "assistant", "text": "", "calls": [{"name": "book", "arguments": arguments, "outcome": "success"}]},
        ][: 1 + i % 2],
    }
    for i, arguments in enumerate([{"city": "上海", "seats": 4}, {"city": "Lisbon"}, {"seats": 2}, {"night": True}])
]
CHAT = [
    {"conversation_id": "c1", "user": "ann", "messages": [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": None}]},
    {"conversation_id": "c2", "user": "bob", "messages": [{"role": "user", "content": "Bye"}]},
]  # fmt: skip


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path_factory.mktemp("cache"))


def lines(path: Path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def read(reader, path):
    count = Count()
    return [replace(one, source="") for one in reader.read(path, count)], count


@pytest.mark.parametrize(("rows", "reader"), [(NATIVE, NativeReader()), (CHAT, OpenAIReader())], ids=["native", "openai"])
def test_rows_on_disk_read_like_the_lines_that_they_were_made_from(tmp_path, rows, reader):
    wanted, _ = read(reader, lines(tmp_path / "log.jsonl", rows))
    whole = datasets.Dataset.from_list(rows)
    whole.save_to_disk(str(tmp_path / "saved"))
    datasets.DatasetDict({"test": whole}).save_to_disk(str(tmp_path / "splits"))
    whole.to_parquet(str(tmp_path / "log.parquet"))
    (tmp_path / "folder").mkdir()
    lines(tmp_path / "folder" / "train.jsonl", rows)
    for name, split in [
        ("saved", "train"),
        ("splits", "test"),
        ("log.parquet", "train"),
        ("log.jsonl", "train"),
        ("folder", "train"),
    ]:
        found, count = read(HubReader(split), tmp_path / name)
        assert found == wanted, name
        assert count.kept == len(rows)


def test_places_name_split_and_row_and_what_is_wrong_is_counted(tmp_path):
    rows = [NATIVE[0], NATIVE[0], {**NATIVE[1], "user_id": None}, {**NATIVE[2], "turns": []}]
    datasets.Dataset.from_list(rows).save_to_disk(str(tmp_path / "saved"))
    count = Count()
    assert [one.source for one in HubReader().read(tmp_path / "saved", count)] == ["saved[train]:0"]
    assert count.skipped == {"the same dialogue again": 1, 'no "user_id"': 1, "no turns": 1}
    assert count.seen == 4


def test_times_may_be_timestamps(tmp_path):
    row = {"dialogue_id": "d", "user_id": "u", "turns": [{"role": "user", "text": "Hi", "time": datetime(2024, 5, 1, 10)}]}
    datasets.Dataset.from_list([row]).save_to_disk(str(tmp_path / "saved"))
    (found,), _ = read(HubReader(), tmp_path / "saved")
    assert found.turns[0].time == "2024-05-01T10:00:00"


def test_a_hub_id_goes_to_the_hub_as_it_is(monkeypatch):
    asked = []

    def load(*names, **more):
        asked.append((names, more))
        return datasets.Dataset.from_list(CHAT)

    monkeypatch.setattr(datasets, "load_dataset", load)
    found, _ = read(HubReader("validation", "en", "abc123"), Path("owner/chats"))
    assert len(found) == 2
    assert asked == [(("owner/chats", "en"), {"split": "validation", "revision": "abc123"})]


def test_an_unreachable_hub_and_unknown_names_are_clear_errors(tmp_path, monkeypatch):
    def unreachable(*_, **__):
        raise ConnectionError("Couldn't reach the Hugging Face Hub")

    datasets.DatasetDict({"test": datasets.Dataset.from_list(CHAT)}).save_to_disk(str(tmp_path / "splits"))
    with pytest.raises(DataError, match=r"splits: got KeyError.*logs\.split"):
        read(HubReader("train"), tmp_path / "splits")
    datasets.Dataset.from_list([{"text": "hello", "label": 1}]).save_to_disk(str(tmp_path / "foreign"))
    with pytest.raises(DataError, match=r"columns text, label.*\"turns\""):
        read(HubReader(), tmp_path / "foreign")
    (tmp_path / "log.csv").write_text("a,b\n")
    with pytest.raises(DataError, match=r"a file \.csv"):
        read(HubReader(), tmp_path / "log.csv")
    monkeypatch.setattr(datasets, "load_dataset", unreachable)
    with pytest.raises(DataError, match=r"owner/chats: got ConnectionError.*while the hub is reachable"):
        read(HubReader(), Path("owner/chats"))


def test_a_data_set_without_a_row_that_can_be_kept(tmp_path):
    datasets.Dataset.from_list([{"turns": [{"role": "user", "text": "Hi"}]}]).save_to_disk(str(tmp_path / "saved"))
    with pytest.raises(DataError, match="no dialogue"):
        read(HubReader(), tmp_path / "saved")
