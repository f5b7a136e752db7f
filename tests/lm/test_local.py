import numpy as np
import pytest

from hindsight.lm import local
from hindsight.lm.local import LocalLm, Tree
from hindsight.types import ConfigError, DataError
from tests.lm.models import tiny

PREFIX, TARGET = "User: hello\nAssistant: hi there\n", " a red kite"
MIDDLES = [
    "Me:",
    "(Ann: I fly a red kite)\nMe:",
    "(Bo: né)\nMe:",
    "(Ann: I fly a red kite)\n(Bo: né)\nMe:",
    "(Ann: 我)\nMe:",
]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    kinds = ("llama", "gemma3", "gemma2", "gpt2", "mamba")
    return {kind: tiny(tmp_path_factory.mktemp(kind), kind) for kind in kinds}


def totals(found):
    return [one.total for one in found]


def built(folder, dtype="float32"):
    return LocalLm(folder, dtype).build()


@pytest.mark.parametrize("kind", ["llama", "gemma3", "gpt2"])
def test_a_tree_of_prompts_gives_what_each_full_prompt_gives(folders, kind, capsys):
    model = built(folders[kind])
    fast, plain = (model.likelihoods(PREFIX, MIDDLES, TARGET, naive) for naive in (False, True))
    assert totals(fast) == pytest.approx(totals(plain), abs=1e-4)
    assert np.ptp(totals(plain)) > 1e-2  # the middle matters
    assert {one.tokens for one in fast} == {len(TARGET)}
    assert model._packs and capsys.readouterr().err == ""


@pytest.mark.parametrize("kind", ["gemma2", "mamba"])
def test_a_model_that_does_more_is_read_a_prompt_at_a_time_and_says_so(folders, kind, capsys):
    """Gemma 2 caps its logits, Mamba keeps a state in the place of attention."""
    model = built(folders[kind])
    assert totals(model.likelihoods(PREFIX, MIDDLES, TARGET)) == totals(
        model.likelihoods(PREFIX, MIDDLES, TARGET, naive=True)
    )
    assert "a prompt at a time" in capsys.readouterr().err


def test_order_company_and_repetition_change_nothing(folders):
    model = built(folders["llama"])
    together = dict(zip(MIDDLES, totals(model.likelihoods(PREFIX, MIDDLES, TARGET))))
    for middle in MIDDLES:
        alone, again = totals(model.likelihoods(PREFIX, [middle, middle], TARGET))
        assert alone == again == pytest.approx(together[middle], abs=1e-4)
    turned = MIDDLES[::-1]
    assert totals(model.likelihoods(PREFIX, turned, TARGET)) == pytest.approx([together[m] for m in turned], abs=1e-4)


def test_the_probabilities_of_all_continuations_sum_to_one(folders):
    model = built(folders["llama"])
    letters = [chr(code) for code in range(33, 127)]
    total = sum(np.exp(model.likelihoods("a", ["b"], letter)[0].total) for letter in letters)
    assert 0 < total < 1
    one, two = model.likelihoods("a", ["b"], "cd")[0].total, model.likelihoods("a", ["b"], "c")[0].total
    assert one - two == pytest.approx(model.likelihoods("a", ["bc"], "d")[0].total, abs=1e-4)  # the chain rule


def test_long_texts_lose_the_prefix_start_and_the_target_end(folders):
    model = built(folders["llama"])
    tail = "x" * local.PREFIX_TOKENS
    assert model.likelihoods("far " + tail, ["b"], "c") == model.likelihoods("near" + tail, ["b"], "c")
    cut = model.likelihoods("a", ["b"], "c" * 500)
    assert cut[0].tokens == local.TARGET_TOKENS and cut == model.likelihoods("a", ["b"], "c" * 400)


def test_a_window_that_slides_is_kept_to(tmp_path):
    model = built(tiny(tmp_path, "gemma3", window=64))
    for prefix in ("x" * 20, "x" * 100):
        fast, plain = (model.likelihoods(prefix, ["abc", "abd"], "de", naive) for naive in (False, True))
        assert totals(fast) == pytest.approx(totals(plain), abs=1e-4)


def test_bfloat16_is_near_and_half_characters_are_read(folders):
    rough = built(folders["llama"], "bfloat16").likelihoods(PREFIX, MIDDLES, TARGET)
    assert totals(rough) == pytest.approx(totals(built(folders["llama"]).likelihoods(PREFIX, MIDDLES, TARGET)), abs=2)
    assert built(folders["llama"]).likelihoods("\ud800", ["a"], "b")[0].tokens == 1


def test_what_cannot_be_scored_is_refused(folders, tmp_path):
    model = built(folders["llama"])
    for middles, target in ((["a"], ""), ([""], "b")):
        with pytest.raises(DataError, match="a text to be scored"):
            model.likelihoods("x", middles, target)
    with pytest.raises(DataError, match="a prompt of 3003 tokens; wanted at most 2048"):
        model.likelihoods("", ["a" * 3000], "bc")
    with pytest.raises(ConfigError, match="float16"):
        LocalLm(folders["llama"], "float16").build()  # pyright: ignore[reportArgumentType]
    with pytest.raises(DataError, match="no such file"):
        built("nowhere.gguf")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"no \*\.safetensors"):
        built(str(tmp_path / "empty"))
    with pytest.raises(DataError, match="a hub id while the hub is reachable"):
        built("nobody/nothing")
    (tmp_path / "torn.gguf").write_bytes(b"GGUF?")
    with pytest.raises(DataError, match=r"that transformers can load|no package gguf"):
        built(str(tmp_path / "torn.gguf")).likelihoods("a", ["b"], "c")


def test_the_fingerprint_follows_weights_and_dtype(folders, tmp_path):
    one = built(folders["llama"]).fingerprint
    assert one == built(folders["llama"]).fingerprint
    assert len({one, built(folders["llama"], "bfloat16").fingerprint, built(tiny(tmp_path, seed=1)).fingerprint}) == 3


def test_a_tree_holds_each_shared_beginning_once():
    tree = Tree.of([[1, 2, 3], [1, 2, 4, 5], [6], [1, 2, 3], [1, 2]])
    assert tree.ids == [1, 2, 3, 4, 5, 6] and tree.depths == [0, 1, 2, 2, 3, 0]
    assert tree.paths == [[0, 1, 2], [0, 1, 3, 4], [5], [0, 1, 2], [0, 1]]
    for path in tree.paths:
        assert np.flatnonzero(tree.sees()[path[-1]]).tolist() == path
    assert tree.blocks() == [(0, 6)]  # nothing is shared by all


def test_branches_stand_together_behind_what_all_share():
    tree = Tree.of([[1, 2, 9, 3], [1, 2, 7, 8], [1, 2, 9, 4], [1, 2, 7]])
    assert tree.ids == [1, 2, 7, 8, 9, 3, 4] and tree.blocks() == [(0, 2), (2, 4), (4, 7)]
    sees = tree.sees()
    for first, last in tree.blocks()[1:]:
        others = np.r_[2:first, last:7]
        assert sees[first:last, :2].all() and not sees[first:last][:, others].any()
    assert Tree.of([[1, 2]]).blocks() == [(0, 2)]
    assert Tree.of([[1, 2], [1, 2, 3]]).blocks() == [(0, 2), (2, 3)]
