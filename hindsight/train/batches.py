"""Labelled queries -> feature lists: what the loss sees. Features are taken by replay, so each query sees its past alone."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hindsight.features import matrix
from hindsight.features.moment import Moment, match_together
from hindsight.features.replay import moment, replay
from hindsight.types import Encoder, Floats, Ints, Labelled, Memory, Turn

WHOLE = 200  # pools up to this size are kept whole
HARD = RANDOM = 64
_TOGETHER = 8  # queries of one moment whose late interaction is computed in one pass
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
    at: dict[int, list[int]] = defaultdict(list)  # moment -> places of the queries that are asked then
    for place, one in enumerate(labelled):
        at[one.query.asked_at].append(place)
    positions = sorted(at)
    made: dict[int, Listed] = {}
    for number, past in replay(turns, memories, encoder, positions):
        places = at[positions[number]]
        for start in range(0, len(places), _TOGETHER):
            known = {
                place: moment(past, labelled[place].query, labelled[place].hidden) for place in places[start:][:_TOGETHER]
            }
            match_together(list(known.values()))
            for place, one in known.items():
                if (found := _list(one, labelled[place], columns)) is not None:
                    made[place] = found
    return [made[place] for place in sorted(made)]


def _list(known: Moment, one: Labelled, columns: Sequence[str]) -> Listed | None:
    """None where all uses lie outside the pool. A query of which it is known that nothing was used keeps its candidates."""
    gain, labelled = np.zeros(len(known.rows), np.float32), set[int]()
    for use in one.uses:
        row = known.past.row_of.get(use.memory_id, -1)
        place = int(np.searchsorted(known.rows, row))
        if place < len(gain) and known.rows[place] == row:
            gain[place] = use.gain
            labelled.add(place)
    if len(gain) == 0 or (one.uses and gain.sum() <= 0):
        return None
    features = matrix.compute(known, columns)
    chosen = _chosen(known, one, labelled)
    if one.unsure:  # neither used nor not used
        unsure = {known.past.row_of.get(memory_id, -1) for memory_id in one.unsure}
        chosen = chosen[[int(row) not in unsure for row in known.rows[chosen]]]
    return Listed(
        one.query.query_id, one.query.user_id, one.kind, features[chosen].astype(np.float16), gain[chosen], one.quality
    )


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
