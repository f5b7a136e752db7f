import copy
import json
import shutil

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

import hindsight
from hindsight.encoder.golden import check, golden
from hindsight.encoder.hashing import HashingEncoder
from hindsight.export import export
from hindsight.features import matrix
from hindsight.labeler.gated import Gated
from hindsight.miner.turns import Turns
from hindsight.scorer.head import BIAS
from hindsight.scorer.linear import Linear
from hindsight.scorer.load import Choice, Origin
from hindsight.scorer.mlp import Mlp
from hindsight.types import DataError
from tests.scorer.test_head import drawn, opinionated

ORIGIN = Origin(
    regime="ask",
    miner=Choice.of(Turns()),
    labeler=Choice.of(Gated()),
    encoder=Choice.of(HashingEncoder()),
    fingerprint=HashingEncoder().fingerprint,
    candidates=200,
    training={"data": {"logs.jsonl": "ab" * 32}, "seed": 0, "queries": {"HQ": 7}, "calibration": {"ece": 0.0123456}},
    licences={"bundled": "CC0-1.0"},
)

NARROW = Linear("narrow")


def written(folder, scorer=NARROW):
    head = opinionated(scorer)
    export(folder, head, scorer, golden(HashingEncoder()), ORIGIN)
    return head


@pytest.fixture
def folder(tmp_path):
    written(tmp_path / "scorer")
    return tmp_path / "scorer"


def test_all_files_may_be_read_by_whom_the_others_may(folder):
    assert len({path.stat().st_mode for path in folder.iterdir()}) == 1


@pytest.mark.parametrize("scorer", [Linear(), Mlp(), Mlp("ask", 3, 0), Linear("act", without=("need", "called"))], ids=str)
def test_what_was_exported_scores_the_same_after_loading(tmp_path, scorer):
    head = written(tmp_path / "scorer", scorer)
    found = hindsight.load(str(tmp_path / "scorer"))
    features = drawn(head, 20)
    wanted = head.contributions(features)
    assert {name: part.tobytes() for name, part in found.contributions(features).items()} == {
        name: part.tobytes() for name, part in wanted.items()
    }
    assert found.columns == head.columns
    assert found.config.scorer == Choice.of(scorer)
    assert found.config.origin == ORIGIN
    total = sum(part.astype(np.float64) for part in wanted.values())
    np.testing.assert_allclose(found.probability(features), 1 / (1 + np.exp(-total)), rtol=1e-9, atol=1e-12)
    assert list(wanted)[-1] == BIAS


def test_the_same_head_gives_the_same_bytes_and_may_be_exported_again(folder, tmp_path):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert set(before) == {"scorer.safetensors", "config.json", "golden.json", "README.md"}
    written(folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_checkpoint_outlives_a_change_of_its_named_set(folder, monkeypatch):
    before = hindsight.load(folder).columns
    monkeypatch.setitem(matrix.SETS, "narrow", ("bm25", "cosine"))
    assert hindsight.load(folder).columns == before


def test_the_card_says_what_a_reader_asks(folder):
    card = (folder / "README.md").read_text()
    for said in (
        "## Licences",
        "CC0-1.0",
        "| calibration.ece | 0.01235 |",
        "abab",
        "gated (",
        "turns (",
        "hashing",
        "## Limits",
    ):
        assert said in card


def test_the_encoder_is_checked_apart(folder):
    found = hindsight.load(folder)
    check(HashingEncoder(), found.encoder_golden)
    with pytest.raises(DataError, match="dimension"):
        check(HashingEncoder(128), found.encoder_golden)


def changed(folder, name, *path, to):
    body = json.loads((folder / name).read_text())
    at = body
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = to
    (folder / name).write_text(json.dumps(body))


def test_a_missing_folder_and_missing_files(folder, tmp_path):
    with pytest.raises(DataError, match="no such folder"):
        hindsight.load(tmp_path / "nowhere")
    with pytest.raises(DataError, match="a file"):
        hindsight.load(folder / "config.json")
    for name in ("config.json", "golden.json", "scorer.safetensors"):
        torn = tmp_path / f"without {name}"
        shutil.copytree(folder, torn)
        (torn / name).unlink()
        with pytest.raises(DataError, match=f"no {name}"):
            hindsight.load(torn)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda f: (f / "config.json").write_text('{"model_type": "bert"}'), "faults, first format"),
        (lambda f: (f / "config.json").write_text('{"format": 1'), "whole JSON"),
        (lambda f: (f / "config.json").write_text("[]"), "not a JSON object"),
        (lambda f: (f / "config.json").write_bytes(b"\xff\xfe{"), "whole JSON"),
        (lambda f: changed(f, "config.json", "format", to=99), "format 99"),
        (lambda f: changed(f, "config.json", "scorer", "kind", to="forest"), "one of linear, mlp"),
        (lambda f: changed(f, "config.json", "scorer", "kind", to="mlp"), "those of mlp"),
        (lambda f: changed(f, "config.json", "scorer", "options", "depth", to=3), "those of linear"),
        (lambda f: changed(f, "config.json", "columns", 2, to="charisma"), "unknown features charisma"),
        (lambda f: changed(f, "config.json", "columns", 2, to="bm25"), "distinct features"),
        (lambda f: changed(f, "config.json", "columns", to=["bm25"]), "groups"),
        (lambda f: changed(f, "config.json", "columns", 0, to="coverage"), "columns other than"),
        (lambda f: changed(f, "golden.json", "scores", to=[]), "no scores"),
        (lambda f: changed(f, "golden.json", "scores", 1, "logits", 2, to=float("nan")), "nan away"),
        (lambda f: changed(f, "golden.json", "scores", 1, "features", 2, to=[1.0]), "another shape"),
        (lambda f: (f / "scorer.safetensors").write_bytes((f / "scorer.safetensors").read_bytes()[:-9]), "whole weights"),
        (lambda f: (f / "scorer.safetensors").write_bytes(b""), "whole weights"),
        (lambda f: (f / "scorer.safetensors").write_bytes(b"version https://git-lfs.github.com/spec/v1"), "whole weights"),
    ],
)
def test_a_foreign_or_torn_folder_is_refused(folder, change, said):
    change(folder)
    with pytest.raises(DataError, match=said):
        hindsight.load(folder)


@pytest.mark.parametrize("name", ["mean", "scale", "slope", "shift", "parts.0.straight.weight", "parts.1.straight.weight"])
@pytest.mark.parametrize("away", [1e-3, float("nan")])
def test_weights_that_moved_are_refused(folder, name, away):
    state = load_file(folder / "scorer.safetensors")
    state[name] = state[name] + away
    save_file(state, folder / "scorer.safetensors")
    with pytest.raises(DataError, match="weights or code have changed"):
        hindsight.load(folder)


def test_export_keeps_off_other_folders_and_bad_heads(tmp_path):
    (tmp_path / "README.md").write_text("somebody's own")
    with pytest.raises(DataError, match=r"README\.md of another kind"):
        written(tmp_path)
    (tmp_path / "notes").write_text("")
    with pytest.raises(DataError, match="a file"):
        written(tmp_path / "notes")
    head = copy.deepcopy(opinionated(Linear("narrow")))
    with torch.no_grad():
        head.parts[0].straight.weight[0, 0] = float("inf")
    with pytest.raises(DataError, match="not finite"):
        export(tmp_path / "bad", head, Linear("narrow"), golden(HashingEncoder()), ORIGIN)
    assert not (tmp_path / "bad" / "config.json").exists()


def test_an_export_that_was_cut_off_is_no_scorer_and_can_be_done_again(folder, monkeypatch):
    def full(path, text):
        raise OSError("no space left on device")

    with monkeypatch.context() as patch, pytest.raises(OSError, match="no space"):
        patch.setattr("hindsight.export.write_text", full)
        written(folder, Linear())
    with pytest.raises(DataError, match=r"no config\.json"):
        hindsight.load(folder)
    written(folder)
    assert hindsight.load(folder).regime == "ask"
