"""Asks systems a suite's questions: turns go in before each question, hits come out, gold is looked at afterwards.

Users are independent, so they are asked in parallel; each process builds its own encoder and systems.

``ms`` is the wall time of one ``recall``: from a query, whose vectors are known, to its hits. What grows with the log is brought
to the moment before any clock runs: the shared past, the index of candidates, the plain systems' BM25. So no system pays for
another, and what it costs to take turns in is not in it (bench/ measures that). A system of the user's is timed as it is.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from hindsight.encoder.sizes import tokens_of
from hindsight.features.timeline import Timeline
from hindsight.measure.calibration import Doubles
from hindsight.measure.ranking import Measure, covered, measure, parse
from hindsight.miner.wording import clip
from hindsight.retrieval.candidates import Candidates, CandidatesConfig
from hindsight.system import external
from hindsight.system.baselines import Plain
from hindsight.system.bounds import Oracle
from hindsight.system.build import RERANKED, TRAINED, PolicyConfig, systems
from hindsight.system.naive import Naive
from hindsight.system.past import Past
from hindsight.system.rag import Rag
from hindsight.system.reranked import Reranker
from hindsight.system.scored import Scored
from hindsight.text import tokens_about
from hindsight.train.learn import Encoding, built
from hindsight.types import Case, ConfigError, Hit, Keeps, Miner, Scorer, System, Turn

# system name -> seed -> the scorer to use for this user
Scorers = Mapping[str, Mapping[int, Scorer]]
SHOWN = 5  # hits whose tokens are counted: what the sources put into a prompt
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
    reranker: Reranker = field(default_factory=Reranker)
    policies: Mapping[str, PolicyConfig] = field(default_factory=dict[str, PolicyConfig])


@dataclass
class Answers:
    """``rows``: one a question, system and seed, as measure/table.py wants them. ``lost``: reason -> questions without gold
    among the memories. ``noted``: what other people's runs lack or hold too much -> how often. ``utilities``: calibrated system -> of
    each question (utility of every candidate scored, whether it is gold), of the first seed. ``nothing``: of each question that nothing
    in the past answers, the highest utility. ``history``: of each question, the tokens of all that could be recalled."""

    rows: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    runs: Runs = field(default_factory=dict[str, dict[str, dict[str, float]]])
    qrels: dict[str, dict[str, int]] = field(default_factory=dict[str, dict[str, int]])
    lost: dict[str, int] = field(default_factory=dict[str, int])
    noted: dict[str, int] = field(default_factory=dict[str, int])
    utilities: dict[str, list[tuple[Doubles, Doubles]]] = field(default_factory=dict[str, list[tuple[Doubles, Doubles]]])
    nothing: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    history: list[int] = field(default_factory=list[int])

    def add(self, other: Answers) -> None:
        self.rows += other.rows
        self.qrels |= other.qrels
        self.history += other.history
        for system, queries in other.runs.items():
            self.runs.setdefault(system, {}).update(queries)
        for system, found in other.utilities.items():
            self.utilities.setdefault(system, []).extend(found)
        for system, highest in other.nothing.items():
            self.nothing.setdefault(system, []).extend(highest)
        for mine, theirs in ((self.lost, other.lost), (self.noted, other.noted)):
            for reason, count in theirs.items():
                mine[reason] = mine.get(reason, 0) + count


def with_nothing(users: Sequence[Sequence[Case]], nothing: Sequence[Case]) -> list[list[Case]]:
    """The questions of each user, and among them, in stream order, theirs that nothing in the past answers. Users who have such alone
    come last."""
    more: dict[str, list[Case]] = {}
    for case in nothing:
        more.setdefault(case.query.user_id, []).append(case)
    both = [[*own, *more.pop(own[0].query.user_id, [])] for own in users]
    return [sorted(own, key=lambda one: one.query.asked_at) for own in [*both, *more.values()]]


def users_of(cases: Sequence[Case]) -> list[list[Case]]:
    """Cases by user, in the order given; a suite gives each user's together."""
    return [list(group) for _, group in groupby(cases, key=lambda case: case.query.user_id)]


def check(ask: Ask, scorers: Scorers) -> None:
    """Raises ConfigError or DataError for systems that cannot be made or named: before an hour of cross-fitting, not after.

    ``scorers``: of the systems that are not trained here.
    """
    plain = replace(ask, names=tuple(name for name in ask.names if name not in TRAINED))
    made = _systems(plain, Past(ask.miner, built(ask.encoding)), ask.candidates.build(), scorers)
    known = [*(name for name in ask.names if name in TRAINED), *(name for name, _, _ in made)]
    problems = [f"system {name!r}: another one has this name" for name in dict.fromkeys(known) if known.count(name) > 1]
    problems += [f"system {name!r}: wanted a name without white space" for name in known if name.split() != [name]]
    if problems:
        raise ConfigError(problems)


def ask_user(ask: Ask, work: tuple[Sequence[Case], Scorers]) -> Answers:
    """All questions of one user to all systems and seeds."""
    cases, scorers = work
    past = Past(ask.miner, built(ask.encoding))
    past.encoder.encode([line for case in cases for line in case.query.text.split("\n")])
    candidates = ask.candidates.build()
    asked = _systems(ask, past, candidates, scorers)
    answers, told = Answers(), 0
    wanted = parse(ask.measures)
    for case in cases:
        new, told = tuple(case.turns[told:]), len(case.turns)  # a copy: a prefix still holds the stream that it was cut from
        evidence = _evidence(past, case, new)
        relevant = list(evidence)
        if not relevant:
            if case.relevant:
                answers.lost[LOST] = answers.lost.get(LOST, 0) + 1
            for name, seed, system in asked:
                system.observe(case.query.user_id, new)
                if not case.relevant and seed == 0 and isinstance(system, Scored) and system.calibrated:
                    highest = [hit.utility or 0.0 for hit in system.recall(case.query, 1)]
                    answers.nothing.setdefault(name, []).append(max(highest, default=0.0))
            continue
        answers.qrels[case.query.query_id] = dict.fromkeys(relevant, 1)
        known, pool = past.pool(case.query)
        candidates.rows(known, case.query, pool)
        answers.history.append(sum(_size(known, known.memories[row].memory_id) for row in pool.tolist()))
        for name, seed, system in asked:
            system.observe(case.query.user_id, new)
            if isinstance(system, Oracle):
                system.gold[case.query.query_id] = relevant
            if isinstance(system, Plain | Naive | Rag) and name not in RERANKED:  # cheap, once its index has grown
                system.recall(case.query, 1)
            began = time.perf_counter()
            hits = system.recall(case.query, ask.k)
            spent = (time.perf_counter() - began) * 1000
            values, tokens = _judged(wanted, system, known, case, hits, evidence)
            answers.rows.append(
                {
                    "query_id": case.query.query_id,
                    "user_id": case.query.user_id,
                    "kind": case.kind,
                    "groups": case.groups,
                    "system": name,
                    "seed": seed,
                    "text": clip(case.query.text, 60),
                    **values,
                    "ms": spent,
                    "tokens": tokens,
                    "pool": len(pool),
                }
            )
            if seed == 0 and not isinstance(system, Keeps):
                answers.runs.setdefault(name, {})[case.query.query_id] = _scores(hits)
                if isinstance(system, Scored) and system.calibrated:
                    every = system.recall(case.query, max(1, len(pool)))
                    chances = np.array([hit.utility for hit in every], np.float64)
                    used = np.array([hit.memory_id in relevant for hit in every], np.float64)
                    answers.utilities.setdefault(name, []).append((chances, used))
    for name, _, system in asked:
        if isinstance(system, external.Run):
            told = system.count.skipped | system.count.notes
            answers.noted |= {f"system {name}: {what}": times for what, times in told.items()}
    return answers


def _scores(hits: Sequence[Hit]) -> dict[str, float]:
    return {hit.memory_id: hit.score for hit in hits}


def _evidence(past: Past, case: Case, new: Sequence[Turn]) -> dict[str, frozenset[int]]:
    """The memories in the pool that record an evidence turn -> the positions of those turns."""
    past.observe(case.query.user_id, new)
    wanted = frozenset(case.relevant)
    found = {memory.memory_id: wanted.intersection(memory.sources) for memory in past.memories(case.query)}
    return {memory_id: positions for memory_id, positions in found.items() if positions}


def _judged(
    wanted: Sequence[Measure],
    system: System,
    known: Timeline,
    case: Case,
    hits: Sequence[Hit],
    evidence: Mapping[str, frozenset[int]],
) -> tuple[dict[str, float], int]:
    """(measure -> value, tokens of the first hits)."""
    if isinstance(system, Keeps):
        own = system.memories(case.query, hits)
        sizes = [sum(tokens_of(known.encoder, memory.text.split("\n"))) for memory in own]
        return covered(wanted, [frozenset(memory.sources) for memory in own], list(evidence.values()), sizes), sum(
            sizes[:SHOWN]
        )
    ranking = list(dict.fromkeys(hit.memory_id for hit in hits))
    sizes = [_size(known, memory_id) for memory_id in ranking]  # what a foreign run names and the past lacks has none
    return measure(wanted, ranking, dict.fromkeys(evidence, 1), sizes), sum(sizes[:SHOWN])


def _size(known: Timeline, memory_id: str) -> int:
    """Tokens of a memory's text."""
    row, start = known.row_of.get(memory_id), known.token_start.view
    if row is None:
        return 0
    return int(start[row + 1] - start[row]) if known.pieces else tokens_about(known.memories[row].text)


def _systems(ask: Ask, past: Past, candidates: Candidates, scorers: Scorers) -> list[tuple[str, int, System]]:
    """(name, seed, system). Untrained ones have seed 0 alone."""
    found: list[tuple[str, int, System]] = []
    plain = [name for name in ask.names if name not in TRAINED]
    fixed = {name: by_seed[0] for name, by_seed in scorers.items() if name in plain}
    untrained = systems(plain, past, candidates, fixed, reranker=ask.reranker, policies=ask.policies)
    found += [(name, 0, system) for name, system in untrained.items()]
    for name in ask.names:
        if name in TRAINED:
            for seed, scorer in scorers[name].items():
                found += [(name, seed, system) for system in systems([name], past, candidates, {name: scorer}).values()]
    if ask.run:
        found.append((Path(ask.run).stem, 0, external.run(Path(ask.run), past)))
    if ask.path:
        found.append((ask.path.rpartition(":")[2], 0, external.load(ask.path, past)))
    return found
