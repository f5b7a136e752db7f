"""What compact token vectors cost in nDCG@10, and the bytes that they save, on LoCoMo or on a folder of BEAM chats:

    python bench/token_storage.py locomo10.json
    python bench/token_storage.py chats/100K --cut 64

MaxSim-idf alone ranks the turns: the sum over the query's wordpieces of idf times the largest dot product with the turn's
tokens, divided by the sum of idf, which is ln(1 + (N - df + .5) / (df + .5)) over the dialogue's turns. Questions come after
the last turn, so that every turn is past. float32 at full dimension is the base of the differences. One JSON line a row;
the interval is a bootstrap over dialogues.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hindsight.encoder.hf import HfEncoder, HfEncoderConfig
from hindsight.io import sha256_of
from hindsight.logs import beam, locomo
from hindsight.types import Count, Floats, Turn

DIMENSIONS = (384, 256, 192, 128, 96, 64)
Question = tuple[str, list[int]]


def of_locomo(path: Path) -> Iterator[tuple[list[str], list[Question]]]:
    for dialogue, keys, raw in locomo.keyed(path, Count()):
        place = {key: i for i, key in enumerate(keys)}
        questions = [
            (qa["question"], gold)
            for qa in raw["qa"]
            if qa["category"] != 5 and (gold := sorted({place[key] for key in _evidence(qa) if key in place}))
        ]
        yield [f"{turn.speaker}: {turn.text}" for turn in dialogue.turns], questions


def _evidence(qa: dict[str, Any]) -> list[str]:
    """Some ids are joined ("D8:6; D9:17"), some have a stray colon or zero ("D:11:26", "D30:05")."""
    parts = [part for entry in qa.get("evidence", []) for part in re.split(r"[;\s,]+", entry)]
    return [f"D{m[1]}:{m[2]}" for part in parts if (m := re.fullmatch(r"D:?(\d+):0*(\d+)", part))]


def of_beam(path: Path) -> Iterator[tuple[list[str], list[Question]]]:
    for dialogue, keys, folder in beam.keyed(path, Count()):
        place = {key: i for i, key in enumerate(keys)}
        kinds = json.loads((folder / "probing_questions" / "probing_questions.json").read_text("utf-8"))
        questions = [
            (probe["question"], gold)
            for probes in kinds.values()
            for probe in probes
            if (gold := sorted({place[key] for key in _ids(probe.get("source_chat_ids")) if key in place}))
        ]
        yield [_named(turn) for turn in dialogue.turns], questions


def _ids(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from _ids(inner)
    elif value is not None:
        yield str(value)


def _named(turn: Turn) -> str:
    return f"{turn.role.capitalize()}: {turn.text}"


def compact(rows: Floats, matrix: Floats, dimension: int, small: bool) -> Floats:
    """As the encoder stores it: projected, unit rows; ``small``: through int8. ``dimension`` 0 leaves the rows as they are."""
    if dimension < len(matrix):
        rows = rows @ matrix[:, :dimension]
        rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True).clip(1e-12)).astype(np.float32)
    return (np.rint(rows * 127) / 127).astype(np.float32) if small else rows


def ndcg(scores: Floats, gold: list[int], cutoff: int = 10) -> float:
    ranks = np.argsort(np.argsort(-scores, kind="stable"), kind="stable")[gold]
    ideal = (1 / np.log2(np.arange(min(len(gold), cutoff)) + 2)).sum()
    return float((1 / np.log2(ranks[ranks < cutoff] + 2)).sum() / ideal)


class Texts:
    """Token rows of several texts in one matrix, and which rows are whose."""

    def __init__(self, encoder: HfEncoder, texts: list[str]) -> None:
        found = {text: (rows, pieces) for text, _, rows, pieces in encoder.states(texts)}
        self.rows = np.concatenate([found[text][0] for text in texts])
        self.pieces = [found[text][1] for text in texts]
        self.sizes = np.array([len(pieces) for pieces in self.pieces])
        self.starts = np.cumsum(self.sizes) - self.sizes


def measure(turns: Texts, asked: Texts, gold: list[list[int]], matrix: Floats) -> dict[tuple[int, bool], list[float]]:
    """(dimension, int8?) -> nDCG@10 a question. Turns without tokens score below all."""
    df = np.bincount(np.concatenate([np.unique(pieces) for pieces in turns.pieces]), minlength=1 << 18)
    idf = np.log1p((len(turns.sizes) - df + 0.5) / (df + 0.5))
    whole = np.flatnonzero(turns.sizes)
    found: dict[tuple[int, bool], list[float]] = {}
    for dimension in DIMENSIONS:
        for small in (False, True):
            memory, query = (compact(texts.rows, matrix, dimension, small) for texts in (turns, asked))
            row = found[dimension, small] = []
            for start, pieces, relevant in zip(asked.starts, asked.pieces, gold):
                similarity = query[start : start + len(pieces)] @ memory.T
                weights = idf[pieces]
                scores = np.full(len(turns.sizes), -2.0, np.float32)
                scores[whole] = weights @ np.maximum.reduceat(similarity, turns.starts[whole], axis=1) / weights.sum()
                row.append(ndcg(scores, relevant))
    return found


def interval(difference: Floats, cluster: Floats) -> tuple[float, float]:
    groups = [difference[cluster == c] for c in np.unique(cluster)]
    rng = np.random.default_rng(0)
    draws = [np.concatenate([groups[i] for i in rng.integers(0, len(groups), len(groups))]).mean() for _ in range(2000)]
    low, high = np.percentile(draws, [2.5, 97.5])
    return round(float(low), 4), round(float(high), 4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument(
        "--cut", type=int, default=64, help="a question is long when the mean wordpieces of its gold exceed it"
    )
    options = parser.parse_args()
    torch.set_num_threads(1)
    config = HfEncoderConfig(token_dimension=max(DIMENSIONS))
    encoder = config.build()
    assert encoder.projection is not None
    rows: dict[tuple[int, bool], list[float]] = {}
    cluster: list[int] = []
    lengths: list[float] = []
    tokens = memories = 0
    for number, (texts, questions) in enumerate((of_beam if options.data.is_dir() else of_locomo)(options.data)):
        turns, asked = Texts(encoder, texts), Texts(encoder, [question for question, _ in questions])
        for key, values in measure(turns, asked, [gold for _, gold in questions], encoder.projection).items():
            rows.setdefault(key, []).extend(values)
        cluster += [number] * len(questions)
        lengths += [float(turns.sizes[gold].mean()) for _, gold in questions]
        tokens, memories = tokens + int(turns.sizes.sum()), memories + len(texts)
    long = np.array(lengths) > options.cut
    base = np.array(rows[max(DIMENSIONS), False], np.float32)
    facts = {"questions": len(base), "memories": memories, "tokens a memory": round(tokens / memories, 1)}
    print(json.dumps({**facts, "long": int(long.sum()), "data": sha256_of(options.data), "encoder": encoder.fingerprint}))
    for (dimension, small), values in rows.items():
        own = np.array(values, np.float32)
        size = tokens / memories * (dimension * (1 if small else 4) + 2) + encoder.dimension * 2
        low, high = interval(own - base, np.array(cluster))
        split = {
            name: round(float(own[which].mean()), 4) for name, which in (("short", ~long), ("long", long)) if which.any()
        }
        print(json.dumps({"dimension": dimension, "type": "int8" if small else "float32", "bytes a memory": round(size),
                          "ndcg@10": round(float(own.mean()), 4), "difference": round(float((own - base).mean()), 4),
                          "low": low, "high": high, **split}))  # fmt: skip


if __name__ == "__main__":
    main()
