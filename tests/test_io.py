"""Lines in: what is wrong is named by its line and counted, and what can't be read at all is one clear error."""

import gzip
import json

import pytest

from hindsight.io import read_json_lines
from hindsight.logs.native import NativeReader
from hindsight.types import Count, DataError

LINE = {"dialogue_id": "d", "user_id": "u", "turns": [{"role": "user", "text": "hi"}]}


def read(path):
    return list(read_json_lines(path, count := Count())), count


def test_an_integer_too_long_for_python_is_a_skip(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": 1}\n{"a": ' + "9" * 5000 + "}\n" + '{"a": 2}\n')
    records, count = read(path)
    assert records == [(1, {"a": 1}), (3, {"a": 2})]
    assert count.skipped == {"line holds an integer of too many digits": 1}
    assert count.places == {"line holds an integer of too many digits": ["a.jsonl:2"]}


@pytest.mark.parametrize("hurt", [100, -12, -2])  # inside the blocks, in the last of them, in the checksum
def test_a_corrupt_gzip_is_an_error_that_names_the_file(tmp_path, hurt):
    packed = bytearray(gzip.compress("".join(json.dumps({"a": i * i}) + "\n" for i in range(9000)).encode()))
    packed[hurt] ^= 0xFF
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(packed)
    with pytest.raises(DataError, match=r"a\.jsonl\.gz:\d+: .*wanted a whole gzip file"):
        read(path)


def test_half_a_utf16_character_is_an_error(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes('{"a": 1}\n'.encode("utf-16")[:-1])
    with pytest.raises(DataError, match="whole UTF-16 text"):
        read(path)


def test_skips_name_their_first_three_places(tmp_path):
    path = tmp_path / "a.jsonl"
    bad = ["[1]", "[2]", b"\xff\xfe".decode("latin-1"), "[3]", "[4]", "{"]
    text = b"\n".join([line.encode("latin-1") for line in bad[:-1]] + [json.dumps(LINE).encode(), bad[-1].encode()])
    path.write_bytes(text)
    _, count = read(path)
    assert count.places == {
        "line is not a JSON object": ["a.jsonl:1", "a.jsonl:2", "a.jsonl:4"],
        "line is not UTF-8": ["a.jsonl:3"],
        "last line is cut off or not JSON": ["a.jsonl:7"],
    }
    assert "skipped 4: line is not a JSON object (a.jsonl:1, a.jsonl:2, a.jsonl:4, ...)\n" in str(count) + "\n"
    assert "skipped 1: line is not UTF-8 (a.jsonl:3)\n" in str(count)


def test_a_reader_names_the_places_of_its_own_skips_once(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in (LINE, {"turns": []}, LINE)))
    assert len(list(NativeReader().read(path, count := Count()))) == 1
    assert count.places == {'no "dialogue_id"': ["a.jsonl:2"], "the same dialogue again": ["a.jsonl:3"]}


def test_notes_have_places_too_and_a_reason_without_place_prints_none():
    count = Count()
    count.skip("why")
    count.note("mended", 2, place="here")
    assert str(count) == "seen 1, kept 0, skipped 1\n  skipped 1: why\n  noted 2: mended (here, ...)"
