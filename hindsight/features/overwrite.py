"""What a later turn of the same person overwrites or takes back: evidence in 0..1, noted when that turn is observed.

A turn that says so ("now", "instead", "no longer"; "cancel", "forget that") is held against the person's earlier ones: by the rare
words that both have, by cosine, and by the kind of value that both tell. The one that fits best is meant, with those as good.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from hindsight.features import cues
from hindsight.features.postings import Column, Postings
from hindsight.types import Floats, Ints

BACK = 2048  # newest rows that are compared by cosine; rare words reach further
RARE = 0.1  # share of rows beyond which a word links nothing
HALF = 4.0  # shared idf mass that is worth half: two names, or one that nobody else said
NEAR = 0.3  # cosine of turns that have nothing to do with each other
AS_GOOD = 0.7  # of the best: what fits less is not meant
FLOOR = 0.4  # what fits less is chance
OTHER_KIND = 0.6  # where the two tell no value of one kind
_KINDS = [cues.COLUMN[name] for name in ("digit", "date", "clock", "money")]


class Rows(Protocol):
    """What is read of a timeline, which itself calls ``note``."""

    cue: Column
    speaker: Column
    pooled: Column
    entity_count: Column
    superseded: Column
    retracted: Column
    postings: Postings


def note(past: Rows, row: int) -> None:
    """The newest row's turn changes or takes back what earlier rows said."""
    flags = past.cue.view[row]
    marks = [(past.superseded, flags[cues.COLUMN["changes"]]), (past.retracted, flags[cues.COLUMN["retracts"]])]
    if not any(said for _, said in marks):
        return
    rows, evidence = same_thing(past, row)
    for column, said in marks:
        if said:
            column.view[rows] = 1 - (1 - column.view[rows]) * (1 - evidence)


def same_thing(past: Rows, row: int) -> tuple[Ints, Floats]:
    """(earlier rows of the same person, 0..1 how likely each speaks of what the row speaks of); those without a chance are left out."""
    shared = past.postings.shared(row, max(3, int(RARE * row)))
    shared[max(0, row - BACK) : row] += 1e-9  # looked at, whatever they share
    rows = np.flatnonzero(shared[:row])
    rows = rows[past.speaker.view[rows] == past.speaker.view[row]]
    if not len(rows):
        return rows, np.zeros(0, np.float32)
    mass = shared[rows]
    cosine = past.pooled.view[rows] @ past.pooled.view[row]
    fit = 1 - HALF / (HALF + mass) * (1 - np.clip((cosine - NEAR) / (1 - NEAR), 0, 1))
    kinds = past.cue.view[rows][:, _KINDS] @ past.cue.view[row, _KINDS] > 0
    kinds |= (past.entity_count.view[rows] > 0) & (past.entity_count.view[row] > 0)
    fit = np.where(kinds, fit, OTHER_KIND * fit)
    fit = np.clip((fit - FLOOR) / (1 - FLOOR), 0, 1)
    best = float(fit.max())
    if best <= 0:
        return rows[:0], np.zeros(0, np.float32)
    evidence = fit * np.clip((fit / best - AS_GOOD) / (1 - AS_GOOD), 0, 1)
    meant = evidence > 0
    return rows[meant], evidence[meant].astype(np.float32)
