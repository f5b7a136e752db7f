"""From mined streams to a fitted, calibrated head: the steps that a training stage and a cross-fit share."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Protocol

from hindsight.encoder.cache import CacheConfig
from hindsight.parallel import each
from hindsight.scorer.head import Head
from hindsight.scorer.switch import Switch, TwoHeads
from hindsight.train.batches import Listed, listed
from hindsight.train.calibrate import calibrate
from hindsight.train.loop import Fit, Sink, fit
from hindsight.train.regimes import learn_switch, used
from hindsight.types import DataError, Encoder, Labeler, Labelled, Mined


class Buildable(Protocol):
    def build(self) -> Encoder: ...


class HeadConfig(Protocol):
    """Linear, Mlp or Switch."""

    @property
    def columns(self) -> tuple[str, ...]: ...

    def build(self) -> Any: ...


@dataclass(frozen=True)
class Encoding:
    """An encoder's settings and its cache's: small enough to be sent to another process, which builds its own."""

    encoder: Buildable
    cache: CacheConfig

    def build(self) -> Encoder:
        return self.cache.build(self.encoder.build())


@dataclass(frozen=True)
class Learned:
    """A head and what is known of how it was made."""

    head: Head | TwoHeads
    queries: dict[str, int]  # kind -> training queries
    held_out: int  # queries of held-out users
    calibration: dict[str, object]


def label_each(streams: Sequence[Mined], labeler: Labeler, encoding: Encoding, jobs: int) -> list[list[Labelled]]:
    """Each user's training queries, in the order of ``streams``."""
    return list(each(partial(_label, labeler, encoding), streams, jobs, "label"))


def features_each(
    streams: Sequence[Mined], labelled: Sequence[Sequence[Labelled]], encoding: Encoding, columns: Sequence[str], jobs: int
) -> list[list[Listed]]:
    """Each user's feature lists, by replay."""
    return list(each(partial(_features, encoding, tuple(columns)), list(zip(streams, labelled)), jobs, "features"))


def learn(
    corpora: Sequence[Sequence[Labelled]],
    lists: Sequence[Listed],
    labeler: Labeler,
    scorer: HeadConfig,
    settings: Fit,
    held_out: frozenset[str],
    folder: Path | None = None,
    sink: Sink = lambda row: None,
) -> Learned:
    """Fits on the users that are not held out, stops early and calibrates on those that are. Corpora weigh the same, whatever
    their size; which one a query is from is seen nowhere else."""
    by_id = {(one.user_id, one.query_id): one for one in lists}
    training: list[tuple[Listed, float]] = []
    held: list[tuple[Listed, float]] = []
    for labelled in corpora:
        balanced = labeler.balance([one for one in labelled if one.query.user_id not in held_out])
        training += _even([(by_id.get((one.query.user_id, one.query.query_id)), one.weight) for one in balanced])
        held += _even(
            [(by_id.get((one.query.user_id, one.query.query_id)), 1.0) for one in labelled if one.query.user_id in held_out]
        )
    if not any(one.gain.any() for one, _ in training):
        raise DataError("training queries", "none", "more dialogues, or another labeler: no user has a query with a use")
    if isinstance(scorer, Switch):
        head, calibration = learn_switch(scorer, training, held, settings, folder, sink)
    else:
        head = fit(scorer.build(), used(training), [one for one, _ in used(held)], settings, folder, sink)
        calibration = calibrate(head, [one for one, _ in held]) if len(held) > 1 else {}
    kinds: dict[str, int] = {}
    for one, _ in training:
        kinds[one.kind] = kinds.get(one.kind, 0) + 1
    return Learned(head, kinds, len(held), calibration)


def _even(found: Sequence[tuple[Listed | None, float]]) -> list[tuple[Listed, float]]:
    """Those that have features, with a mean weight of 1 in each kind of corpus."""
    kept = [(one, weight) for one, weight in found if one is not None]
    total = sum(weight for _, weight in kept)
    return [(one, weight * len(kept) / total) for one, weight in kept] if total else []


def hold_out(users: Sequence[str], share: float) -> frozenset[str]:
    """About ``share`` of the users, at least one and never all, chosen by a hash of their ids; none where there is but one user."""
    ordered = sorted(set(users), key=lambda user: hashlib.sha256(f"held out {user}".encode()).hexdigest())
    if len(ordered) < 2 or share <= 0:
        return frozenset()
    return frozenset(ordered[: min(len(ordered) - 1, max(1, round(share * len(ordered))))])


@lru_cache(maxsize=1)
def built(encoding: Encoding) -> Encoder:
    """One a process: users share its weights and what it has in memory."""
    return encoding.build()


def _label(labeler: Labeler, encoding: Encoding, stream: Mined) -> list[Labelled]:
    found = labeler.label(stream.turns, stream.memories, built(encoding))
    return [replace(one, query=replace(one.query, user_id=stream.user_id)) for one in found]


def _features(encoding: Encoding, columns: tuple[str, ...], work: tuple[Mined, Sequence[Labelled]]) -> list[Listed]:
    stream, labelled = work
    return listed(stream.turns, stream.memories, labelled, built(encoding), columns)
