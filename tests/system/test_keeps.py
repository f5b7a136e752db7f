"""Systems with memories of their own: rag, full_context, and the policies over a store in memory."""

import math

import pytest

from hindsight.encoder.hashing import HashingEncoder
from hindsight.memory.store import open_store
from hindsight.miner.turns import Turns
from hindsight.retrieval.candidates import CandidatesConfig
from hindsight.scorer.linear import Linear
from hindsight.system.bounds import FullContext, Oracle
from hindsight.system.build import systems
from hindsight.system.naive import Naive
from hindsight.system.past import Past
from hindsight.system.rag import Rag, chunked
from hindsight.types import DataError, Turn
from tests.scorer.test_head import opinionated
from tests.system.stream import query, turns

POLICIES = ("bionic", "reflective", "scheduler", "layered", "runtime")


def past_of(stream=()) -> Past:
    past = Past(Turns(), HashingEncoder(16))
    past.observe("u", stream)
    return past


def made(names, past=None):
    scorers = {"runtime": opinionated(Linear("ask")), "utility": opinionated(Linear("ask"))}
    return systems(names, past or past_of(), CandidatesConfig().build(), scorers)


def test_chunks_hold_every_line_once_and_no_more_tokens_than_they_may():
    past = past_of(turns(80))
    lines = past.memories(query("tea?", 80))
    found = [chunk for chunk, _ in chunked(lines, past.encoder, 40)]
    assert [at for chunk in found for at in chunk.sources] == [at for line in lines for at in line.sources]
    sizes = [sum(max(1, len(one.pieces)) for one in past.encoder.encode(chunk.text.split("\n"))) for chunk in found]
    assert max(sizes) <= 40 and len(found) > 3
    assert all(abs(float((vector**2).sum()) - 1) < 1e-5 for _, vector in chunked(lines, past.encoder, 40))


def test_a_closed_chunk_stays_as_it_is_when_more_is_said():
    past = past_of(turns(80))
    early = [chunk.memory_id for chunk, _ in chunked(past.memories(query("tea?", 40)), past.encoder, 40)]
    late = [chunk.memory_id for chunk, _ in chunked(past.memories(query("tea?", 80)), past.encoder, 40)]
    assert early[:-1] == late[: len(early) - 1]


def test_a_line_that_is_longer_than_a_chunk_is_one():
    past = past_of([Turn(0, "s", "user", "user", "word " * 300), Turn(1, "s", "user", "user", "short")])
    assert [chunk.sources for chunk, _ in chunked(past.memories(query("x", 2)), past.encoder, 40)] == [(0,), (1,)]


def test_rag_and_full_context_hold_nothing_from_the_query_on():
    past = past_of(turns(60))
    for system in (Rag(past, 40), FullContext(past)):
        asked = query("tea?", 30)
        hits = system.recall(asked, 99)
        sources = sorted({at for memory in system.memories(asked, hits) for at in memory.sources})
        assert sources == list(range(30))


def test_naive_ranks_what_was_said_by_cosine():
    past = past_of(turns(60))
    system = Naive(past)
    late = system.recall(query("green tea", 60), 99)
    early = system.recall(query("green tea", 30), 99)  # the index has more than the pool by now
    assert len(late) == 60 and len(early) == 30
    known = {memory.memory_id: memory for memory in past.memories(query("x", 60))}
    encoder = past.encoder
    wanted = encoder.encode(["green tea"])[0].pooled
    for hit in late:
        own = encoder.encode([known[hit.memory_id].text.partition(": ")[2]])[0].pooled
        assert math.isclose(hit.score, float(own @ wanted), abs_tol=1e-5)
    assert [hit.score for hit in late] == sorted((hit.score for hit in late), reverse=True)
    assert all(known[hit.memory_id].sources[0] < 30 for hit in early)


def test_the_oracle_knows_only_what_it_was_told():
    past = past_of(turns(20))
    system = Oracle(past)
    newest = [memory.memory_id for memory in reversed(past.memories(query("x", 20)))]
    assert [hit.memory_id for hit in system.recall(query("x", 20), 5)] == newest[:5]
    system.gold[query("x", 20).query_id] = [newest[11]]
    assert system.recall(query("x", 20), 5)[0].memory_id == newest[11]


@pytest.mark.parametrize("name", POLICIES)
def test_a_policy_recalls_from_before_the_query_and_says_why(name):
    system = made([name])[name]
    stream = turns(60)
    system.observe("u", stream[:40])
    asked = query("How is the green tea?", 40)
    hits = system.recall(asked, 5)
    assert hits and len(hits) <= 5
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    for hit, memory in zip(hits, system.memories(asked, hits)):
        assert max(memory.sources) < 40
        assert memory.user_id == "u"
        assert math.isclose(sum(hit.why.values()), hit.score, abs_tol=1e-5)


@pytest.mark.parametrize("name", POLICIES)
def test_a_moment_that_is_past_is_refused(name):
    """What was said since has changed what is known: a recall of before would see the future."""
    system = made([name])[name]
    system.observe("u", turns(60))
    for at in (40, 59):
        with pytest.raises(DataError, match="after the last event"):
            system.recall(query("How is the green tea?", at), 5)
    assert system.recall(query("How is the green tea?", 60), 5)


@pytest.mark.parametrize("name", POLICIES)
def test_users_of_one_instance_are_apart(name):
    alone, shared = made([name])[name], made([name])[name]
    mine = turns(40)
    theirs = [Turn(t.position, t.session, t.speaker, t.role, f"secret {t.text}") for t in turns(40, seed=1)]
    alone.observe("u", mine)
    for place in range(0, 40, 8):  # in turn
        shared.observe("u", mine[place : place + 8])
        shared.observe("v", theirs[place : place + 8])
    asked = query("How is the green tea?", 40)
    one, other = alone.recall(asked, 9), shared.recall(asked, 9)
    assert [hit.memory_id for hit in one] == [hit.memory_id for hit in other]
    assert all("secret" not in memory.text for memory in shared.memories(asked, other))


def test_the_runtime_ranks_as_the_scorer_does_where_nothing_was_superseded():
    """Through the store, the view and the timeline: the same scores as the system that evaluations use."""
    stream = turns(60)
    both = made(["utility", "runtime"], past_of(stream))
    both["runtime"].observe("u", stream)
    left, right = (both[name].recall(query("How is the green tea?", 60), 20) for name in ("utility", "runtime"))
    assert [(hit.memory_id, round(hit.score, 5)) for hit in left] == [(hit.memory_id, round(hit.score, 5)) for hit in right]


def test_a_store_in_memory_is_a_store():
    with open_store(":memory:") as store:
        assert store.user("u").records() == []
