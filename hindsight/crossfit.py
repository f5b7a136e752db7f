"""Trains inside a suite, fold by fold: each user is scored by heads that were trained on the other users' raw dialogues.

No question of the suite is seen in training, except by ``utility_gold``, which is the same head on the other users' gold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from hindsight.parallel import each
from hindsight.train.batches import Listed
from hindsight.train.learn import Encoding, HeadConfig, features_each, label_each, learn
from hindsight.train.loop import Fit
from hindsight.types import Case, ConfigError, Labelled, Mined, Miner, Scorer, Use, opaque

T = TypeVar("T")
FUTURES = {"utility": "real", "utility_hidden": "hidden", "utility_shuffled": "shuffled"}


@dataclass(frozen=True)
class Recipe:
    """How a head is made, whatever the logs."""

    miner: Miner
    labeler: Any
    scorer: HeadConfig
    fit: Fit
    encoding: Encoding
    jobs: int = 0


@dataclass(frozen=True)
class Share:
    """How much of the other folds a head is trained on, for learning curves; 0 is all. ``dialogues``: users whose raw logs are
    labelled; ``gold``: questions of ``utility_gold``. Both are chosen by a hash."""

    dialogues: int = 0
    gold: int = 0


ALL = Share()


def mined(miner: Miner, cases_by_user: Sequence[Sequence[Case]]) -> list[Mined]:
    """Each user's longest past, mined anew: what a log of theirs would have held."""
    streams: list[Mined] = []
    for cases in cases_by_user:
        turns = tuple(max((case.turns for case in cases), key=len))
        user_id = cases[0].query.user_id
        streams.append(Mined(user_id, turns, miner.mine(turns, user_id, "")))
    return streams


def crossfit(
    recipe: Recipe,
    cases_by_user: Sequence[Sequence[Case]],
    names: Sequence[str],
    folds: int,
    seeds: Sequence[int],
    share: Share = ALL,
) -> tuple[list[dict[str, dict[int, Scorer]]], dict[str, int]]:
    """(for each user: system -> seed -> head, training queries of each system). Folds are runs of users in order."""
    if folds < 2 or len(cases_by_user) < folds:
        raise ConfigError([f"evaluation.folds={folds}: wanted from 2 to the number of users, {len(cases_by_user)}"])
    streams = mined(recipe.miner, cases_by_user)
    fold_of = [place * folds // len(streams) for place in range(len(streams))]
    heads: dict[str, list[dict[int, Scorer]]] = {}  # system -> fold -> seed
    sizes: dict[str, int] = {}
    for name in names:
        labelled, labeler = _labelled(recipe, name, streams, cases_by_user)
        lists = features_each(streams, labelled, recipe.encoding, recipe.scorer.columns, recipe.jobs)
        sizes[name] = sum(map(len, lists))
        work = partial(_fit, recipe, labeler, labelled, lists, fold_of, tuple(seeds), share)
        heads[name] = list(each(work, range(folds), recipe.jobs, f"fit {name}"))
    return [{name: heads[name][fold] for name in names} for fold in fold_of], sizes


def _labelled(
    recipe: Recipe, name: str, streams: Sequence[Mined], cases_by_user: Sequence[Sequence[Case]]
) -> tuple[list[list[Labelled]], Any]:
    if name == "utility_gold":
        return [gold(stream, cases) for stream, cases in zip(streams, cases_by_user)], Gold()
    if name not in FUTURES:
        raise ConfigError([f"system {name!r} cannot be cross-fitted; known: {', '.join((*FUTURES, 'utility_gold'))}"])
    labeler = replace(recipe.labeler, future=FUTURES[name])
    return label_each(streams, labeler, recipe.encoding, recipe.jobs), labeler


class Gold:
    """No labeler: every question counts the same."""

    def balance(self, labelled: Sequence[Labelled]) -> list[Labelled]:
        return list(labelled)


def gold(stream: Mined, cases: Sequence[Case]) -> list[Labelled]:
    """A suite's own judgments as training queries: the upper bound, and never part of a product."""
    found: list[Labelled] = []
    for case in cases:
        wanted = set(case.relevant)
        uses = [
            Use(case.query.query_id, m.memory_id, 1.0, "gold") for m in stream.memories if wanted.intersection(m.sources)
        ]
        if uses:
            found.append(Labelled(case.query, tuple(uses), "gold"))
    return found


def _fit(
    recipe: Recipe,
    labeler: Any,
    labelled: Sequence[Sequence[Labelled]],
    lists: Sequence[Sequence[Listed]],
    fold_of: Sequence[int],
    seeds: Sequence[int],
    share: Share,
    fold: int,
) -> dict[int, Scorer]:
    """Of all seeds at once: the lists are large, and sent to a process once a fold."""
    training = [place for place, other in enumerate(fold_of) if other != fold]
    if share.dialogues and not _by_gold(labeler):
        training = _chosen(training, share.dialogues, lambda place: opaque("share", fold, place))
    queries = [one for place in training for one in labelled[place]]
    if share.gold and _by_gold(labeler):
        queries = _chosen(queries, share.gold, lambda one: opaque("share", fold, one.query.query_id))
    features = [one for place in training for one in lists[place]]
    nobody = frozenset[str]()  # held out of a fold: there would be too few to stop early by
    return {
        seed: learn([queries], features, labeler, recipe.scorer, replace(recipe.fit, seed=seed), nobody).head
        for seed in seeds
    }


def _by_gold(labeler: Any) -> bool:
    return isinstance(labeler, Gold)


def _chosen(found: Sequence[T], most: int, by: Callable[[T], str]) -> list[T]:
    """That many, in their own order."""
    last = sorted(map(by, found))[:most][-1:]
    return [one for one in found if [by(one)] <= last]
