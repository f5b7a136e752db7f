"""The command line: what it says, and that every wrong input ends with status 2 and one clear line."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hindsight.cli import STAGES, main
from hindsight.measure import trec
from tests import people
from tests.conftest import SMALL


@pytest.fixture
def run(tmp_path, trained, capsys):
    """Runs a stage on a copy of the trained run, in ``tmp_path``; gives (status, standard output, standard error)."""
    shutil.copytree(trained / "runs", tmp_path / "runs")

    def called(stage, *overrides):
        capsys.readouterr()
        status = main([stage, *SMALL, f"run.folder={tmp_path}/runs", *overrides])
        return (status, *capsys.readouterr())

    return called


def refused(found) -> str:
    """The one line of an error."""
    status, _, told = found
    line = told.splitlines()[-1]
    assert status == 2 and line.startswith("error: ") and "Traceback" not in told, told
    return line


@pytest.mark.parametrize("given", [[], ["-h"], ["--help"], ["help"], ["eval", "--help"]])
def test_help_names_every_stage_and_every_option(given, capsys):
    assert main(given) == 0
    told = capsys.readouterr().out
    assert all(f"\n  {stage} " in told for stage in STAGES)
    assert "miner=turns|episodes" in told and "experiment=act" in told


def test_a_stage_that_is_none(capsys):
    assert main(["trian"]) == 2
    assert "no stage 'trian'; known: mine, label" in capsys.readouterr().err


def test_the_console_ends_with_status_2_and_no_traceback(tmp_path):
    (tmp_path / "empty.jsonl").touch()
    root = Path(__file__).parents[1]
    command = [sys.executable, str(root / "train.py"), "logs.path=empty.jsonl", "encoder=hashing"]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (found.returncode, found.stdout) == (2, "")
    assert found.stderr.startswith("error: empty.jsonl: got no dialogue; it is empty") and found.stderr.count("\n") == 1
    assert not (tmp_path / "runs").exists()


LINE = people.native(("ana",))[0]
CHAT = {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]}


@pytest.mark.parametrize(
    ("text", "override", "wanted"),
    [
        ("", "logs=native", "it is empty"),
        (json.dumps({"dialogue_id": "d", "user_id": "u", "turns": []}), "logs=native", "skipped 1: no turns"),
        (json.dumps(LINE)[:-30], "logs=native", "skipped 1: last line is cut off or not JSON"),
        (json.dumps(CHAT), "logs=native", "it looks like OpenAI chat: use logs=openai"),
        (json.dumps(LINE), "logs=openai", "it looks like the native format: use logs=native"),
        (json.dumps(LINE), "logs=locomo", "wanted a JSON list"),
        (json.dumps(LINE), "logs=opnai", "logs=opnai: no such logs; known: beam, crosswoz, "),
        (json.dumps(LINE), "logs.pth=x", "logs.pth: no such setting; did you mean logs.path"),
        (json.dumps(LINE), "fit.sed=1", "did you mean fit.seed"),
    ],
)
def test_a_log_that_cannot_be_mined(run, tmp_path, text, override, wanted):
    (tmp_path / "a.jsonl").write_text(text)
    before = (tmp_path / "runs/mine/default/memories.jsonl").read_bytes()
    assert wanted in refused(run("mine", f"logs.path={tmp_path}/a.jsonl", override))
    assert (tmp_path / "runs/mine/default/memories.jsonl").read_bytes() == before  # what an earlier run mined stays


def test_a_torn_last_line_is_counted_and_the_run_goes_on(run, tmp_path):
    lines = [json.dumps(line) for line in people.native()]
    (tmp_path / "a.jsonl").write_text("\n".join(lines)[:-40])
    status, _, told = run("mine", f"logs.path={tmp_path}/a.jsonl")
    assert status == 0 and "mine: seen 12, kept 11, skipped 1" in told
    assert "skipped 1: last line is cut off or not JSON (a.jsonl:12)" in told
    counts = json.loads((tmp_path / "runs/mine/default/manifest.json").read_text())["counts"]
    assert counts["skipped"] == {"last line is cut off or not JSON": 1}
    assert "labels of other memories" in refused(run("train"))  # the labels were made from the whole log


def test_a_missing_log(run, tmp_path):
    assert "no such file or folder" in refused(run("mine", f"logs.path={tmp_path}/nowhere"))
    (tmp_path / "folder").mkdir()
    assert "a folder without such files" in refused(run("mine", f"logs.path={tmp_path}/folder"))


@pytest.mark.parametrize("stage", ["eval", "recall"])
def test_a_checkpoint_that_is_none(run, tmp_path, stage):
    people.bundled(tmp_path / "b")
    asked = [f"suite.path={tmp_path}/b"] if stage == "eval" else ["recall.query=Where is the van?"]

    def refuse(*overrides):
        return refused(run(stage, *asked, *overrides))

    assert "no such folder; wanted a scorer folder" in refuse(f"scorer.path={tmp_path}/nowhere")
    assert "a file; wanted a scorer folder" in refuse(f"scorer.path={tmp_path}/b/gold.jsonl")
    assert "no config.json; wanted a scorer folder" in refuse(f"scorer.path={tmp_path}/b")
    (tmp_path / "b/config.json").write_text('{"model_type": "bert"}')
    assert "first format: Field required; wanted a scorer folder" in refuse(f"scorer.path={tmp_path}/b")
    good = f"scorer.path={tmp_path}/runs/train/default"
    other = refuse(good, "encoder.dimension=64")
    assert "got dimension 64 of hashing dimension=64; wanted 32 of hashing dimension=32" in other
    weights = tmp_path / "runs/train/default/scorer/scorer.safetensors"
    weights.write_bytes(weights.read_bytes()[:-8])
    assert "wanted the whole weights of the head" in refuse(good)


def test_an_evaluation_without_a_checkpoint(run, tmp_path):
    people.bundled(tmp_path / "b")
    found = run("eval", f"suite.path={tmp_path}/b", "system=[bm25,utility,utility_hidden]")
    assert found[0] == 2 and found[2].count("needs a checkpoint") == 2
    assert "suite.crossfit=true" in found[2]


def test_k_above_the_pool_gives_the_whole_pool(run, tmp_path):
    status, shown, _ = run("recall", "recall.query=Where is the van?", "recall.k=1000")
    memories = [json.loads(line) for line in (tmp_path / "runs/mine/default/memories.jsonl").open()]
    first = [memory for memory in memories if memory["user_id"] == memories[0]["user_id"]]
    assert status == 0 and shown.count("= logit") == len(first) == 48
    assert all(memory["text"] in shown for memory in first)
    people.bundled(tmp_path / "b")
    status, _, _ = run("eval", f"suite.path={tmp_path}/b", "system=[bm25,prior]", "evaluation.k=1000")
    runs = trec.read_runs(tmp_path / "runs/eval/default/run.trec")
    assert status == 0 and sorted({len(hits) for hits in runs["prior"].values()}) == [20, 32, 44]
    assert "wanted 1 or more" in refused(run("recall", "recall.query=x", "recall.k=0"))


def test_a_recall_of_nobody_and_of_nothing(run):
    assert 'give recall.query="..."' in refused(run("recall"))
    assert "one of the 3 users of" in refused(run("recall", "recall.query=x", "recall.user=nobody"))


@pytest.mark.parametrize(
    ("stage", "lacks"), [("label", "mine"), ("train", "mine"), ("train", "label"), ("export", "train"), ("recall", "mine")]
)
def test_a_stage_refuses_input_without_a_manifest(run, tmp_path, stage, lacks):
    (tmp_path / f"runs/{lacks}/default/manifest.json").unlink()
    line = refused(run(stage, f"to={tmp_path}/out", "recall.query=x"))
    assert f"no manifest.json; wanted the folder of a finished {lacks} stage: run `hindsight {lacks}` first" in line
    shutil.rmtree(tmp_path / f"runs/{lacks}/default")
    assert "no manifest.json" in refused(run(stage, f"to={tmp_path}/out", "recall.query=x"))


def test_a_manifest_of_another_stage(run, tmp_path):
    shutil.copy(tmp_path / "runs/mine/default/manifest.json", tmp_path / "runs/label/default/manifest.json")
    assert "got stage 'mine'; wanted stage 'label'" in refused(run("train"))


@pytest.mark.parametrize(
    ("stage", "file", "keep"),
    [
        ("label", "mine/default/manifest.json", 0.5),
        ("label", "mine/default/memories.jsonl", 0.5),
        ("label", "mine/default/dialogues.jsonl", 0.0),
        ("train", "label/default/examples/data-00000-of-00001.arrow", 0.5),
        ("train", "label/default/examples/state.json", 0.5),
        ("export", "train/default/scorer/scorer.safetensors", 0.5),
        ("export", "train/default/scorer/golden.json", 0.5),
    ],
)
def test_a_torn_artefact_is_refused(run, tmp_path, stage, file, keep):
    path = tmp_path / "runs" / file
    path.write_bytes(path.read_bytes()[: int(keep * path.stat().st_size)])
    line = refused(run(stage, f"to={tmp_path}/out"))
    assert path.name in line or path.parent.name in line
    assert not (tmp_path / "out").exists()


def test_an_artefact_that_lost_whole_lines_is_refused(run, tmp_path):
    path = tmp_path / "runs/mine/default/memories.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    assert "another file than the stage wrote; wanted a whole artefact: run `hindsight mine` again" in refused(run("label"))


@pytest.mark.parametrize("stage", ["mine", "label", "train", "eval", "audit"])
def test_other_files_in_the_way_are_kept(run, tmp_path, trained, stage):
    people.bundled(tmp_path / "b")
    path = "suite.path" if stage in ("eval", "audit") else "logs.path"
    overrides = [f"{path}={tmp_path}/b"] if path == "suite.path" else [f"{path}={trained}/log.jsonl"]
    overrides += ["system=[bm25]"] if stage == "eval" else []
    folder = tmp_path / f"runs/{stage}/default"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "thesis.txt").write_text("mine")
    assert "got thesis.txt; wanted a folder of this stage; give another run.name=" in refused(run(stage, *overrides))
    assert (folder / "thesis.txt").read_text() == "mine"
    shutil.rmtree(folder)
    folder.write_text("mine")
    assert "got a file; wanted a folder of this stage" in refused(run(stage, *overrides))
    shutil.rmtree(tmp_path / "runs" / stage)
    (tmp_path / "runs" / stage).write_text("mine")  # where the folder of all runs should be
    assert "error: " in refused(run(stage, *overrides)) and (tmp_path / "runs" / stage).read_text() == "mine"


def test_export_takes_a_new_folder_or_an_older_export(run, tmp_path):
    to = tmp_path / "out"
    assert "give to=DIR" in refused(run("export"))
    assert run("export", f"to={to}")[0] == 0 and run("export", f"to={to}")[0] == 0
    assert {path.name for path in to.iterdir()} == {"scorer.safetensors", "config.json", "golden.json", "README.md"}
    foreign = tmp_path / "bert"
    foreign.mkdir()
    (foreign / "config.json").write_text("{}")
    assert "a folder with other files" in refused(run("export", f"to={foreign}"))
    assert [path.name for path in foreign.iterdir()] == ["config.json"]
    assert "got a file" in refused(run("export", f"to={foreign}/config.json"))


def test_systems_of_others_are_checked_before_any_work(run, tmp_path):
    path = f"suite.path={people.bundled(tmp_path / 'b')}"
    assert "cannot import nobody" in refused(run("eval", path, "system=[]", "system.path=nobody:Class"))
    assert "no such file" in refused(run("eval", path, "system=[bm25]", f"system.run={tmp_path}/x.trec"))
    (tmp_path / "bm25.trec").write_text("q Q0 m 1 0.5 theirs\n")
    assert "another one has this name" in refused(run("eval", path, "system=[bm25]", f"system.run={tmp_path}/bm25.trec"))
    (tmp_path / "a b.trec").write_text("q Q0 m 1 0.5 theirs\n")
    assert "without white space" in refused(run("eval", path, "system=[bm25]", f"system.run='{tmp_path}/a b.trec'"))
    (tmp_path / "theirs.trec").write_text("q Q0 m 1 0.5 theirs\n")
    status, _, told = run("eval", path, "system=[bm25]", f"system.run={tmp_path}/theirs.trec")
    assert status == 0 and "eval: 9 x system theirs: query is not in the run" in told


def test_a_suite_without_questions(run, tmp_path):
    (tmp_path / "b").mkdir()
    assert "wanted a folder with train.jsonl, test.jsonl and gold.jsonl" in refused(run("eval", f"suite.path={tmp_path}/b"))
    people.bundled(tmp_path / "b", rows=people.gold()[1::2])  # of the other regime alone
    assert "no question that can be asked" in refused(run("eval", f"suite.path={tmp_path}/b", "system=[bm25]"))
    assert "suite.path: missing" in refused(run("eval", "suite=locomo"))


def test_own_logs_without_labels(run, tmp_path, trained):
    shutil.rmtree(tmp_path / "runs/label")
    own = ("suite=own", f"logs.path={trained}/log.jsonl", "system=[bm25]")
    assert "run `hindsight label` first" in refused(run("eval", *own))
    assert "suite.queries and suite.qrels go together" in refused(run("eval", *own, "suite.qrels=x"))


def test_an_audit_of_own_logs_ends_with_a_verdict(run, tmp_path, trained):
    log = f"logs.path={trained}/log.jsonl"
    status, shown, told = run("audit", log, "labeler=values", "labeler.least_pool=8")
    assert status == 0 and "audit: moments seen" in told
    assert shown.strip().splitlines()[-1].startswith("verdict: labels move with the future")
    folder = tmp_path / "runs/audit/default"
    found = json.loads((folder / "metrics.json").read_text())
    assert found["findings"][0] in shown and found["gold"] is None and found["labeler"] == "values"
    assert "default-src 'none'" in (folder / "report.html").read_text()
    assert json.loads((folder / "manifest.json").read_text())["stage"] == "audit"
    assert run("audit", log, "labeler=values")[0] == 0  # again, in its place


def test_an_audit_that_is_asked_for_the_wrong_way(run, tmp_path, trained):
    people.bundled(tmp_path / "b")
    log = f"logs.path={trained}/log.jsonl"
    assert "or suite=reuse, not both" in refused(run("audit", log, "suite=reuse"))
    assert "audit.gold: goes with logs.path=" in refused(run("audit", f"suite.path={tmp_path}/b", "audit.gold=x"))
    assert "audit.queries goes with audit.gold" in refused(run("audit", log, "audit.queries=x"))
    assert "no such file" in refused(run("audit", log, f"audit.gold={tmp_path}/x"))
    assert "no moment with a past" in refused(run("audit", log, "labeler=values", "labeler.least_pool=900"))
    assert not (tmp_path / "runs/audit").exists()
