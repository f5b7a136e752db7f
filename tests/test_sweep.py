"""A multirun on the bundled train people, with the hashing encoder."""

import json

import pytest

from hindsight.cli import main
from hindsight.config import jobs
from hindsight.system.layered import LayeredConfig
from hindsight.system.weights import parts
from hindsight.types import ConfigError

SAME = ["eval", "-m", "suite=bundled", "suite.split=train", "encoder=hashing", "evaluation.limit=3", "run.jobs=1"]
SAME += ["system=[recent,scheduler]"]


def sweep(tmp_path, *words):
    assert main([*SAME, f"run.folder={tmp_path}", *words]) == 0
    return json.loads((tmp_path / "sweep" / "default" / "sweep.json").read_text())


def test_every_combination_is_a_job_and_the_run_as_it_is_comes_first(tmp_path, capsys):
    found = sweep(tmp_path, "scheduler.half_life=1,7", "scheduler.gate=0,.6")
    own = [row for row in found["rows"] if row["system"] == "scheduler"]
    assert found["jobs"] == 5 and len(own) == 5 and {row["n"] for row in own} == {3}
    by_changed = {row["changed"]: row for row in own}
    same = by_changed["scheduler.half_life=7 scheduler.gate=0.6"]
    assert same["mean"] == by_changed["as it is"]["mean"] and same["difference"]["mean"] == 0
    assert [row["mean"] for row in own] == sorted((row["mean"] for row in own), reverse=True)
    assert by_changed["scheduler.half_life=1 scheduler.gate=0"]["mean"] != same["mean"]
    assert {row["mean"] for row in found["rows"] if row["system"] == "recent"} == {
        next(row["mean"] for row in found["rows"] if row["system"] == "recent")
    }  # what is not swept does not move
    page = (tmp_path / "sweep" / "default" / "sweep.html").read_text()
    assert "scheduler.gate=0" in page and "<script" not in page and "http" not in page.replace("http-equiv", "")
    assert "| scheduler | as it is |" in capsys.readouterr().out


def test_what_was_done_with_the_same_settings_is_not_done_again(tmp_path, capsys):
    sweep(tmp_path, "scheduler.half_life=1,2")
    first = (tmp_path / "sweep" / "default" / "sweep.json").read_bytes()
    stamps = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("metrics.json")}
    capsys.readouterr()
    sweep(tmp_path, "scheduler.half_life=1,2")
    assert capsys.readouterr().err.count("(done before)") == 3
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("metrics.json")} == stamps
    assert (tmp_path / "sweep" / "default" / "sweep.json").read_bytes() == first
    sweep(tmp_path, "scheduler.half_life=1,2", "evaluation.k=30")
    assert "(done before)" not in capsys.readouterr().err


def test_an_ablation_takes_out_each_part(tmp_path):
    found = sweep(tmp_path, "sweep.ablate=true")
    out = [*(f"{name}=0" for name in ("cosine", "fresh", "confidence", "bonus", "gate")), "facts=false"]
    wanted = {"as it is", *(f"scheduler.{part}" for part in out)}
    assert {row["changed"] for row in found["rows"]} == wanted
    assert parts("layered", LayeredConfig(gate=0.0, facts=False, used=0.0)) == [
        "layered.similarity=0", "layered.fresh=0", "layered.importance=0", "layered.semantic=0"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["suite.split=test", "scheduler.half_life=1,2"], "would tune on it"),
        ([], "nothing is swept"),
        (["scheduler.half_life=0,2"], "scheduler.half_life=0.0: wanted more than 0"),
        (["scheduler.gate=1.5,2"], "scheduler.gate=1.5: wanted from 0 to 1"),
        (["scheduler.fresh=-1,0"], "scheduler.fresh=-1.0: wanted 0 or more"),
        (["scheduler.half=1,2"], "scheduler.half: no such setting"),
        (["sweep.measure=map", "scheduler.gate=0,1"], "sweep.measure=map: measured are recall@1"),
    ],
)
def test_what_cannot_be_swept_is_one_clear_line(tmp_path, capsys, words, said):
    assert main([*SAME, f"run.folder={tmp_path}", *words]) == 2
    assert said in capsys.readouterr().err


def test_a_test_split_is_for_a_table_alone(tmp_path):
    found = sweep(tmp_path, "suite.split=test", "sweep.test=true", "scheduler.gate=0,.6")
    assert found["split"] == "test" and found["chosen"] == {}
    assert "Nothing may be chosen by it" in (tmp_path / "sweep" / "default" / "sweep.html").read_text()


def test_combinations_are_in_the_order_written():
    assert jobs(["a.b=1,2", "c.d=x", "e.f=[3],[4]"]) == [
        ("a.b=1", "e.f=[3]"), ("a.b=1", "e.f=[4]"), ("a.b=2", "e.f=[3]"), ("a.b=2", "e.f=[4]")
    ]  # fmt: skip
    assert jobs(["a.b=range(1,4)"]) == [("a.b=1",), ("a.b=2",), ("a.b=3",)]
    with pytest.raises(ConfigError, match="wanted key=value"):
        jobs(["a.b=[1"])
