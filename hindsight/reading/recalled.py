"""What each question's prompt may hold: the real system's hits at the question's moment, each with its calibrated utility."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hindsight.crossfit import Recipe
from hindsight.retrieval.candidates import CandidatesConfig
from hindsight.system.past import Past
from hindsight.system.scored import Scored
from hindsight.train.learn import built
from hindsight.types import Case, Memory, Scorer


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
