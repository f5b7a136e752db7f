"""How much of the exact nearest neighbours the index of cells finds, and how fast, against the exact one in the same run:

    OMP_NUM_THREADS=1 python bench/nearest.py                     100,000 vectors
    OMP_NUM_THREADS=1 python bench/nearest.py --size 40000

One JSON line a share of the cells that are read. Vectors are MiniLM's of the turns of all data that comes with the project, then of the same
turns joined two by two, three by three, ... until there are enough; queries are vectors of that kind that are not in the index.
"""

from __future__ import annotations

import argparse
import time
from itertools import count

import faiss
import numpy as np

from hindsight.encoder.cache import CacheConfig
from hindsight.encoder.hf import HfEncoderConfig
from hindsight.io import to_json
from hindsight.logs.native import NativeReader
from hindsight.retrieval.index import READ, _cells  # pyright: ignore[reportPrivateUsage]
from hindsight.suite import agent_tasks, fact_recall, gold
from hindsight.types import Count, Floats

SHARES = (1 / 16, 1 / 8, READ, 1 / 2)
QUERIES, DEPTHS = 200, (10, 200, 1000)


def vectors(wanted: int) -> Floats:
    """(wanted, dimension) in an order by chance."""
    encoder = CacheConfig().build(HfEncoderConfig().build())
    folders = [gold.FOLDER, fact_recall.FOLDER, agent_tasks.FOLDER]
    turns = [
        turn.text
        for folder in folders
        for dialogue in NativeReader().read(folder / "train.jsonl", Count())
        for turn in dialogue.turns
        if turn.text
    ]
    texts = dict.fromkeys(turns)
    rng = np.random.default_rng(0)
    for more in count(2):
        if len(texts) >= wanted:
            break
        texts |= dict.fromkeys(" ".join(rng.choice(turns, more)) for _ in turns)
    chosen = list(texts)[:wanted]
    found = np.stack([one.pooled for one in encoder.encode(chosen)]).astype(np.float32)
    return found[rng.permutation(len(found))]


def spent(index: faiss.Index, queries: Floats) -> tuple[float, list[set[int]], list[list[int]]]:
    times: list[float] = []
    rows: list[list[int]] = []
    for query in queries:
        began = time.perf_counter()
        rows.append(index.search(query[None], max(DEPTHS))[1][0].tolist())
        times.append((time.perf_counter() - began) * 1000)
    return round(float(np.percentile(times, 50)), 3), [set(one) for one in rows], rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=100_000)
    size = parser.parse_args().size
    every = vectors(size + QUERIES)
    held, queries = every[:size], every[size:]
    exact = faiss.IndexFlatIP(held.shape[1])
    exact.add(held)
    exact_ms, _, right = spent(exact, queries)
    began = time.perf_counter()
    index = _cells(held[: max(20_000, size // 4)])
    index.add(held)
    print(to_json({"part": "build", "size": size, "cells": index.nlist, "seconds": round(time.perf_counter() - began, 1)}))
    for share in SHARES:
        index.nprobe = max(1, round(index.nlist * share))
        ms, found, _ = spent(index, queries)
        recall = {
            f"of the nearest {depth}": round(
                float(np.mean([len(one & set(best[:depth])) / depth for one, best in zip(found, right)])), 3
            )
            for depth in DEPTHS
        }
        print(to_json({"part": "search", "read": round(share, 4), "ms": ms, "exact_ms": exact_ms} | recall), flush=True)


if __name__ == "__main__":
    main()
