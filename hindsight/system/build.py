"""Systems by name: the one list of what an evaluation can hold against each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from hindsight.retrieval.candidates import Candidates
from hindsight.scorer.formula import CUES, PRIOR, ZSUM, Formula
from hindsight.system import baselines
from hindsight.system.baselines import Plain
from hindsight.system.bionic import BionicConfig
from hindsight.system.bounds import FullContext, Oracle
from hindsight.system.layered import LayeredConfig
from hindsight.system.lived import Lived
from hindsight.system.naive import Naive
from hindsight.system.past import Past
from hindsight.system.rag import Rag
from hindsight.system.reflective import ReflectiveConfig
from hindsight.system.reranked import Reranker, reranked
from hindsight.system.scheduler import SchedulerConfig
from hindsight.system.scored import Scored
from hindsight.system.utility import Utility
from hindsight.types import ConfigError, Scorer, System

_PLAIN: Mapping[str, Callable[[Past], Plain]] = {
    "recent": baselines.recent,
    "bm25": baselines.bm25,
    "dense": baselines.dense,
    "rrf": baselines.rrf,
}
_FIXED: Mapping[str, Formula] = {"zsum": ZSUM, "prior": PRIOR, "cues": CUES}
_OWN: Mapping[str, Callable[[Past], System]] = {"naive": Naive, "rag": Rag, "full_context": FullContext, "oracle": Oracle}
PolicyConfig = BionicConfig | ReflectiveConfig | SchedulerConfig | LayeredConfig
POLICIES: Mapping[str, type[PolicyConfig]] = {
    "bionic": BionicConfig,
    "reflective": ReflectiveConfig,
    "scheduler": SchedulerConfig,
    "layered": LayeredConfig,
}
RERANKED = ("lm_reranker", "cross_encoder")
CONTROLS = ("utility_hidden", "utility_shuffled", "utility_gold")
ALONE = {"utility_ask": "ask", "utility_act": "act"}  # one head of a switch for every query: what the switch is held against
RUNTIME = "runtime"  # the utility scorer as hindsight.open_memory serves it: with conflicts settled
TRAINED = ("utility", "default", *CONTROLS, *ALONE, RUNTIME)  # default: the checkpoint that comes with the package
NAMES = ("random", *_PLAIN, *_FIXED, "formula", *_OWN, *RERANKED, *POLICIES, *TRAINED)


def systems(
    names: Sequence[str],
    past: Past,
    candidates: Candidates,
    scorers: Mapping[str, Scorer] | None = None,
    threshold: float = 0.0,
    seed: int = 0,
    reranker: Reranker | None = None,
    policies: Mapping[str, PolicyConfig] | None = None,
) -> dict[str, System]:
    """In the order of ``names``. ``policies``: the numbers of the memory systems, their sources' where none are given. ``scorers``: for
    ``formula`` and the ``utility`` rows, which exist only with one; the ``utility`` rows' must be calibrated. ``threshold`` holds for
    ``utility`` rows. Raises ConfigError naming every wrong name."""
    scorers = scorers or {}
    unknown = [f"system {name!r}; known: {', '.join(NAMES)}" for name in names if name not in NAMES]
    lacking = [
        f"system {name!r} needs a scorer: train one, or give scorer.path="
        for name in names
        if name in ("formula", *TRAINED) and name not in scorers
    ]
    twice = [f"system {name!r} stands twice" for name in dict.fromkeys(names) if list(names).count(name) > 1]
    if unknown or lacking or twice:
        raise ConfigError([*unknown, *lacking, *twice])

    def made(name: str) -> System:
        if name == "random":
            return baselines.random(past, seed)
        if name in _PLAIN:
            return _PLAIN[name](past)
        if name in RERANKED:
            return reranked(name, past, reranker or Reranker())
        if name in _OWN:
            return _OWN[name](past)
        if name in POLICIES:
            return Lived(name, (policies or {}).get(name, POLICIES[name]()).build, past.encoder)
        if name == RUNTIME:
            policy = partial(Utility, scorer=scorers[name], threshold=threshold, candidates=candidates)
            return Lived(name, policy, past.encoder)
        if name in TRAINED:
            return Scored(name, scorers[name], past, candidates, calibrated=True, threshold=threshold)
        return Scored(name, _FIXED[name] if name in _FIXED else scorers[name], past, candidates)

    return {name: made(name) for name in names}
