"""``make demo``: the whole job on the bundled logs. Two heads are trained, one a regime; each is held against the baselines and
the checkpoint that comes with the package, on people that training did not see; then three questions are asked, with the reasons
for what came back."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from hindsight.cli import main, recipe_of
from hindsight.config import settings
from hindsight.report.recall import show
from hindsight.retrieval.candidates import CandidatesConfig
from hindsight.runs import scorer_at
from hindsight.suite.bundled import Bundled
from hindsight.suite.reuse import Reuse
from hindsight.system.past import Past
from hindsight.system.scored import Scored
from hindsight.types import Case, Count

RUNS = {"ask": ("bundled", []), "act": ("reuse", ["experiment=act"])}
SYSTEMS = "system=[random,recent,bm25,dense,rrf,zsum,prior,utility,default]"
MEASURES = "evaluation.measures=[recall@1,recall@5,recall@10,ndcg@10]"


def demo() -> int:
    """Returns the exit status of the first stage that failed, or 0."""
    began = time.perf_counter()
    for regime, (suite, extra) in RUNS.items():
        print(f"\n== {regime}: mine, label, train, export, evaluate ==", flush=True)
        name = f"run.name=demo-{regime}"
        exported = f"runs/demo/{regime}"
        for command in (
            ["all", name, *extra],
            ["export", name, f"to={exported}", *extra],
            ["eval", name, f"suite={suite}", f"scorer.path={exported}", SYSTEMS, MEASURES, *extra],
        ):
            if status := main(command):
                return status
    print("\n== three recalls, and why ==", flush=True)
    recalls()
    print(
        f"\ntook {time.perf_counter() - began:.0f} s; tables and plots: runs/eval/demo-ask/report.html, runs/eval/demo-act/report.html"
    )
    return 0


def recalls() -> None:
    """Three questions of held-out people, to show what an answer looks like. How often it is right, the tables say."""
    encoding = recipe_of(settings("train", [])).encoding
    encoder = encoding.build()
    asked, tasks = list(Bundled().cases(Count())), list(Reuse().cases(Count()))
    wanted = [("ask", first(asked, "single")), ("ask", first(asked, "retraction")), ("act", first(tasks, "reply"))]
    for regime, case in wanted:
        past = Past(recipe_of(settings("train", [])).miner, encoder)
        scorer = scorer_at(Path("runs/demo") / regime).scorer
        system = Scored("utility", scorer, past, CandidatesConfig().build(), calibrated=True)
        system.observe(case.query.user_id, case.turns)
        hits = system.recall(case.query, 3)
        memories = {memory.memory_id: memory for memory in past.memories(case.query)}
        show(case.query, hits, memories)
        found = [rank for rank, hit in enumerate(hits, 1) if set(memories[hit.memory_id].sources) & set(case.relevant)]
        print(f"     what later turns really used came {f'at rank {found[0]}' if found else 'below rank 3'}\n")


def first(cases: list[Case], kind: str) -> Case:
    return next(case for case in cases if case.kind.startswith(kind))


if __name__ == "__main__":
    sys.exit(demo())
