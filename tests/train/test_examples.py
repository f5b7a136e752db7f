import json
import string

import datasets
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hindsight.io import sha256_of
from hindsight.train.examples import read, write
from hindsight.types import DataError, Labelled, Query, Use

places = st.lists(st.integers(0, 2**40), max_size=3).map(tuple)
numbers = st.floats(allow_nan=False, allow_infinity=False)
queries = st.builds(
    Query,
    query_id=st.text(string.hexdigits, min_size=1),
    user_id=st.text(),
    dialogue_id=st.text(),
    text=st.text(),
    asked_at=st.integers(0, 2**40),
    goal=st.text(),
    time=st.none() | st.text(),
    context=places,
)


@st.composite
def labelled(draw):
    query = draw(queries)
    uses = draw(st.lists(st.tuples(st.text(), numbers, st.text()), max_size=3))
    made = tuple(Use(query.query_id, *one) for one in uses)
    return Labelled(query, made, draw(st.text()), draw(numbers), draw(places), draw(numbers))


@given(st.lists(labelled(), min_size=1, max_size=5))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_was_written_is_read(tmp_path, rows):
    assert write(tmp_path / "examples", iter(rows)) == len(rows)
    assert list(read(tmp_path / "examples")) == rows
    assert [path.name for path in tmp_path.iterdir()] == ["examples"]


def some(total):
    query = [Query(f"q{i:05}", "u", "d", "Where? 哪里?", i, context=(i - 1,)) for i in range(total)]
    return [Labelled(one, (Use(one.query_id, "m", 0.25, "Lisbon"),), "HQ", 2.0, (), 0.5) for one in query]


def test_the_same_rows_give_the_same_bytes_wherever_they_lie(tmp_path, capfd):
    for name in ("one", "other"):
        write(tmp_path / name, some(2500))
        assert list(read(tmp_path / name)) == some(2500)
    assert sha256_of(tmp_path / "one") == sha256_of(tmp_path / "other")
    write(tmp_path / "one", some(3))  # replaced
    assert list(read(tmp_path / "one")) == some(3)
    assert capfd.readouterr() == ("", "")


def test_it_is_an_ordinary_data_set_mapped_from_disk(tmp_path):
    write(tmp_path / "examples", some(3))
    found = datasets.load_from_disk(str(tmp_path / "examples"))
    assert found[1]["uses"] == [{"memory_id": "m", "gain": 0.25, "evidence": "Lisbon"}]
    assert found.cache_files  # rows come from the file, not from memory


def test_missing_foreign_and_torn_folders(tmp_path):
    with pytest.raises(DataError, match="no such folder"):
        next(read(tmp_path / "nowhere"))
    with pytest.raises(DataError, match=r"without state\.json"):
        next(read(tmp_path))
    datasets.Dataset.from_list([{"text": "hello"}]).save_to_disk(str(tmp_path / "foreign"))
    with pytest.raises(DataError, match=r"row 0.*labelled query"):
        next(read(tmp_path / "foreign"))
    write(tmp_path / "torn", some(2500))
    (data,) = (tmp_path / "torn").glob("*.arrow")
    data.write_bytes(data.read_bytes()[:5000])
    with pytest.raises(DataError, match="whole"):
        list(read(tmp_path / "torn"))
    (tmp_path / "torn" / "state.json").write_text(json.dumps({"_data_files": 3})[:-2])
    with pytest.raises(DataError, match="whole"):
        list(read(tmp_path / "torn"))


def test_other_folders_are_not_overwritten_and_a_failure_leaves_the_old_rows(tmp_path):
    (tmp_path / "mine").mkdir()
    with pytest.raises(DataError, match="something else"):
        write(tmp_path / "mine", some(1))
    write(tmp_path / "examples", some(2))
    for bad, error in ((Query("q", "u", "d", "\ud800", 1), DataError), (None, AttributeError)):
        broken = [*some(1), Labelled(bad, (), "HQ")] if bad else [*some(1), None]
        with pytest.raises((error, TypeError)):
            write(tmp_path / "examples", broken)
    with pytest.raises(DataError, match="no labelled query"):
        write(tmp_path / "examples", [])
    assert list(read(tmp_path / "examples")) == some(2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["examples", "mine"]


def test_a_use_of_another_query_is_refused(tmp_path):
    with pytest.raises(ValueError, match="another query"):
        write(tmp_path / "examples", [Labelled(Query("q", "u", "d", "t", 1), (Use("p", "m", 1.0),), "HQ")])
