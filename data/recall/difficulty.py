"""``python -m data.recall.difficulty [--split train]``: how far plain retrieval comes on fact_recall.

Pool of a question: all the user's turns before it. Systems and measures are those of ``data.generator.difficulty``.
"""

from __future__ import annotations

import argparse
from collections import defaultdict

import numpy as np

from data.generator.difficulty import SYSTEMS, bm25, chance, embed, measures
from hindsight.suite.fact_recall import FactRecall
from hindsight.types import Case, Count

Found = dict[str, tuple[float, float]]


def judge(cases: list[Case]) -> list[Found]:
    """Of each question: system -> (recall@10, nDCG@10)."""
    longest = {case.query.user_id: case.turns for case in cases}  # a user's cases come in stream order
    ends = np.cumsum([len(turns) for turns in longest.values()])
    rows = embed([turn.text for turns in longest.values() for turn in turns] + [case.query.text for case in cases])
    *parts, queries = np.split(rows, ends)
    vectors = dict(zip(longest, parts))
    found: list[Found] = []
    for case, query in zip(cases, queries):
        pool, relevant = [turn.text for turn in case.turns], set(case.relevant)
        found.append(
            {
                "random": chance(len(pool), len(relevant)),
                "recent": measures(np.arange(len(pool), dtype=np.float64), relevant),
                "bm25": measures(bm25(pool, case.query.text), relevant),
                "dense": measures(vectors[case.query.user_id][: len(pool)] @ query, relevant),
            }
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m data.recall.difficulty", description=__doc__)
    parser.add_argument("--split", choices=("test", "train"), default="test")
    split = parser.parse_args().split
    cases = list(FactRecall(split=split).cases(Count()))
    parts: dict[str, list[tuple[int, Found]]] = defaultdict(list)
    for case, found in zip(cases, judge(cases)):
        for name in ("all", *case.groups, f"type {case.kind}"):
            parts[name].append((len(case.turns), found))
    print(f"{split}: recall@10 / nDCG@10, pool = all earlier turns of the user")
    print("| part | n | pool | " + " | ".join(SYSTEMS) + " |")
    print("|---|---|---|" + "---|" * len(SYSTEMS))
    for name in sorted(
        parts, key=lambda part: (part.split()[0], int(part.split()[1]) if part.split()[-1].isdecimal() else 0, part)
    ):
        cells = [np.mean([measured[system] for _, measured in parts[name]], axis=0) for system in SYSTEMS]
        shown = " | ".join(f"{recall:.3f} / {ndcg:.3f}" for recall, ndcg in cells)
        print(f"| {name} | {len(parts[name])} | {np.mean([pool for pool, _ in parts[name]]):.0f} | {shown} |")


if __name__ == "__main__":
    main()
