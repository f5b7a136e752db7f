import math

import numpy as np
import pytest

from hindsight.encoder.hashing import HashingEncoder
from hindsight.miner.turns import Turns
from hindsight.retrieval.candidates import CandidatesConfig
from hindsight.scorer.formula import PRIOR
from hindsight.scorer.linear import Linear
from hindsight.system.past import Past
from hindsight.system.scored import Scored
from hindsight.types import ConfigError, Turn
from tests.system.stream import query, turns

ENCODER = HashingEncoder(64)
WHOLE = CandidatesConfig().build()


def past_of(stream) -> Past:
    past = Past(Turns(), ENCODER)
    past.observe("u", stream)
    return past


def trained():
    head = Linear("ask").build()
    rng = np.random.default_rng(0)
    for parameter in head.parameters():
        parameter.data.copy_(parameter.data.new_tensor(rng.normal(size=tuple(parameter.shape))))
    head.calibrate(0.3, -2.0)
    return head.eval()


def test_why_sums_to_the_score_and_utility_is_its_probability():
    system = Scored("utility", trained(), past_of(turns(60)), WHOLE, calibrated=True)
    hits = system.recall(query("Where is the Lisbon museum?", 60), 20)
    assert len(hits) == 20
    for hit in hits:
        assert sum(hit.why.values()) == hit.score
        assert hit.utility == pytest.approx(1 / (1 + math.exp(-hit.score)))
        assert -1 <= hit.similarity <= 1 + 1e-6
    assert hits == sorted(hits, key=lambda hit: (-hit.score, hit.memory_id))


def test_threshold_drops_what_is_unlikely_to_be_used():
    past = past_of(turns(60))
    asked = query("Where is the Lisbon museum?", 60)
    hits = Scored("utility", trained(), past, WHOLE, calibrated=True).recall(asked, 60)
    middle = sorted(hit.utility for hit in hits)[30]
    kept = Scored("utility", trained(), past, WHOLE, calibrated=True, threshold=middle).recall(asked, 60)
    assert kept == [hit for hit in hits if hit.utility >= middle] and 0 < len(kept) < len(hits)


def test_a_formula_has_no_utility_and_no_threshold():
    hits = Scored("prior", PRIOR, past_of(turns(30)), WHOLE).recall(query("museum", 30), 3)
    assert all(hit.utility is None and set(hit.why) == {"text relevance", "context", "bias"} for hit in hits)
    with pytest.raises(ConfigError, match="no utility"):
        Scored("prior", PRIOR, past_of(turns(30)), WHOLE, threshold=0.5)


def test_equal_memories_are_ordered_by_id():
    past = past_of([Turn(i, f"s{i}", "user", "user", "the same words") for i in range(12)])
    hits = Scored("prior", PRIOR, past, WHOLE).recall(query("words", 12), 12)
    assert len({hit.score for hit in hits}) == 1
    assert [hit.memory_id for hit in hits] == sorted(hit.memory_id for hit in hits)


def test_what_comes_later_or_belongs_to_others_never_matters():
    asked = query("Where is the Lisbon museum?", 30)
    alone = Scored("utility", trained(), past_of(turns(30)), WHOLE, calibrated=True).recall(asked, 10)
    past = past_of(turns(30))
    past.observe("u", [Turn(i, "s99", "user", "user", f"Lisbon museum {i}") for i in range(30, 60)])
    past.observe("v", turns(50, seed=3))
    assert Scored("utility", trained(), past, WHOLE, calibrated=True).recall(asked, 10) == alone


def test_an_empty_past_and_k_above_the_pool():
    assert Scored("prior", PRIOR, Past(Turns(), ENCODER), WHOLE).recall(query("tea", 0), 5) == []
    assert len(Scored("prior", PRIOR, past_of(turns(4)), WHOLE).recall(query("tea", 4), 50)) == 4
