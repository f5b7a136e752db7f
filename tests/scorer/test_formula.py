import numpy as np
import pytest

from hindsight.features import matrix
from hindsight.scorer.formula import PRIOR, SEARCHED, ZSUM, Formula, Judged, read_formula, search
from hindsight.types import ConfigError, DataError


def test_contributions_sum_to_the_weighted_sum_by_group():
    features = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
    parts = PRIOR.contributions(features)
    assert set(parts) == {"text relevance", "context", "bias"}
    assert np.allclose(sum(parts.values()), features @ np.array([1, 2, 1], np.float32), atol=1e-6)
    assert np.allclose(parts["context"], features[:, 2])
    assert all(matrix.GROUP_OF[name] == "text relevance" for name in ZSUM.columns)


def test_an_unknown_feature_is_refused():
    with pytest.raises(ConfigError, match="bm52"):
        Formula({"bm52": 1.0})


def test_written_and_read_back(tmp_path):
    PRIOR.write(tmp_path / "f.json")
    assert read_formula(tmp_path / "f.json") == PRIOR
    for text in ("[1]", '{"bm25": "x"}', "{", '{"bm25": true}'):
        (tmp_path / "f.json").write_text(text)
        with pytest.raises(DataError, match=r"f\.json"):
            read_formula(tmp_path / "f.json")


def judged(n: int, column: str, sign: float, seed: int = 0) -> list[Judged]:
    """Queries whose used memory is told by one column alone."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(n):
        features = rng.normal(size=(30, len(SEARCHED))).astype(np.float32)
        gain = np.zeros(30, np.float32)
        gain[np.argmax(sign * features[:, SEARCHED.index(column)])] = 1
        made.append(Judged(features, gain))
    return made


def test_search_finds_the_column_that_tells():
    found = search(judged(60, "age_log", -1), trials=200)
    assert found.weights["age_log"] < 0
    assert abs(found.weights["age_log"]) >= max(abs(w) for name, w in found.weights.items() if name != "age_log")
    assert found == search(judged(60, "age_log", -1), trials=200)


def test_search_is_never_below_prior_on_its_logs():
    assert search(judged(20, "maxsim_idf", 1), trials=1) == PRIOR


def test_search_wants_a_use():
    with pytest.raises(DataError, match="with a use"):
        search([Judged(np.zeros((3, len(SEARCHED)), np.float32), np.zeros(3, np.float32))])
