"""How much of the gold the candidate generator keeps, by channel and in union, as a user's past grows:

    python bench/candidates.py                                    the bundled logs
    python bench/candidates.py --ask locomo10.json --act SGD/test --pad SGD/train --sizes 1000 10000 100000

*ask*: questions about the past (LoCoMo's, or the bundled ones); *act*: tasks in progress (SGD value reuse, or the bundled
ones). The past is padded with other users' sessions up to each size: all before the user's own first turn (``before``), or
spread evenly between the user's own sessions (``between``), where the newest rows no longer hold the gold. Where the padding
is used up it starts again, which the output says.

One JSON line a regime, size and place: ``union`` is the mean share of a query's gold among the candidates, ``channel`` that of
each channel's quota alone, ``only`` the share that no other channel brings, ``similarity`` that of as many candidates from
dense and BM25 alone, ``recent`` of as many of the newest.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import cycle, groupby, islice
from pathlib import Path

import numpy as np

from hindsight.encoder.cache import CacheConfig
from hindsight.encoder.hashing import HashingEncoder
from hindsight.encoder.hf import HfEncoderConfig
from hindsight.io import sha256_of, to_json
from hindsight.logs.native import NativeReader
from hindsight.logs.sgd_histories import SGDHistories
from hindsight.miner.turns import Turns
from hindsight.retrieval.candidates import SHARES, CandidatesConfig
from hindsight.suite import bundled
from hindsight.suite.bundled import Bundled
from hindsight.suite.locomo import LoCoMo
from hindsight.suite.reuse import Reuse
from hindsight.system.past import Past
from hindsight.types import Case, Count, Encoder, Query, Turn

Sessions = list[list[Turn]]


def sessions_of(turns: Sequence[Turn]) -> Sessions:
    return [list(run) for _, run in groupby(turns, key=lambda turn: turn.session)]


def padding(path: Path | None, cases: Sequence[Case], own: str) -> Iterator[list[Turn]]:
    """Other users' sessions: of the histories of an SGD split, else of the bundled logs; first those of the suite's other users."""
    for user, asked in groupby(cases, key=lambda case: case.query.user_id):
        if user != own:
            yield from sessions_of(max((case.turns for case in asked), key=len))
    for user, sessions in elsewhere(path):
        if user != own:
            yield from sessions


@lru_cache(maxsize=1)
def elsewhere(path: Path | None) -> list[tuple[str, Sessions]]:
    """(user, sessions)."""
    if path is None:
        dialogues = (d for name in bundled.LOGS for d in NativeReader().read(bundled.FOLDER / name, Count()))
    else:
        dialogues = SGDHistories("concat", 200).read(path, Count())
    return [(dialogue.user_id, sessions_of(dialogue.turns)) for dialogue in dialogues]


def padded(own: Sessions, others: Sequence[list[Turn]], size: int, place: str) -> tuple[list[Turn], dict[int, int], bool]:
    """(a stream of about ``size`` turns, old position -> new one, whether padding was used twice)."""
    wanted, used = size - sum(map(len, own)), 0
    shares = [wanted, *([0] * len(own))] if place == "before" else [wanted // len(own)] * len(own) + [0]
    source = enumerate(cycle(others)) if others else iter(())
    stream: list[Turn] = []
    moved: dict[int, int] = {}
    for number, share in enumerate(shares):
        filled = 0
        while filled < share:
            used, session = next(source)
            part = session[: share - filled]
            stream += [replace(t, position=len(stream) + i, session=f"pad{used}") for i, t in enumerate(part)]
            filled += len(part)
        for turn in own[number] if number < len(own) else []:
            moved[turn.position] = len(stream)
            stream.append(replace(turn, position=len(stream)))
    return stream, moved, used >= len(others)


def moved_query(query: Query, moved: dict[int, int], end: int) -> Query:
    at = moved.get(query.asked_at, end)
    return replace(query, asked_at=at, context=tuple(moved[position] for position in query.context))


def measure(
    cases: Sequence[Case], pad: Path | None, size: int, place: str, limit: int, users: int, encoder: Encoder
) -> dict[str, object]:
    kept: dict[str, list[float]] = defaultdict(list)
    channel: dict[str, list[float]] = defaultdict(list)
    only: dict[str, list[float]] = defaultdict(list)
    milliseconds: list[float] = []
    pools: list[int] = []
    counts: list[int] = []
    repeated = False
    groups = [(user, list(asked)) for user, asked in groupby(cases, key=lambda case: case.query.user_id)]
    for user, asked in groups[:users]:
        turns = max((case.turns for case in asked), key=len)
        others = list(islice(padding(pad, cases, user), size))
        stream, moved, again = padded(sessions_of(turns), others, size, place)
        repeated |= again
        past, candidates = Past(Turns(), encoder), CandidatesConfig(limit).build()
        past.observe(user, stream)
        for case in asked:
            query = moved_query(case.query, moved, len(stream))
            known, pool = past.pool(query)
            gold = np.flatnonzero(np.isin(known.source.view, [moved[position] for position in case.relevant]))
            gold = gold[np.isin(gold, pool)]
            if len(gold) == 0:
                continue
            began = time.perf_counter()
            rows = candidates.rows(known, query, pool)
            milliseconds.append((time.perf_counter() - began) * 1000)
            pools.append(len(pool))
            counts.append(len(rows))

            def share(found: np.ndarray, gold: np.ndarray = gold) -> float:
                return float(np.isin(gold, found).mean())

            ranked = candidates.channels(known, query, pool)
            kept["union"].append(share(rows))
            half = limit // 2
            kept["similarity"].append(share(np.concatenate([ranked["dense"][:half], ranked["bm25"][:half]])))
            kept["recent"].append(share(pool[-limit:]))
            own = {name: ranked[name][: candidates.quotas[name]] for name in SHARES}
            for name in SHARES:
                rest = np.concatenate([found for other, found in own.items() if other != name])
                channel[name].append(share(own[name]))
                only[name].append(float((np.isin(gold, own[name]) & ~np.isin(gold, rest)).mean()))
    return {
        "n": len(pools),
        "users": min(users, len(groups)),
        "pool": int(np.median(pools)),
        "candidates": float(np.mean(counts)),
        "padding_repeats": repeated,
        "ms": {"p50": round(float(np.median(milliseconds)), 2), "p95": round(float(np.quantile(milliseconds, 0.95)), 2)},
        **{name: round(float(np.mean(values)), 4) for name, values in kept.items()},
        "channel": {name: round(float(np.mean(values)), 4) for name, values in channel.items()},
        "only": {name: round(float(np.mean(values)), 4) for name, values in only.items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ask", type=Path, help="locomo10.json; the bundled questions without it")
    parser.add_argument("--act", type=Path, help="the folder of an SGD split; the bundled tasks without it")
    parser.add_argument("--pad", type=Path, help="the folder of another SGD split; the bundled logs without it")
    parser.add_argument("--regimes", nargs="+", default=["ask", "act"], choices=["ask", "act"])
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--place", nargs="+", default=["before", "between"], choices=["before", "between"])
    parser.add_argument("--order", default="inter", choices=["concat", "inter"], help="of the SGD histories")
    parser.add_argument("--limit", type=int, default=1000)
    parser.add_argument("--users", type=int, default=10, help="the first of each suite; padding is made anew for each")
    parser.add_argument("--hashing", action="store_true", help="the model-free encoder, for a quick look")
    asked = parser.parse_args()
    encoder = CacheConfig().build(HashingEncoder(256) if asked.hashing else HfEncoderConfig().build())
    suites = {
        "ask": LoCoMo(asked.ask) if asked.ask else Bundled(),
        "act": Reuse(asked.act, order=asked.order) if asked.act else Reuse(),
    }
    for regime in asked.regimes:
        suite, count = suites[regime], Count()
        cases = list(suite.cases(count))
        data = sha256_of(suite.path) if suite.path.is_file() else suite.path.name
        for size in asked.sizes:
            for place in asked.place:
                found = measure(cases, asked.pad, size, place, asked.limit, asked.users, encoder)
                line = {
                    "regime": regime,
                    "suite": suite.name,
                    "data": data,
                    "size": size,
                    "place": place,
                    "limit": asked.limit,
                }
                print(to_json(line | {"encoder": encoder.fingerprint} | found), flush=True)
                print(f"{regime} {size} {place}: union {found['union']}", file=sys.stderr)


if __name__ == "__main__":
    main()
