"""What each question's prompt may hold: the real system's hits at the question's moment, each with its calibrated utility."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hindsight.crossfit import Recipe
from hindsight.retrieval.candidates import CandidatesConfig
from hindsight.system.build import systems
from hindsight.system.past import Past
from hindsight.system.reranked import Reranker
from hindsight.system.scored import Scored
from hindsight.train.learn import built
from hindsight.types import Case, Keeps, Memory, Scorer


@dataclass(frozen=True)
class Recalled:
    """The best of one question's memories, best first, with the probability that each is of use."""

    memories: tuple[Memory, ...]
    utilities: tuple[float, ...]


def recall_user(recipe: Recipe, scorer: Scorer, candidates: int, k: int, cases: Sequence[Case]) -> list[Recalled]:
    """Of one user's questions, in stream order: each sees the turns before its own moment."""
    past = Past(recipe.miner, built(recipe.encoding))
    system = Scored("utility", scorer, past, CandidatesConfig(candidates).build(), calibrated=True)
    found: list[Recalled] = []
    told = 0
    for case in cases:
        if len(case.turns) > told:
            system.observe(case.query.user_id, tuple(case.turns[told:]))
            told = len(case.turns)
        hits = system.recall(case.query, k)
        known = {memory.memory_id: memory for memory in past.memories(case.query)}
        found.append(Recalled(tuple(known[hit.memory_id] for hit in hits), tuple(float(hit.utility or 0.0) for hit in hits)))
    return found


WHOLE = (
    "none",
    "full_context",
    "oracle",
)  # beside the systems: nothing, every memory of the past, the memories of the evidence


def recall_each(
    recipe: Recipe,
    names: Sequence[str],
    scorers: Mapping[str, Scorer],
    candidates: int,
    k: int,
    reranker: Reranker,
    cases: Sequence[Case],
) -> list[dict[str, Recalled]]:
    """The same of several systems by name, for one user's questions in stream order. A system that has no utility has zeros."""
    past = Past(recipe.miner, built(recipe.encoding))
    plain = [name for name in names if name not in WHOLE]
    known = {name: one for name, one in scorers.items() if name in plain}
    asked = systems(plain, past, CandidatesConfig(candidates).build(), known, reranker=reranker)
    found: list[dict[str, Recalled]] = []
    told = 0
    for case in cases:
        new, told = tuple(case.turns[told:]), len(case.turns)
        for system in asked.values():
            system.observe(case.query.user_id, new)
        past.observe(case.query.user_id, new)
        pool = past.memories(case.query)
        by_id, relevant = {memory.memory_id: memory for memory in pool}, set(case.relevant)
        gold = [memory for memory in pool if relevant.intersection(memory.sources)]
        own = {"none": Recalled((), ()), "full_context": _all(pool), "oracle": _all(gold)}
        for name, system in asked.items():
            hits = system.recall(case.query, k)
            memories = (
                system.memories(case.query, hits) if isinstance(system, Keeps) else [by_id[hit.memory_id] for hit in hits]
            )
            own[name] = Recalled(tuple(memories), tuple(float(hit.utility or 0.0) for hit in hits))
        found.append({name: own[name] for name in names})
    return found


def _all(memories: Sequence[Memory]) -> Recalled:
    return Recalled(tuple(memories), (0.0,) * len(memories))
