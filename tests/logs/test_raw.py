import gzip
import json
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight.logs.raw import read_json_list, read_json_object, time_of, time_order
from hindsight.types import Count, DataError

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(values, max_size=6), st.integers(1, 40), st.sampled_from([None, 1]))
def test_a_list_read_in_chunks_is_the_same_list(tmp_path_factory, whole, chunk, indent):
    path = tmp_path_factory.mktemp("list") / "a.json"
    path.write_text(json.dumps(whole, ensure_ascii=False, indent=indent), "utf-8")
    assert list(read_json_list(path, chunk)) == whole


@given(st.lists(st.dictionaries(st.sampled_from("ab"), st.integers()), min_size=1, max_size=4), st.data())
def test_a_cut_list_is_an_error_after_its_whole_elements(tmp_path_factory, whole, data):
    path = tmp_path_factory.mktemp("list") / "a.json"
    body = json.dumps(whole)
    path.write_text(body[: data.draw(st.integers(1, len(body) - 1))])
    seen = []
    with pytest.raises(DataError, match="whole JSON list"):
        seen.extend(read_json_list(path, 7))
    assert seen == whole[: len(seen)]


def test_a_list_with_gzip_or_bom(tmp_path):
    (tmp_path / "a.json").write_bytes(gzip.compress(b"[1, 2]"))
    (tmp_path / "b.json").write_bytes(b"\xef\xbb\xbf [3]")
    assert list(read_json_list(tmp_path / "a.json")) + list(read_json_list(tmp_path / "b.json")) == [1, 2, 3]
    (tmp_path / "c.json").write_bytes(gzip.compress(b"[1, 2]")[:-4])
    (tmp_path / "d.json").write_bytes(b'["\xff"]')
    for name in "cd":
        with pytest.raises(DataError, match="whole UTF-8 text"):
            list(read_json_list(tmp_path / f"{name}.json"))


@pytest.mark.parametrize(
    ("given_time", "time"),
    [
        ("2026-01-01T00:00:00-05:00", "2026-01-01T00:00:00-05:00"),
        ("2026-01-01 03:00", "2026-01-01T03:00:00"),
        ("2026-01-01T05:00:00.5Z", "2026-01-01T05:00:00.500000+00:00"),
        ("2026-01-01T05:00:00+0530", "2026-01-01T05:00:00+05:30"),
        ("2026-01-01", "2026-01-01"),
        (1767243600, "2026-01-01T05:00:00+00:00"),
        (1767243600000, "2026-01-01T05:00:00+00:00"),
        (None, None),
        ("", None),
    ],
)
def test_times(given_time, time):
    count = Count()
    assert time_of(given_time, count) == time
    assert not count.notes


@pytest.mark.parametrize("bad", ["2026-13-40", "2026-01-01T25:00", "tomorrow", 0, 12, 1e30, float("nan"), True, [1]])
def test_what_is_no_time_is_none_and_noted(bad):
    count = Count()
    assert time_of(bad, count) is None
    assert sum(count.notes.values()) == 1


@given(st.lists(st.none() | st.datetimes().map(lambda time: time.isoformat())))
def test_time_order_is_a_stable_order_of_all_places(times):
    order = time_order(times)
    assert sorted(order) == list(range(len(times)))
    known = [times[place] for place in order if times[place] is not None]
    assert known == sorted(known)
    for place, time in enumerate(times):
        if time is None and place:  # nothing with another time stands between it and the one before it
            between = order[order.index(place - 1) + 1 : order.index(place)]
            assert all(times[one] is None or times[one] == times[place - 1] for one in between) or times[place - 1] is None


@given(st.dictionaries(st.text(max_size=4), values, max_size=6), st.integers(1, 40), st.sampled_from([None, 1]))
def test_an_object_read_in_chunks_is_the_same_object(tmp_path_factory, whole, chunk, indent):
    path = tmp_path_factory.mktemp("object") / "a.json"
    path.write_text(json.dumps(whole, ensure_ascii=False, indent=indent), "utf-8")
    assert list(read_json_object(path, chunk)) == list(whole.items())


def test_a_cut_object_is_an_error(tmp_path):
    for body in ('{"a": 1, "b": ', '{"a": 1', '{"a": 1, "b"}', "[1]"):
        (tmp_path / "a.json").write_text(body)
        with pytest.raises(DataError, match="JSON object"):
            list(read_json_object(tmp_path / "a.json"))


def test_a_zip_of_one_file(tmp_path):
    def packed(name, **files):
        with zipfile.ZipFile(tmp_path / name, "w", zipfile.ZIP_DEFLATED) as archive:
            for inner, body in files.items():
                archive.writestr(inner, body)
        return tmp_path / name

    assert list(read_json_list(packed("a.zip", a="\ufeff[1, 2]"))) == [1, 2]
    with pytest.raises(DataError, match="2 files"):
        list(read_json_list(packed("b.zip", a="[1]", b="[2]")))
    whole = packed("c.zip", a=json.dumps([str(n) for n in range(9999)])).read_bytes()
    (tmp_path / "c.zip").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match="zip"):
        list(read_json_list(tmp_path / "c.zip"))
