"""Asks systems a suite's questions: turns go in before each question, hits come out, gold is looked at afterwards.

Users are independent, so they are asked in parallel; each process builds its own encoder and systems.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from hindsight.features.replay import pool
from hindsight.measure.ranking import measure, parse
from hindsight.miner.wording import clip
from hindsight.retrieval.candidates import CandidatesConfig
from hindsight.system import external
from hindsight.system.build import TRAINED, systems
from hindsight.system.past import Past
from hindsight.train.learn import Encoding, built
from hindsight.types import Case, Hit, Miner, Scorer, System, Turn

# system name -> seed -> the scorer to use for this user
Scorers = Mapping[str, Mapping[int, Scorer]]
LOST = "its evidence is no memory in the pool"
Runs = dict[str, dict[str, dict[str, float]]]  # system -> query -> memory -> score


@dataclass(frozen=True)
class Ask:
    """What is asked of whom: the same for all users. ``run`` and ``path``: other people's systems."""

    names: tuple[str, ...]
    measures: tuple[str, ...]
    miner: Miner
    encoding: Encoding
    candidates: CandidatesConfig = field(default_factory=CandidatesConfig)
    k: int = 20
    run: str = ""
    path: str = ""


@dataclass
class Answers:
    """``rows``: one a question, system and seed, as measure/table.py wants them. ``lost``: reason -> questions without gold
    among the memories."""

    rows: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    runs: Runs = field(default_factory=dict[str, dict[str, dict[str, float]]])
    qrels: dict[str, dict[str, int]] = field(default_factory=dict[str, dict[str, int]])
    lost: dict[str, int] = field(default_factory=dict[str, int])

    def add(self, other: Answers) -> None:
        self.rows += other.rows
        self.qrels |= other.qrels
        for system, queries in other.runs.items():
            self.runs.setdefault(system, {}).update(queries)
        for reason, count in other.lost.items():
            self.lost[reason] = self.lost.get(reason, 0) + count


def users_of(cases: Sequence[Case]) -> list[list[Case]]:
    """Cases by user, in the order given; a suite gives each user's together."""
    return [list(group) for _, group in groupby(cases, key=lambda case: case.query.user_id)]


def ask_user(ask: Ask, work: tuple[Sequence[Case], Scorers]) -> Answers:
    """All questions of one user to all systems and seeds."""
    cases, scorers = work
    past = Past(ask.miner, built(ask.encoding))
    past.encoder.encode([line for case in cases for line in case.query.text.split("\n")])
    asked = _systems(ask, past, scorers)
    answers, told = Answers(), 0
    wanted = parse(ask.measures)
    for case in cases:
        new, told = case.turns[told:], len(case.turns)
        relevant = _relevant(past, case, new)
        if not relevant:
            answers.lost[LOST] = answers.lost.get(LOST, 0) + 1
            for _, _, system in asked:
                system.observe(case.query.user_id, new)
            continue
        answers.qrels[case.query.query_id] = dict.fromkeys(relevant, 1)
        size = len(pool(past.at(case.query), case.query))
        for name, seed, system in asked:
            system.observe(case.query.user_id, new)
            began = time.perf_counter()
            hits = system.recall(case.query, ask.k)
            spent = (time.perf_counter() - began) * 1000
            ranking = [hit.memory_id for hit in hits]
            answers.rows.append(
                {
                    "query_id": case.query.query_id,
                    "user_id": case.query.user_id,
                    "kind": case.kind,
                    "system": name,
                    "seed": seed,
                    "text": clip(case.query.text, 60),
                    **measure(wanted, ranking, dict.fromkeys(relevant, 1)),
                    "ms": spent,
                    "pool": size,
                }
            )
            if seed == 0:
                answers.runs.setdefault(name, {})[case.query.query_id] = _scores(hits)
    return answers


def _scores(hits: Sequence[Hit]) -> dict[str, float]:
    return {hit.memory_id: hit.score for hit in hits}


def _relevant(past: Past, case: Case, new: Sequence[Turn]) -> list[str]:
    """Ids of the memories in the pool that record an evidence turn."""
    past.observe(case.query.user_id, new)
    wanted = set(case.relevant)
    return [memory.memory_id for memory in past.memories(case.query) if wanted.intersection(memory.sources)]


def _systems(ask: Ask, past: Past, scorers: Scorers) -> list[tuple[str, int, System]]:
    """(name, seed, system). Untrained ones have seed 0 alone."""
    found: list[tuple[str, int, System]] = []
    candidates = ask.candidates.build()
    plain = [name for name in ask.names if name not in TRAINED]
    fixed = {name: by_seed[0] for name, by_seed in scorers.items() if name in plain}
    found += [(name, 0, system) for name, system in systems(plain, past, candidates, fixed).items()]
    for name in ask.names:
        if name in TRAINED:
            for seed, scorer in scorers[name].items():
                found += [(name, seed, system) for system in systems([name], past, candidates, {name: scorer}).values()]
    if ask.run:
        found.append((Path(ask.run).stem, 0, external.run(Path(ask.run), past)))
    if ask.path:
        found.append((ask.path.rpartition(":")[2], 0, external.load(ask.path, past)))
    return found
