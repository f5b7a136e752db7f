"""How fast encoding, features, scoring and recall are, each against the plain way of doing it in the same run, and how each grows:

    OMP_NUM_THREADS=1 python bench/speed.py
    OMP_NUM_THREADS=1 python bench/speed.py --parts features score --sizes 600 1000

One JSON line a part and size. Times are processor time of this process (medians; other work on the machine moves them little),
``wall_ms`` beside it where it matters. ``ratio`` = plain / ours; both give the same values, which is checked.

- encode: all texts at once, batched by length, against a text at a time.
- features: the columns of a set for a whole pool; ``plain`` is a loop over the memories for the seven columns of *narrow*.
- score: the head over all rows at once against a row at a time.
- recall: query in, hits out, with candidates; ``plain`` scores the whole pool. ``first_ms``: the first query, which builds the
  index; the lexical one is built anew every 200 memories.

Memories are turns of the bundled logs, encoded by MiniLM; past their number they come again with a word of their own and
slightly moved vectors, so that none is a copy.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from hindsight.encoder.cache import CacheConfig
from hindsight.encoder.hf import HfEncoderConfig
from hindsight.features import matrix
from hindsight.features.moment import Moment, zscore
from hindsight.features.replay import pool
from hindsight.features.timeline import Timeline
from hindsight.io import to_json
from hindsight.labeler.moments import moments
from hindsight.logs.native import NativeReader
from hindsight.miner.turns import Turns
from hindsight.retrieval.candidates import CandidatesConfig
from hindsight.scorer.linear import Linear
from hindsight.suite import bundled
from hindsight.system.past import Past
from hindsight.system.scored import Scored
from hindsight.text import terms
from hindsight.types import Count, Encoded, Encoder, Floats, Query, Turn

SEPARATOR = " row#"


class Moved:
    """Another encoder's vectors; a text that ends in ``row#123`` has its text's vectors, each moved a little."""

    def __init__(self, inner: Encoder) -> None:
        self.inner, self.fingerprint, self.dimension = inner, inner.fingerprint, inner.dimension

    def encode(self, texts: Sequence[str]) -> list[Encoded]:
        parts = [text.rpartition(SEPARATOR) for text in texts]
        return [
            _moved(one, int(number)) if text else one
            for one, (text, _, number) in zip(self.inner.encode([text or number for text, _, number in parts]), parts)
        ]


def _moved(one: Encoded, seed: int) -> Encoded:
    pooled = one.pooled + np.random.default_rng(seed).normal(scale=1e-3, size=len(one.pooled)).astype(np.float32)
    return Encoded((pooled / np.linalg.norm(pooled)).astype(np.float32), one.tokens, one.pieces)


def stream(size: int) -> list[Turn]:
    """One user's turns: the bundled logs one after another, as often as needed."""
    dialogues = [d for name in bundled.LOGS for d in NativeReader().read(bundled.FOLDER / name, Count())]
    turns: list[Turn] = []
    for lap in itertools.count():
        for dialogue in dialogues:
            for turn in dialogue.turns:
                if len(turns) == size:
                    return turns
                text = turn.text if lap == 0 else f"{turn.text}{SEPARATOR}{len(turns)}"
                calls = turn.calls if lap == 0 else ()
                turns.append(
                    replace(turn, position=len(turns), session=f"{turn.session} {lap}", text=text or "-", calls=calls)
                )
    raise AssertionError


def queries(turns: Sequence[Turn], wanted: int) -> tuple[list[Query], list[Query]]:
    """(*ask*, *act*): the logs' own gold questions, and the last moments of the stream, all asked at its end."""
    end = len(turns)

    texts = [t.text for t in turns if t.role == "user" and t.text.endswith("?")]
    ask = [Query(f"ask{i}", "u", "", text, end) for i, text in enumerate(texts[:wanted])]
    act = [query for _, query in moments(turns[-40 * wanted :], "u", 3)][-wanted:]
    return ask, [replace(q, asked_at=end, context=(end - 3, end - 2, end - 1)) for q in act]


def median(run: Callable[[int], object], times: int) -> tuple[float, float, float]:
    """Seconds: processor, wall; and processor of a first call that warms up and builds what is built once."""
    began = time.process_time()
    run(0)
    first = time.process_time() - began
    spent: list[tuple[float, float]] = []
    for i in range(times):
        cpu, wall = time.process_time(), time.perf_counter()
        run(i)
        spent.append((time.process_time() - cpu, time.perf_counter() - wall))
    return float(np.median([one for one, _ in spent])), float(np.median([one for _, one in spent])), first


def plain_narrow(past: Timeline, query: Query, rows: np.ndarray) -> Floats:
    """*narrow* for a pool, a memory at a time. What depends on the past alone is made before."""
    bags, lengths, windows, mean, mean_window, seen = _plain_past(past)
    total = len(past)
    encoded = past.encoder.encode([query.text])[0]
    words = tuple(dict.fromkeys(terms(query.text)))
    frequency = {word: past.postings.frequency(word) for word in words}
    rarity = {word: np.log(1 + (total - n + 0.5) / (n + 0.5)) for word, n in frequency.items() if n}
    weight = [np.log(1 + (total - seen[p] + 0.5) / (seen[p] + 0.5)) if seen[p] else 1.0 for p in encoded.pieces.tolist()]
    weights = np.array(weight, np.float32) + np.float32(1e-3)
    asked = encoded.tokens.astype(np.float32) / (127 * 127)
    assert past.tokens is not None
    start, about, found = past.token_start.view, Moment(past, query, rows).about, []
    for row in rows.tolist():
        scores = []
        for around, average in (([row], mean), (windows[row], mean_window)):
            length, score = sum(lengths[r] for r in around), 0.0
            for word, idf in rarity.items():
                count = sum(bags[r][word] for r in around)
                score += idf * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * length / average))
            scores.append(score)
        total_vector = np.sum([past.pooled.view[r] for r in windows[row]], axis=0)
        scores.append(float(past.pooled.view[row] @ encoded.pooled))
        scores.append(float(total_vector @ encoded.pooled / np.linalg.norm(total_vector)))
        best = (past.tokens.view[start[row] : start[row + 1]].astype(np.float32) @ asked.T).max(axis=0)
        scores += [float(best.mean()), float(best @ weights / weights.sum())]
        scores.append(0.0 if about is None else 1.0 if past.memories[row].speaker == about else -1.0)
        found.append(scores)
    raw = np.array(found, np.float32)
    return np.stack([*(zscore(column) for column in raw[:, :-1].T), raw[:, -1]], axis=1)


_PLAIN: dict[int, tuple] = {}


def _plain_past(past: Timeline) -> tuple:
    if id(past) not in _PLAIN:
        bags = [Counter(terms(memory.text)) for memory in past.memories]
        lengths = [sum(bag.values()) for bag in bags]
        session = [memory.session for memory in past.memories]
        near = [[r for r in (i - 1, i, i + 1) if 0 <= r < len(bags) and session[r] == session[i]] for i in range(len(bags))]
        windows = float(np.mean([sum(lengths[r] for r in around) for around in near]))
        _PLAIN[id(past)] = bags, lengths, near, float(np.mean(lengths)), windows, past.pieces
    return _PLAIN[id(past)]


def encode(encoder: Encoder, sizes: Sequence[int]) -> None:
    inner = getattr(encoder, "inner", encoder)  # the cache would answer in no time
    texts = [memory.text for memory in Turns().mine(stream(max(sizes)), "u", "")]
    for size in sizes:
        one_by_one, *_ = median(lambda _, some=texts[:size]: [inner.encode([text]) for text in some], 1)
        together, *_ = median(lambda _, some=texts[:size]: inner.encode(some), 1)
        report("encode", size, together / size * 1000, one_by_one / size * 1000, "ms a text")


def features(past: Timeline, asked: dict[str, list[Query]], size: int) -> None:
    for name in ("narrow", "ask", "act"):
        some = asked["act" if name == "act" else "ask"]
        columns, width = matrix.columns_of(name), len(pool(past, some[0]))

        def ours(i: int, some: list[Query] = some, columns: Sequence[str] = columns) -> Floats:
            query = some[i % len(some)]
            return matrix.compute(Moment(past, query, pool(past, query)), columns)

        cpu, wall, _ = median(ours, 30)
        plain = None
        if name == "narrow":

            def slow(i: int, some: list[Query] = some) -> Floats:
                return plain_narrow(past, some[i % len(some)], pool(past, some[i % len(some)]))

            assert np.allclose(ours(0), slow(0), atol=2e-3), "the plain loop gives other values"
            plain = median(slow, 3)[0] / width * 1e6
        report(f"features {name}", size, cpu / width * 1e6, plain, "us a memory", wall_ms=round(wall * 1000, 3))


def score(size: int) -> None:
    head = Linear("ask").build().eval()
    rows = np.random.default_rng(0).normal(size=(size, len(head.columns))).astype(np.float32)
    ours, *_ = median(lambda _: head.contributions(rows), 20)
    plain, *_ = median(lambda _: [head.contributions(rows[i : i + 1]) for i in range(min(size, 1000))], 1)
    report("score", size, ours / size * 1e6, plain / min(size, 1000) * 1e6, "us a memory")


def recall(turns: list[Turn], asked: dict[str, list[Query]], encoder: Encoder, size: int) -> None:
    past = Past(Turns(), encoder)
    past.observe("u", turns)
    began = time.process_time()
    known = past.at(asked["ask"][0])
    writing = (time.process_time() - began) / size * 1000
    report("observe", size, writing, None, "ms a memory", bytes_a_memory=_bytes(known) // size)
    for name in ("ask", "act"):
        some, head = asked[name], Linear(name).build().eval()
        found = {}
        for limit in (1000, size):
            system = Scored(name, head, past, CandidatesConfig(limit).build())
            times = 20 if limit <= 1000 else 3
            found[limit] = median(lambda i, s=system, q=some: s.recall(q[i % len(q)], 10), times)
        cpu, wall, first = found[1000]
        plain = found[size][0] * 1000 if size > 1000 else None  # a pool of that size is scored whole anyway
        report(
            f"recall {name}",
            size,
            cpu * 1000,
            plain,
            "ms a query",
            wall_ms=round(wall * 1000, 2),
            first_ms=round(first * 1000),
        )


def _bytes(past: Timeline) -> int:
    """Of the arrays that grow with the memories: vectors, tokens, statistics. Texts and postings are beside them."""
    columns = [value.view for value in vars(past).values() if hasattr(value, "view")]
    return sum(column.nbytes for column in columns)


_LAST: dict[str, tuple[int, float]] = {}


def report(part: str, size: int, ours: float, plain: float | None, unit: str, **more: object) -> None:
    """``grows``: the exponent of the whole cost since the last size (1: twice the memories, twice the time)."""
    line: dict[str, object] = {"part": part, "size": size, "unit": unit, "ours": round(ours, 4)}
    if plain is not None:
        line |= {"plain": round(plain, 4), "ratio": round(plain / ours, 2)}
    cost = ours * (size if unit.endswith(("memory", "text")) else 1)
    if part in _LAST and _LAST[part][0] != size:
        then, before = _LAST[part]
        line["grows"] = round(float(np.log(cost / before) / np.log(size / then)), 2)
    _LAST[part] = size, cost
    print(to_json(line | more), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = ["encode", "features", "score", "recall"]
    parser.add_argument("--parts", nargs="+", default=parts, choices=parts)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10_000, 100_000])
    parser.add_argument("--texts", type=int, nargs="+", default=[100, 400], help="sizes for encode")
    parser.add_argument("--queries", type=int, default=20)
    asked = parser.parse_args()
    cached = CacheConfig().build(HfEncoderConfig().build())
    encoder = Moved(cached)
    if "encode" in asked.parts:
        encode(cached, asked.texts)
    for size in asked.sizes:
        if "score" in asked.parts:
            score(size)
        if not {"features", "recall"} & set(asked.parts):
            continue
        turns = stream(size)
        ask, act = queries(turns, asked.queries)
        by_regime = {"ask": ask, "act": act}
        encoder.encode([line for query in [*ask, *act] for line in f"{query.text}\n{query.goal}".split("\n")])
        if "features" in asked.parts and size <= 10_000:
            past = Timeline(encoder)
            past.observe(turns, Turns().mine(turns, "u", ""))
            features(past, by_regime, size)
        if "recall" in asked.parts:
            recall(turns, by_regime, encoder, size)


if __name__ == "__main__":
    main()
