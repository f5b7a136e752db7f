"""After the fit: from a score that ranks to a probability of use, on held-out hindsight labels.

A listwise loss leaves scale and offset open, and whatever is the same for all candidates. So they are fitted here, to soft gains
(Platt 1999, with more columns than one): the score, and what the moment shows of whether anything is needed. What comes out is the
chance that *the labeler* credits a candidate of a training list (hard ones are over-represented there): not yet a probability on gold.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from hindsight.features import need
from hindsight.measure.calibration import Logistic, brier, kept_at, logistic, platt, summary, threshold_for
from hindsight.scorer.head import Doubles, Head, logits
from hindsight.train.batches import Listed
from hindsight.types import DataError, Floats

PRECISIONS = (0.5, 0.7, 0.8, 0.9)
LEAST_SLOPE = 1e-3  # a head whose scores say nothing keeps its order, and every probability is near the base rate


def calibrate(head: Head, held_out: Sequence[Listed]) -> dict[str, object]:
    """Sets the head's slope, shift and, if it reads any, need weights from all held-out candidates. Returns what metrics may quote.

    ``n``, ``brier``, ``ece`` and ``bins`` are of a fit on one half of the users, measured on the other half (of the queries,
    where there is one user); absent where there is but one query. ``brier_base``: of the base rate alone. ``thresholds``: of each
    precision wanted the utility that reaches it on the one half, and what it keeps on the other. ``floored``: the scores ran against
    the labels, so the slope is the least that keeps their order. Raises DataError without a query.
    """
    if not held_out:
        raise DataError("calibration", "no held-out query", "one or more: mine and label more dialogues")
    head.calibrate(1.0, 0.0)
    columns = [_columns(head, one.features.astype(np.float32)) for one in held_out]
    gains = [one.gain.astype(np.float64) for one in held_out]
    whole, floored = _fitted(np.concatenate(columns), np.concatenate(gains))
    facts: dict[str, object] = {
        "targets": "hindsight gains of held-out training queries",
        "queries": len(held_out),
        "slope": float(whole.weights[0]),
        "shift": whole.bias,
        "floored": floored,
    }
    first = _first_half(held_out)
    if not all(first):
        x, y = (np.concatenate([row for row, chosen in zip(rows, first) if chosen]) for rows in (columns, gains))
        x_rest, y_rest = (
            np.concatenate([row for row, chosen in zip(rows, first) if not chosen]) for rows in (columns, gains)
        )
        half = _fitted(x, y)[0]
        chances, chances_rest = half.probability(x), half.probability(x_rest)
        facts |= summary(chances_rest, y_rest)
        found = {wanted: threshold_for(chances, y, wanted) for wanted in PRECISIONS}
        facts["thresholds"] = [
            {"wanted": wanted, "threshold": at, **kept_at(chances_rest, y_rest, at)}
            for wanted, at in found.items()
            if at is not None
        ]
        facts["brier_base"] = round(brier(np.full(len(y_rest), y.mean()), y_rest), 6)
    head.calibrate(float(whole.weights[0]), whole.bias, whole.weights[1:].astype(np.float32))
    return facts


def _columns(head: Head, features: Floats) -> Doubles:
    """(candidates, 1 + need columns that the head reads): the score, and what the moment shows, standardised."""
    score = logits(head.contributions(features))
    if need.GROUP not in head.groups:
        return score[:, None]
    places = head.places[head.groups.index(need.GROUP)]
    standard = head.standard(torch.from_numpy(features)).numpy()
    return np.column_stack([score, standard[:, places]])


def _first_half(held_out: Sequence[Listed]) -> list[bool]:
    """By user, since queries of one user are alike; ids are hashes, so every other one of them is a fair half."""
    users = {one.user_id for one in held_out}
    keys = [one.user_id if len(users) > 1 else one.query_id for one in held_out]
    chosen = set(sorted(set(keys))[::2])
    return [key in chosen for key in keys]


def _fitted(columns: Doubles, gains: Doubles) -> tuple[Logistic, bool]:
    scores = columns[:, 0]
    alone = platt(scores, gains)
    if alone.scale < LEAST_SLOPE:
        base = platt(np.zeros(len(gains)), gains).shift
        found = Logistic(np.zeros(columns.shape[1]), base - LEAST_SLOPE * float(scores.mean()))
        found.weights[0] = LEAST_SLOPE
        return found, True
    if columns.shape[1] == 1:
        return Logistic(np.array([alone.scale]), alone.shift), False
    joint = logistic(columns, gains, ridge=1e-5)
    return (
        (joint, False)
        if joint.weights[0] >= LEAST_SLOPE
        else (Logistic(np.append(alone.scale, np.zeros(columns.shape[1] - 1)), alone.shift), False)
    )
