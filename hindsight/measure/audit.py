"""A labeler against gold: do the memories that it credits deserve it? Each query is judged over its whole pool.

A memory that the labeler does not name has gain 0. AUC, nDCG@10 and ``gain_on_gold`` (the share of a query's gain that lies on
gold: what the loss is taught) and ``top1`` (the memory with the most gain is gold) are means over queries, with intervals clustered by
user. Precision, recall and F1 are of "gain >= threshold" over all pairs, the threshold chosen on one half of the users and used on the
other; None where a half has no gold. ``calibration``: a gain taken as the probability that its memory is gold, over all pairs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hindsight.measure.calibration import auc, held_out_decision, summary
from hindsight.measure.ranking import measure, parse
from hindsight.measure.significance import interval, resampled_means
from hindsight.types import Labelled

NDCG = parse(["ndcg@10"])
ALL = "all"


@dataclass(frozen=True, slots=True)
class Row:
    """One query: the gain and the truth of every memory of its pool, and the measures of the one by the other."""

    user_id: str
    kind: str
    gain: npt.NDArray[np.float64]
    truth: npt.NDArray[np.bool_]
    values: Mapping[str, float]


def audit(
    labelled: Sequence[Labelled], gold: Mapping[str, AbstractSet[str]], pools: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """``gold``: query_id -> ids of the memories really used; ``pools``: query_id -> ids of all that could have been credited.

    Returns ``n``, ``skipped`` (reason -> queries), ``notes`` and ``by``: kind of query, and ``all`` -> its numbers.
    """
    skipped, notes, rows = Counter[str](), Counter[str](), list[Row]()
    for one in labelled:
        row = _row(one, gold.get(one.query.query_id, frozenset()), pools.get(one.query.query_id, ()), notes)
        if isinstance(row, str):
            skipped[row] += 1
        else:
            rows.append(row)
    kinds = [ALL, *sorted({kind for row in rows for kind in (row.kind, _group(row.kind))})] if rows else []
    by = {kind: _numbers([row for row in rows if kind in (ALL, row.kind, _group(row.kind))]) for kind in kinds}
    return {"n": len(rows), "skipped": dict(sorted(skipped.items())), "notes": dict(sorted(notes.items())), "by": by}


def _group(kind: str) -> str:
    """Of ``call, same session`` and ``call, earlier session``: ``call``."""
    return kind.partition(",")[0]


def _row(one: Labelled, gold: AbstractSet[str], pool: Sequence[str], notes: Counter[str]) -> Row | str:
    if not gold:
        return "no gold"
    ids = sorted(set(pool))  # equal gains go by id
    gains = {use.memory_id: use.gain for use in one.uses}
    if strange := len(gains.keys() - set(ids)):
        notes["credited memory outside the pool"] += strange
    if lost := len(gold - set(ids)):
        notes["used memory outside the pool"] += lost
    gain, truth = np.array([gains.get(name, 0.0) for name in ids]), np.array([name in gold for name in ids], bool)
    if not truth.any():
        return "no gold in the pool"
    if truth.all():
        return "nothing but gold in the pool"
    order = np.argsort(-gain, kind="stable")
    total = float(gain.sum())
    values = {"auc": auc(gain, truth), "gain_on_gold": float(gain[truth].sum()) / total if total else 0.0}
    values["top1"] = float(truth[order[0]]) if gain.max() > gain.min() else 0.0
    values |= measure(NDCG, [ids[place] for place in order], gold & set(ids))
    return Row(one.query.user_id, one.kind, gain, truth, values)


def _numbers(rows: Sequence[Row]) -> dict[str, Any]:
    users = [row.user_id for row in rows]
    found: dict[str, Any] = {"n": len(rows), "users": len(set(users))}
    columns = np.array([list(row.values.values()) for row in rows])
    draws = resampled_means(columns, users)
    for place, name in enumerate(rows[0].values):
        around = interval(draws[:, place], float(columns[:, place].mean()), found["users"])
        found[name] = {"mean": around.mean, "low": around.low, "high": around.high}
    found |= _decision(rows)
    gain, truth = np.concatenate([row.gain for row in rows]), np.concatenate([row.truth for row in rows])
    if gain.min() >= 0 and gain.max() <= 1:
        found["calibration"] = summary(gain, truth.astype(np.float64))
    return found


def _decision(rows: Sequence[Row]) -> dict[str, Any]:
    """Ids of users are hashes, so every other one of them is a fair half."""
    first = set(sorted({row.user_id for row in rows})[::2])
    marks = [row.user_id in first for row in rows]
    for half in (True, False):
        if half not in marks:
            return dict.fromkeys(("threshold", "precision", "recall", "f1"))
    gain, truth = np.concatenate([row.gain for row in rows]), np.concatenate([row.truth for row in rows])
    chosen_on = np.repeat(marks, [len(row.gain) for row in rows])
    made = held_out_decision(gain, truth, chosen_on)
    return asdict(made) | _around([row for row, chosen in zip(rows, marks) if not chosen], made.threshold)


def _around(rows: Sequence[Row], threshold: float) -> dict[str, Any]:
    """Intervals of precision, recall and F1 by users drawn anew, the threshold as it is."""
    users = [row.user_id for row in rows]
    marks = [(row.gain >= threshold, row.truth) for row in rows]
    counts = np.array([(float((m & t).sum()), float(m.sum()), float(t.sum())) for m, t in marks])
    right, chosen, gold = resampled_means(counts, users).T
    found = {"precision": (right, chosen), "recall": (right, gold), "f1": (2 * right, chosen + gold)}
    ends = {name: interval(a / np.maximum(b, 1e-12), 0.0, len(set(users))) for name, (a, b) in found.items()}
    return {f"{name}_{end}": getattr(around, end) for name, around in ends.items() for end in ("low", "high")}
