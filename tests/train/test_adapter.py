"""The adapter: what it is taught, that only its own layers change, and that the same seed gives the same bytes."""

import json
from dataclasses import replace

import numpy as np
import pytest

from hindsight.encoder import hf
from hindsight.encoder.cache import CacheConfig
from hindsight.encoder.hf import HfEncoderConfig
from hindsight.labeler.gated import Gated
from hindsight.miner.turns import Turns
from hindsight.train.adapter import NAMES, Adapt, Layers, batches_of, fit, lessons, lessons_of, shortened, size_of
from hindsight.train.learn import Encoding
from hindsight.types import ConfigError, DataError, Labelled, Mined, Query, Turn, Use

pytest.importorskip(hf.PACKAGE)

SMALL = Adapt(layers=1, rank=2, steps=3, batch=4, candidates=6, used=2, longest=24)
SAID = [
    "I keep two parrots in Lisbon.", "How lovely.", "My dentist moved the appointment.", "Noted.",
    "I bought a blue kayak from Marek.", "Enjoy the river.", "I keep one parrot only since May.", "I see.",
    "The boiler shows an error.", "Call the plumber.", "I like parrots and kayaks.", "Me too, I keep parrots in Porto.",
]  # fmt: skip


def stream(user="u"):
    roles = ("user", "assistant")
    turns = tuple(Turn(i, f"s{i // 4}", roles[i % 2], roles[i % 2], text) for i, text in enumerate(SAID))
    return Mined(user, turns, Turns().mine(turns, user, ""))


def labelled(mined, used=6, weight=1.0):
    query = Query("q", mined.user_id, "", "How many parrots do I keep?", len(SAID))
    return Labelled(query, (Use("q", mined.memories[used].memory_id, 1.0),), "HP", weight)


@pytest.fixture(scope="module")
def encoder():
    return HfEncoderConfig(max_length=24).build()


@pytest.fixture(scope="module")
def lesson(encoder):
    mined = stream()
    (found,) = lessons(mined, [labelled(mined)], encoder, replace(SMALL, candidates=5))
    return found


def test_a_lesson_holds_what_was_used_and_what_misleads(lesson):
    assert lesson.memories[0] == "User: I keep one parrot only since May." and lesson.target.tolist() == [1, 0, 0, 0, 0]
    assert "User: I keep two parrots in Lisbon." in lesson.memories  # the older value, in another session
    assert "Assistant: Me too, I keep parrots in Porto." in lesson.memories  # somebody else's
    assert len(set(lesson.memories)) == 5 and lesson.shares.sum() == pytest.approx(1)


def test_a_query_without_a_use_in_the_pool_teaches_nothing(encoder):
    mined = stream()
    early = replace(labelled(mined), query=replace(labelled(mined).query, asked_at=5))
    assert lessons(mined, [early], encoder, SMALL) == []


def test_an_untrained_adapter_gives_the_encoders_own_vectors(encoder):
    layers = Layers(encoder, SMALL)
    texts = [f"User: {text}" for text in SAID[:4]]
    layers.prepare(texts)
    found = layers.tokens(texts)
    for text, own in zip(texts, encoder.encode(texts)):
        near = (found[text].detach().numpy() * (own.tokens / 127)).sum(axis=1)
        assert near.shape == own.pieces.shape and near.min() > 0.99  # one is bfloat16, the other int8


def test_a_fit_teaches_and_a_seed_gives_the_same(encoder, lesson):
    def made(seed):
        layers = Layers(encoder, replace(SMALL, seed=seed, steps=12, learning_rate=5e-3))
        layers.prepare([lesson.query, *lesson.memories])
        return [loss for _, loss in fit(layers, [lesson], layers.config)], layers.changes()

    (losses, one), (_, two), (_, other) = made(0), made(0), made(1)
    assert losses[-1] < losses[0]
    assert set(one) == {name for name in one if name.startswith("encoder.layer.5.")} and len(one) == 6
    assert all(np.array_equal(one[name][side], two[name][side]) for name in one for side in (0, 1))
    assert any(not np.array_equal(one[name][0], other[name][0]) for name in one)
    assert size_of(one) == 2 * (4 * (384 + 384) + 2 * (384 + 1536))


def test_batches_are_drawn_by_weight_from_few_users(lesson):
    many = [replace(lesson, user_id=str(i), weight=float(i > 5)) for i in range(20)]
    for batch in batches_of(many, replace(SMALL, batch=8)):
        assert len(batch) == 8 and len({one.user_id for one in batch}) <= 4 and all(int(one.user_id) > 5 for one in batch)


def test_nothing_to_learn_and_wrong_settings_are_told(encoder):
    with pytest.raises(DataError, match="no training query"):
        next(fit(Layers(encoder, SMALL), [], SMALL))
    with pytest.raises(ConfigError) as error:
        Adapt(rank=0, candidates=6, used=6)
    assert len(error.value.problems) == 2
    with pytest.raises(ConfigError, match="of more layers"):
        Layers(encoder, replace(SMALL, layers=6))


def test_names_stand_for_roles_and_long_turns_are_cut():
    found = shortened(stream(), ("Maya", "Omar"), Turns(), replace(SMALL, turns=7, longest=6))
    assert found.memories[0].text == "Maya: I keep two parrots" and found.memories[1].speaker == "Omar"
    assert len(found.turns) == 7 and len(set(NAMES)) == len(NAMES)
    assert shortened(stream(), (), Turns(), SMALL).memories == stream().memories


def test_each_log_weighs_the_same(tmp_path):
    encoding = Encoding(HfEncoderConfig(max_length=24), CacheConfig(""))
    found = lessons_of([[stream("a"), stream("b")], [stream("c")]], Turns(), Gated(least_pool=4), encoding, SMALL)
    weights = {user: sum(one.weight for one in found if one.user_id == user) for user in "abc"}
    assert weights["a"] + weights["b"] == pytest.approx(1) == weights["c"]
    assert any("Assistant" not in text for one in found if one.user_id == "b" for text in one.memories)


def test_the_stage_writes_what_the_encoder_reads(tmp_path):
    from hindsight.cli import main

    log = tmp_path / "log.jsonl"
    turns = [{"role": ("user", "assistant")[i % 2], "text": f"{text} {i}"} for i, text in enumerate(SAID * 3)]
    log.write_text("".join(json.dumps({"dialogue_id": u, "user_id": u, "turns": turns}) + "\n" for u in "ab"))
    common = [f"run.folder={tmp_path}/runs", "run.jobs=1", "cache.folder=", "encoder.max_length=24", "labeler.least_pool=4"]
    small = ["adapt.layers=1", "adapt.rank=2", "adapt.steps=2", "adapt.batch=4", "adapt.candidates=6", "adapt.used=2"]
    assert main(["mine", f"logs.path={log}", *common]) == 0
    assert main(["adapt", *common, *small]) == 0
    out = tmp_path / "runs/adapt/default"
    first = (out / "adapter.safetensors").read_bytes()
    assert main(["adapt", *common, *small]) == 0 and (out / "adapter.safetensors").read_bytes() == first
    plain, adapted = HfEncoderConfig(max_length=24).build(), HfEncoderConfig(max_length=24, adapter=str(out)).build()
    assert adapted.fingerprint.startswith(plain.fingerprint + " adapter=")
    assert np.abs(adapted.encode(SAID[:1])[0].pooled - plain.encode(SAID[:1])[0].pooled).max() > 0
    golden = json.loads((out / "golden.json").read_text())
    golden["pooled"][0] = golden["pooled"][1]
    (out / "golden.json").write_text(json.dumps(golden))
    with pytest.raises(DataError, match="cosine"):
        HfEncoderConfig(max_length=24, adapter=str(out)).build().encode(["hi"])
    (out / "adapter.safetensors").write_bytes(first[:-1] + b"\0")
    with pytest.raises(DataError, match="sha256"):
        HfEncoderConfig(adapter=str(out)).build()
    assert main(["adapt", *common, f"encoder.adapter={out}"]) == 2
