import ir_measures
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hindsight.measure.ranking import measure, parse
from hindsight.measure.trec import ranked, read_qrels, read_run, read_runs, write_qrels, write_runs
from hindsight.types import DataError

ids = st.text(st.characters(blacklist_categories=("Cs", "Cc", "Z")), min_size=1, max_size=6).filter(
    lambda t: t.split() == [t]
)
finite = st.floats(allow_nan=False, allow_infinity=False)
runs = st.dictionaries(
    ids, st.dictionaries(ids, st.dictionaries(ids, finite, min_size=1), min_size=1), min_size=1, max_size=3
)
plain = settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])


@plain
@given(runs)
def test_runs_round_trip_exactly(tmp_path, given_runs):
    write_runs(tmp_path / "run.trec", given_runs)
    assert read_runs(tmp_path / "run.trec") == given_runs


@plain
@given(st.dictionaries(ids, st.dictionaries(ids, st.integers(-1, 3), min_size=1), min_size=1))
def test_qrels_round_trip(tmp_path, qrels):
    write_qrels(tmp_path / "qrels.trec", qrels)
    assert read_qrels(tmp_path / "qrels.trec") == qrels


def test_the_files_are_what_others_read(tmp_path):
    write_runs(tmp_path / "run.trec", {"bm25": {"q1": {"b": 1.0, "a": 2.5, "c": -1e-9}}})
    write_qrels(tmp_path / "qrels.trec", {"q1": {"b": 1, "z": 1}})
    assert (tmp_path / "run.trec").read_text() == "q1 Q0 a 1 2.5 bm25\nq1 Q0 b 2 1.0 bm25\nq1 Q0 c 3 -1e-09 bm25\n"
    theirs = ir_measures.calc_aggregate(
        [ir_measures.RR],
        list(ir_measures.read_trec_qrels(str(tmp_path / "qrels.trec"))),
        list(ir_measures.read_trec_run(str(tmp_path / "run.trec"))),
    )
    ours = measure(parse(["mrr"]), ranked(read_run(tmp_path / "run.trec")["q1"]), read_qrels(tmp_path / "qrels.trec")["q1"])
    assert theirs[ir_measures.RR] == ours["mrr"] == 0.5


def test_ties_go_by_id_whatever_the_order_of_the_lines_and_ranks_are_not_believed(tmp_path):
    lines = [f"q Q0 m{i} {9 - i} 0.5 own\n" for i in range(5)]
    (tmp_path / "a.trec").write_text("".join(lines))
    (tmp_path / "b.trec").write_text("".join(reversed(lines)))
    a, b = (ranked(read_run(tmp_path / name)["q"]) for name in ("a.trec", "b.trec"))
    assert a == b == ["m0", "m1", "m2", "m3", "m4"]


@pytest.mark.parametrize(
    "text,place,wanted",
    [
        ("q Q0 a 1 0.5 t\nq Q0 a 2 0.4 t\n", ":2", "once"),
        ("q Q0 a 1 nan t\n", ":1", "finite"),
        ("q Q0 a 1 -inf t\n", ":1", "finite"),
        ("q Q0 a 1 high t\n", ":1", "number"),
        ("q Q0 a 1 0.5 t\n\nq Q0 b 0.5 t\n", ":3", "query_id Q0 memory_id rank score tag"),
        ("q Q0 a 1 0.5", ":1", "query_id Q0 memory_id rank score tag"),
        ("", "", "query_id Q0"),
    ],
)
def test_a_bad_run_names_its_line(tmp_path, text, place, wanted):
    path = tmp_path / "run.trec"
    path.write_text(text)
    with pytest.raises(DataError) as caught:
        read_run(path)
    assert caught.value.place == f"{path}{place}" and wanted in caught.value.wanted


@pytest.mark.parametrize("text,place", [("q 0 a 1\nq 0 a 1\n", ":2"), ("q 0 a yes\n", ":1"), ("q 0 a 0.5\n", ":1"),
                                        ("q a 1\n", ":1"), ("", "")])  # fmt: skip
def test_bad_qrels_name_their_line(tmp_path, text, place):
    path = tmp_path / "qrels.trec"
    path.write_text(text)
    with pytest.raises(DataError) as caught:
        read_qrels(path)
    assert caught.value.place == f"{path}{place}"


def test_bytes_that_are_not_text_are_refused_not_dropped(tmp_path):
    (tmp_path / "run.trec").write_bytes(b"q Q0 a 1 0.5 t\nq Q0 \xff 2 0.4 t\n")
    with pytest.raises(DataError, match="UTF-8"):
        read_run(tmp_path / "run.trec")


def test_several_systems_in_one_file(tmp_path):
    path = tmp_path / "run.trec"
    write_runs(path, {"bm25": {"q": {"a": 1.0}}, "dense": {"q": {"a": 2.0}}})
    assert read_run(path, "dense") == {"q": {"a": 2.0}}
    for tag in (None, "prior"):
        with pytest.raises(DataError, match="bm25, dense"):
            read_run(path, tag)


@pytest.mark.parametrize("bad", [{"t": {"q 1": {"a": 1.0}}}, {"t": {"q": {"": 1.0}}}, {"t x": {"q": {"a": 1.0}}},
                                 {"t": {"q": {"a": float("nan")}}}])  # fmt: skip
def test_what_cannot_be_read_back_is_not_written(tmp_path, bad):
    with pytest.raises(DataError):
        write_runs(tmp_path / "run.trec", bad)
    assert not (tmp_path / "run.trec").exists()
