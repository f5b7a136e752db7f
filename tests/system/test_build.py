import pytest

from hindsight.encoder.hashing import HashingEncoder
from hindsight.miner.turns import Turns
from hindsight.retrieval.candidates import CandidatesConfig
from hindsight.scorer.formula import Formula
from hindsight.scorer.linear import Linear
from hindsight.system.build import NAMES, RERANKED, TRAINED, systems
from hindsight.system.past import Past
from hindsight.types import ConfigError, Keeps
from tests.system.stream import query, turns


def past_of(stream) -> Past:
    past = Past(Turns(), HashingEncoder(16))
    past.observe("u", stream)
    return past


def test_every_name_builds_and_all_rank_the_same_pool():
    past = past_of(turns(40))
    scorers = {name: Linear("ask").build() for name in TRAINED} | {"formula": Formula({"age_log": -1.0})}
    names = [name for name in NAMES if name not in RERANKED]  # these need a model
    made = systems(names, past, CandidatesConfig().build(), scorers)
    assert list(made) == names
    shared = {name: system for name, system in made.items() if not isinstance(system, Keeps)}
    assert set(made) - set(shared) == {"rag", "full_context", "bionic", "reflective", "scheduler", "layered", "runtime"}
    pools = {frozenset(hit.memory_id for hit in system.recall(query("tea?", 40), 99)) for system in shared.values()}
    assert len(pools) == 1 and len(next(iter(pools))) == 40


def test_all_problems_at_once():
    with pytest.raises(ConfigError) as raised:
        systems(["bm52", "utility", "prior", "prior"], past_of([]), CandidatesConfig().build())
    assert len(raised.value.problems) == 3
