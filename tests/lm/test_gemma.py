"""The real model, from its PyPI package: `make test-lm`."""

import pytest

from hindsight.labeler.lm_gain import gains
from hindsight.lm import local
from hindsight.lm.cache import CachedLm
from hindsight.lm.local import LocalLm

pytestmark = [
    pytest.mark.lm,
    pytest.mark.skipif(
        not all(map(local.importlib.util.find_spec, (local.PACKAGE, "gguf"))),
        reason="needs `pip install hindsight-scorer[lm]`",
    ),
]
BEFORE = "Ann: I am going to see my sister in Lisbon next week.\nBo: How nice! What will you bring her?\n"
MEMORIES = [
    "(Ann: My sister keeps two parrots.)\n",
    "(Ann: The dentist moved my appointment.)\n",
    "(Bo: Parrots are loud.)\n",
]
TARGET = "Some seeds for her parrots."


@pytest.fixture(scope="module")
def gemma():
    return LocalLm(dtype="float32").build()


def test_the_tree_gives_what_full_prompts_give(gemma):
    middles = ["".join(MEMORIES[:n]) + "Ann:" for n in range(4)] + [f"{MEMORIES[2]}Ann:"]
    fast, plain = (gemma.likelihoods(BEFORE, middles, f" {TARGET}", naive) for naive in (False, True))
    assert [one.total for one in fast] == pytest.approx([one.total for one in plain], abs=2e-3)
    assert gemma._packs


def test_the_memory_that_the_later_turn_draws_on_gains_most(gemma):
    first, last, without = gains(CachedLm(gemma, None), BEFORE, MEMORIES, 3, "Ann:", TARGET)
    assert first[0] == max(first) > 2 and first[1] < first[2]
    assert last[0] < first[0] and last[2] < first[2]  # with both shown, each says a part of the other
    _, last, _ = gains(CachedLm(gemma, None), BEFORE, [*MEMORIES[:2], "(Bo: It rained all day.)\n"], 3, "Ann:", TARGET)
    assert last[0] == max(last) > 2
    assert without.tokens < 10 and -60 < without.total < -10
