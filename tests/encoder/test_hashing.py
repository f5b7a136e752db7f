import numpy as np
import pytest

from hindsight.encoder.hashing import HashingEncoder
from hindsight.types import ConfigError


def test_same_words_same_vectors_and_other_words_far():
    near, same, far = HashingEncoder(256).encode(["red bicycles", "Red bicycle!", "quarterly tax"])
    assert near.pooled @ same.pooled == pytest.approx(1)
    assert abs(near.pooled @ far.pooled) < 0.3
    assert np.array_equal(near.pieces, same.pieces) and not set(near.pieces) & set(far.pieces)


def test_golden_so_that_no_version_or_process_moves_it():
    (found,) = HashingEncoder(8).encode(["bicycle"])
    assert found.pieces.tolist() == [1793408188]
    assert found.tokens.tolist() == [[-45, -45, 45, -45, 45, 45, 45, 45]]


@pytest.mark.parametrize("text", ["", "the of and", "🙂"])
def test_no_words_is_zeros(text: str):
    (found,) = HashingEncoder().encode([text])
    assert found.pooled.shape == (64,) and not found.pooled.any()
    assert found.tokens.shape == (0, 64) and found.pieces.shape == (0,)


def test_chinese_has_tokens():
    one, two = HashingEncoder().encode(["下周去北京", "我在北京"])
    assert set(one.pieces) & set(two.pieces)


@pytest.mark.parametrize("dimension", [0, 12, 520])
def test_dimension_is_checked(dimension: int):
    with pytest.raises(ConfigError, match=f"encoder.dimension={dimension}"):
        HashingEncoder(dimension)
