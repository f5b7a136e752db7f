"""From raw logs to a recall with its reasons, offline: every stage, every artefact, and the same bytes again."""

import json
import shutil

import numpy as np
import pytest
from omegaconf import OmegaConf

import hindsight
from hindsight.cli import main
from hindsight.io import sha256_of
from hindsight.measure import trec
from hindsight.measure.ranking import measure, parse
from tests import people
from tests.conftest import SMALL

SYSTEMS = ["random", "recent", "bm25", "dense", "rrf", "zsum", "prior", "utility"]


@pytest.fixture
def call(tmp_path):
    """Runs a stage whose artefacts go to ``tmp_path``/runs."""

    def called(stage, *overrides):
        assert main([stage, *SMALL, f"run.folder={tmp_path}/runs", *overrides]) == 0

    return called


@pytest.fixture
def copied(tmp_path, trained):
    """The trained run, to be gone on with."""
    shutil.copytree(trained, tmp_path, dirs_exist_ok=True)
    return tmp_path


def read(path):
    return json.loads(path.read_text())


def bytes_of(folder):
    """File -> bytes; without the commit, which may get a ``+dirty`` meanwhile."""
    found = {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
    for name in found:
        if name.endswith("manifest.json"):
            body = json.loads(found[name])
            inputs = {key: value["path"] for key, value in body.pop("inputs").items()}  # manifests too, whose commit differs
            found[name] = json.dumps([{**body, "commit": "", "outputs": list(body["outputs"])}, inputs]).encode()
        elif name.endswith("README.md"):  # a model card
            found[name] = b"".join(line for line in found[name].splitlines() if b"made at commit" not in line)
    return found


def test_from_raw_logs_to_a_recall(call, tmp_path, capsys):
    people.write_lines(tmp_path / "logs" / "log.jsonl", people.native())
    call("mine", f"logs.path={tmp_path}/logs")
    call("label")
    call("train")
    call("export", f"to={tmp_path}/scorer")
    call("eval", f"suite.path={people.bundled(tmp_path / 'b')}", f"scorer.path={tmp_path}/scorer")
    capsys.readouterr()
    call("recall", "recall.query=Where is the van now?", f"scorer.path={tmp_path}/scorer")
    shown = capsys.readouterr().out
    assert shown.count("= logit") == 3 and "utility ." in shown and "turns ago" in shown

    runs = tmp_path / "runs"
    for stage, inputs in {"mine": ["logs"], "label": ["mine"], "train": ["mine", "label"], "eval": ["suite"]}.items():
        folder = runs / stage / "default"
        told = read(folder / "manifest.json")
        written = {path.name for path in folder.iterdir()} - {"manifest.json"}
        assert told["stage"] == stage and set(told["outputs"]) == written and list(told["inputs"]) == inputs
        assert all(told["outputs"][name] == sha256_of(folder / name) for name in written)
        assert told["versions"]["torch"] and told["commit"]
        assert OmegaConf.load(folder / "config.yaml").encoder.dimension == 32
    assert read(runs / "label/default/manifest.json")["inputs"]["mine"]["sha256"] == sha256_of(
        runs / "mine/default/manifest.json"
    )
    assert read(runs / "train/default/manifest.json")["training"]["seed"] == 0
    rows = [json.loads(line) for line in (runs / "train/default/metrics.jsonl").open()]
    assert [row["epoch"] for row in rows] == [0, 1, 2] and all(row["spread"] > 0 for row in rows)
    checkpoint = hindsight.load(str(tmp_path / "scorer"))
    assert checkpoint.regime == "ask" and checkpoint.config.origin.training["queries"]
    used = checkpoint.probability(np.zeros((2, len(checkpoint.columns)), np.float32))
    assert used.shape == (2,) and (used > 0).all() and (used < 1).all()


def test_what_an_evaluation_writes(call, copied):
    call("eval", f"suite.path={people.bundled(copied / 'b')}", f"scorer.path={copied}/runs/train/default")
    folder = copied / "runs/eval/default"
    assert {path.name for path in folder.iterdir()} == {
        "config.yaml", "manifest.json", "metrics.json", "questions.jsonl", "run.trec", "qrels.trec", "report.html",
    }  # fmt: skip
    metrics = read(folder / "metrics.json")
    names = ["recall@1", "recall@5", "recall@10", "recall_any@10", "recall_all@10", "mrr", "ndcg@10", "ndcg_lme@10"]
    assert (metrics["suite"], metrics["unit"], metrics["n"], metrics["seeds"]) == ("bundled", "turn", 9, [0])
    assert metrics["skipped"] == {} and metrics["data_sha256"] == sha256_of(copied / "b")
    assert list(metrics["systems"]) == SYSTEMS
    for cells in (*metrics["systems"].values(), *metrics["by"]["single"].values()):
        assert all(set(cells[name]) >= {"mean", "low", "high"} for name in names)
        assert all(0 <= cells[name]["low"] <= cells[name]["mean"] <= cells[name]["high"] <= 1 for name in names)
    for system in metrics["systems"].values():
        assert 0 < system["ms_per_query"]["p50"] <= system["ms_per_query"]["p95"]
    assert "bytes_per_memory" in metrics["systems"]["utility"] and "trained_on" in metrics["systems"]["utility"]
    assert "seen" in metrics["systems"]["prior"] and "trained_on" not in metrics["systems"]["prior"]
    one = metrics["comparisons"][0]
    assert set(one) >= {"a", "b", "measure", "difference", "low", "high", "cluster", "p"} and one["a"] == "utility"
    assert {pair["b"] for pair in metrics["comparisons"]} == {*SYSTEMS} - {"utility", "random"}
    assert metrics["config"]["encoder"] == {"dimension": 32}

    rows = [json.loads(line) for line in (folder / "questions.jsonl").open()]
    assert len(rows) == 9 * len(SYSTEMS) and {row["system"] for row in rows} == {*SYSTEMS}
    qrels, runs = trec.read_qrels(folder / "qrels.trec"), trec.read_runs(folder / "run.trec")
    assert list(runs) == SYSTEMS and len(qrels) == 9
    for system, run in runs.items():
        again = [measure(parse(names), trec.ranked(run[query]), qrels[query]) for query in qrels]
        for name in names:
            assert np.isclose(np.mean([row[name] for row in again]), metrics["systems"][system][name]["mean"], atol=1e-6)
    page = (folder / "report.html").read_text()
    assert all(system in page for system in SYSTEMS) and "<svg" in page and "src=" not in page.replace('src="data:', "")


def test_an_evaluation_says_how_far_utility_can_be_believed(call, copied):
    call(
        "eval",
        "suite=bundled",
        f"suite.path={people.bundled(copied / 'b')}",
        f"scorer.path={copied}/runs/train/default",
        "system=[bm25,utility]",
    )
    found = read(copied / "runs/eval/default/metrics.json")["calibration"]
    gold, held = found["utility, on gold"], found["utility, on the labels held out of its training"]
    assert gold["n"] == 3 * (20 + 32 + 44) and 0 <= gold["ece"] <= 1 and len(gold["bins"]) > 1
    assert held == read(copied / "runs/train/default/manifest.json")["training"]["calibration"]
    assert [row["threshold"] for row in gold["thresholds"]] == [row["threshold"] for row in held["thresholds"]]
    assert "utility, on gold" in (copied / "runs/eval/default/report.html").read_text()


def test_own_logs_are_judged_by_labels_of_users_that_training_held_out(call, copied):
    call("eval", "suite=own", f"logs.path={copied}/log.jsonl", f"scorer.path={copied}/runs/train/default")
    metrics = read(copied / "runs/eval/default/metrics.json")
    assert metrics["suite"] == "own" and metrics["clusters"] == 1 and metrics["n"] > 10
    assert metrics["notes"][0] == "judged by hindsight labels, not by people"
    assert all(kind.startswith("hindsight ") for kind in metrics["by"])


def test_equal_reruns_give_the_same_bytes(call, copied):
    call("all", f"logs.path={copied}/log.jsonl")
    before = bytes_of(copied / "runs")
    call("all", f"logs.path={copied}/log.jsonl")
    after = bytes_of(copied / "runs")
    assert list(after) == list(before) and len(after) > 12
    assert [name for name in after if after[name] != before[name]] == []


def test_a_stopped_training_ends_the_same(call, copied):
    folder = copied / "runs/train/default"
    before = bytes_of(folder / "scorer")
    (folder / "manifest.json").unlink()
    shutil.rmtree(folder / "scorer")  # stopped after the fit, before the scorer was written
    call("train")
    assert bytes_of(folder / "scorer") == before and len(read(folder / "manifest.json")["outputs"]) == 4


def without_times(folder):
    metrics = read(folder / "metrics.json")
    for system in metrics["systems"].values():
        assert system.pop("ms_per_query")
    rows = [json.loads(line) for line in (folder / "questions.jsonl").open()]
    metrics.pop("config")
    return (
        metrics,
        [{**row, "ms": 0} for row in rows],
        (folder / "run.trec").read_bytes(),
        (folder / "qrels.trec").read_bytes(),
    )


def test_one_process_and_two_give_the_same(call, copied):
    """So do reruns of an evaluation: times alone differ."""
    arguments = f"suite.path={people.bundled(copied / 'b')}", f"scorer.path={copied}/runs/train/default"
    call("eval", *arguments)
    one = without_times(copied / "runs/eval/default")
    call("eval", *arguments, "run.jobs=2")
    assert without_times(copied / "runs/eval/default") == one


def test_crossfit_sees_no_question_but_the_oracle_does(call, copied):
    """The same dialogues with other questions' gold: what is trained on raw dialogues stays, what is trained on gold moves."""
    systems = ("prior", "utility", "utility_hidden", "utility_shuffled", "utility_gold")
    found = []
    for swapped in (False, True):
        path = people.locomo(copied / f"{swapped}.json", swapped)
        call(
            "eval", "suite=locomo", f"suite.path={path}", "suite.crossfit=true", "evaluation.folds=3", "evaluation.seeds=2",
            f"system=[{','.join(systems)}]",
        )  # fmt: skip
        metrics = read(copied / "runs/eval/default/metrics.json")
        found.append((metrics, trec.read_runs(copied / "runs/eval/default/run.trec")))
    (metrics, clean), (other, swapped) = found
    assert metrics["n"] == other["n"] == 12 and metrics["seeds"] == [0, 1] and list(clean) == list(systems)
    assert [name for name in systems if clean[name] != swapped[name]] == ["utility_gold"]
    assert metrics["systems"]["prior"]["ndcg@10"] != other["systems"]["prior"]["ndcg@10"]  # the gold did move
    assert len({json.dumps(clean[name]) for name in systems}) == len(systems)
    trained_on = metrics["systems"]["utility"]["trained_on"]
    assert trained_on.endswith("queries of the other folds' users") and "seed_sd" in metrics["systems"]["utility"]["mrr"]
    assert metrics["systems"]["utility_gold"]["trained_on"].startswith("12 queries")


def test_the_act_regime_goes_the_same_way(call, copied):
    act = ("experiment=act", "labeler.least_pool=8", "fit.epochs=2")
    call("all", f"logs.path={copied}/log.jsonl", *act)
    scorer = copied / "runs/train/default"
    assert hindsight.load(str(scorer / "scorer")).regime == "act"
    call("eval", "suite=reuse", f"suite.path={people.bundled(copied / 'b')}", f"scorer.path={scorer}", *act)
    metrics = read(copied / "runs/eval/default/metrics.json")
    assert metrics["suite"] == "reuse" and metrics["n"] == 9 and list(metrics["by"]) == ["call, earlier session"]


def test_an_audit_holds_the_labeler_against_gold(call, copied):
    call("audit", "suite=locomo", f"suite.path={people.locomo(copied / 'l.json')}")
    report = read(copied / "runs/audit/default/metrics.json")
    assert report["suite"] == "locomo" and list(report["futures"]) == ["real", "shuffled", "hidden"]
    assert read(copied / "runs/audit/default/manifest.json")["stage"] == "audit"


def test_seeds_gold_and_formula(call, copied, capsys):
    """Several heads of one run are one system; gold and a searched formula join the table."""
    path = f"suite.path={people.bundled(copied / 'b')}"
    call("train", "run.seeds=2")
    call("formula", path, f"system.formula={copied}/formula.json")
    shutil.copytree(copied / "runs/mine/default", copied / "runs/mine/gold")
    call("gold", path, "run.name=gold")
    call("train", "run.name=gold")
    call(
        "eval", path, f"scorer.path={copied}/runs/train/default", f"scorer.path_gold={copied}/runs/train/gold",
        f"system.formula={copied}/formula.json", "system=[formula,utility,utility_gold]",
    )  # fmt: skip
    metrics = read(copied / "runs/eval/default/metrics.json")
    assert list(metrics["systems"]) == ["formula", "utility", "utility_gold"] and metrics["seeds"] == [0, 1]
    rows = [json.loads(line) for line in (copied / "runs/eval/default/questions.jsonl").open()]
    assert {(row["system"], row["seed"]) for row in rows} == {
        ("formula", 0), ("utility", 0), ("utility", 1), ("utility_gold", 0)
    }  # fmt: skip
    both = f"{copied}/runs/train/default,{copied}/runs/train/default/seed-1"
    assert main(["eval", *SMALL, path, f"scorer.path='{both}'", "system=[utility]", f"run.folder={copied}/runs"]) == 2
    assert "seed-1 twice: a train run's folder brings all its seeds" in capsys.readouterr().err
