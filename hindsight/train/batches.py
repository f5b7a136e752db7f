"""Labelled queries -> feature lists: what the loss sees. Features are taken by replay, so each query sees its past alone."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hindsight.features import matrix
from hindsight.features.moment import Moment
from hindsight.features.replay import moment, replay
from hindsight.types import Encoder, Floats, Ints, Labelled, Memory, Turn

WHOLE = 200  # pools up to this size are kept whole
HARD = RANDOM = 64
_HARD_BY = ("bm25", "bm25_window", "cosine", "cosine_window")


@dataclass(frozen=True, slots=True)
class Listed:
    """One training query: its candidates' features and the soft label over them."""

    query_id: str
    user_id: str
    kind: str
    features: npt.NDArray[np.float16]  # (candidates, columns)
    gain: Floats  # (candidates,)
    quality: float


def listed(
    turns: Sequence[Turn], memories: Sequence[Memory], labelled: Sequence[Labelled], encoder: Encoder, columns: Sequence[str]
) -> list[Listed]:
    """One user's queries, in the order given. Candidates: the labelled, the hardest for a plain ranking, the newest in *act*,
    and random ones; small pools whole. Queries whose uses all lie outside the pool are left out."""
    encoder.encode([one.query.text for one in labelled])
    made: dict[int, Listed] = {}
    for place, past in replay(turns, memories, encoder, [one.query.asked_at for one in labelled]):
        one = labelled[place]
        known = moment(past, one.query, one.hidden)
        gains = {use.memory_id: use.gain for use in one.uses}
        row_of = {past.memories[row].memory_id: i for i, row in enumerate(known.rows.tolist())}
        gain = np.zeros(len(known.rows), np.float32)
        for memory_id, value in gains.items():
            if memory_id in row_of:
                gain[row_of[memory_id]] = value
        if gain.sum() <= 0:
            continue
        features = matrix.compute(known, columns)
        chosen = _chosen(known, one, {row_of[m] for m in gains if m in row_of})
        made[place] = Listed(
            one.query.query_id, one.query.user_id, one.kind, features[chosen].astype(np.float16), gain[chosen], one.quality
        )
    return [made[place] for place in sorted(made)]


def _chosen(known: Moment, one: Labelled, labelled: set[int]) -> Ints:
    total = len(known.rows)
    if total <= WHOLE:
        return np.arange(total)
    hard = matrix.compute(known, _HARD_BY).sum(axis=1)
    rng = random.Random(one.query.query_id)
    chosen = labelled | set(np.argsort(-hard, kind="stable")[:HARD].tolist()) | set(rng.sample(range(total), RANDOM))
    if one.query.context and one.query.goal:  # a task in progress: the newest are the hard ones
        chosen |= set(range(total - HARD, total))
    return np.array(sorted(chosen))
