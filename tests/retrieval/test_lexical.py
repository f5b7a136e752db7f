import bm25s
import numpy as np
import pytest

from hindsight.encoder.hashing import HashingEncoder
from hindsight.features.moment import Moment
from hindsight.features.timeline import Timeline
from hindsight.miner.turns import Turns
from hindsight.retrieval.lexical import Lexical
from hindsight.text import terms
from hindsight.types import Turn
from tests.system.stream import query, turns

ENCODER = HashingEncoder(16)


def past_of(stream) -> Timeline:
    past = Timeline(ENCODER)
    past.observe(stream, Turns().mine(stream, "u", ""))
    return past


@pytest.mark.parametrize("text", ["When is the piano lesson in Lisbon?", "museum museum zebra", "zebra", "?"])
def test_the_same_as_bm25s_on_words_and_as_the_feature(text):
    past = past_of(turns(80))
    words = tuple(dict.fromkeys(terms(text)))
    plain = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    plain.index([list(terms(m.text)) for m in past.memories], show_progress=False)
    known = [word for word in words if word in plain.vocab_dict]
    wanted = plain.get_scores(known) if known else np.zeros(80)
    found = Lexical().scores(past, words)
    assert np.allclose(found, wanted, atol=1e-6)
    feature = Moment(past, query(text, 80), np.arange(80)).bm25(words)
    assert np.allclose(feature, found * 2.2, atol=1e-5)  # Lucene leaves the constant factor k1 + 1 out


def test_it_grows_with_the_past():
    stream = turns(47)
    memories = Turns().mine(stream, "u", "")
    past, often = Timeline(ENCODER), Lexical()
    for turn, memory in zip(stream, memories):
        past.observe([turn], [memory])
        found = often.scores(past, ("piano", "lisbon"))
        assert np.array_equal(found, Lexical().scores(past, ("piano", "lisbon")))
    assert len(found) == 47 and (found > 0).any()


def test_a_past_without_words():
    past = past_of([Turn(0, "s", "?", "user", "!!!")])
    assert Lexical().scores(past, ("piano",)).tolist() == [0.0]
    assert Lexical().scores(Timeline(ENCODER), ("piano",)).tolist() == []
