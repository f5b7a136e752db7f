"""A labeler on a user's own logs, without gold or with a handful: does it speak, do its parts agree, and does the future move it?

The placebo is the same query under another future (futures.py). A label that stays where it is says nothing of use. One that moves may
still say nothing: so it is also asked how often the true future shows more than the other one (50 % is chance). Both favour what is
near in topic, as the true future is: they are evidence that labels read the future, not proof that a memory was needed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from hindsight.audit.futures import Chosen, chosen, novel
from hindsight.audit.look import ATTRIBUTES, LABEL, Look, look, true_to
from hindsight.audit.suite import audit_suite
from hindsight.crossfit import Recipe
from hindsight.features.replay import moment, replay
from hindsight.logs.stream import by_user
from hindsight.measure.agreement import alpha, kappa
from hindsight.measure.significance import cluster_interval
from hindsight.parallel import each
from hindsight.suite.own import judged
from hindsight.suite.past import streams as suite_streams
from hindsight.train.learn import built
from hindsight.types import ConfigError, Count, DataError, Dialogue, Mined, Miner

ROUNDS = 2000  # of the bootstrap: there are some fifty intervals
SHOWN = 12  # labels that a page shows in words
CONTROLS = ("shuffled", "hidden")


@dataclass(frozen=True)
class Audit:
    """Of your own logs. ``gold``: a few pairs, as JSON lines that name the turns they used, or TREC judgments, whose queries are then in
    ``queries`` (data/FORMAT.md). ``limit``: moments that are looked at, 0 for all."""

    gold: Path | None = None
    queries: Path | None = None
    limit: int = 1000

    def __post_init__(self) -> None:
        problems = [f"audit.limit={self.limit}: wanted 0 or more"] if self.limit < 0 else []
        if self.queries and not self.gold:
            problems.append("audit.queries goes with audit.gold")
        if problems:
            raise ConfigError(problems)


def mined(dialogues: Iterable[Dialogue], miner: Miner) -> list[Mined]:
    """As the stage ``mine`` does it."""
    return [
        Mined(user_id, tuple(turn for one in own for turn in one.turns),
              [memory for one in own for memory in miner.mine(one.turns, user_id, one.dialogue_id)])
        for user_id, own in by_user(dialogues)
    ]  # fmt: skip


def audit_logs(dialogues: Sequence[Dialogue], recipe: Recipe, settings: Audit, count: Count) -> dict[str, Any]:
    """What metrics.json says of the labeler; ``gold`` is None without any. ``count``: of moments."""
    gold = audit_pairs(dialogues, recipe, settings) if settings.gold else None  # first: its file may be wrong
    labeler, streams = true_to(recipe.labeler, "real"), mined(dialogues, recipe.miner)
    work = list(zip(streams, chosen(streams, labeler, settings.limit, count)))
    looks: list[Look] = []
    for found, small in each(
        partial(_user, replace(recipe, labeler=labeler)), [one for one in work if one[1]], recipe.jobs, "audit"
    ):
        looks += found
        count.seen += small + len(found)
        count.kept += len(found)
        if small:
            count.skipped["too few memories before it"] = count.skipped.get("too few memories before it", 0) + small
    return {**summary(looks), "gold": gold}


def audit_pairs(dialogues: Sequence[Dialogue], recipe: Recipe, settings: Audit) -> dict[str, Any]:
    """The labels, and each part of their evidence, against a handful of gold. Raises DataError where no pair has a future."""
    queries, qrels = (settings.queries, settings.gold) if settings.queries else (settings.gold, None)
    assert queries is not None
    count = Count()
    found = list(judged(list(suite_streams(dialogues)), queries, qrels, count))
    told = [case for case in found if case.future or case.answers]
    if len(told) < len(found):
        count.skipped["nothing was said after it, and no answer is given"] = len(found) - len(told)
    if not told:
        raise DataError(
            queries, f"no judged query with a future ({count})", "queries before a turn of the log, or with an answer"
        )
    by_owner = [list(group) for _, group in groupby(told, key=lambda case: case.query.user_id)]
    return {"skipped": dict(count.skipped), "notes": dict(count.notes), **audit_suite(by_owner, recipe, parts=True)}


def _user(recipe: Recipe, work: tuple[Mined, Sequence[Chosen]]) -> tuple[list[Look], int]:
    """(what was seen, moments with too small a pool)."""
    stream, moments = work
    encoder = built(recipe.encoding)
    encoder.encode([line for one in moments for line in one.asked.query.text.split("\n")])
    at = {turn.position: turn for turn in stream.turns}
    least = max(2, getattr(recipe.labeler, "least_pool", 2))
    looks: list[Look] = []
    for place, past in replay(stream.turns, stream.memories, encoder, [one.asked.query.asked_at for one in moments]):
        one = moments[place]
        query = one.asked.query
        known = moment(past, query)
        if len(known.rows) >= least:
            words = novel(query, one.future), novel(query, one.news)
            looks.append(look(recipe.labeler, known, [at[position] for position in query.context], one, words))
    return looks, len(moments) - len(looks)


def summary(looks: Sequence[Look]) -> dict[str, Any]:
    """Means over moments, with intervals from whole users drawn anew (of one user: whole sessions)."""
    users = {one.user_id for one in looks}
    cluster = "user" if len(users) > 1 else "session"
    mean = _Mean([one.user_id if cluster == "user" else one.session for one in looks])
    names = list(dict.fromkeys(name for one in looks for name in one.signals))
    return {
        "n": len(looks),
        "users": len(users),
        "cluster": cluster,
        "clusters": len(set(mean.clusters)),
        "kinds": dict(sorted(Counter(one.kind for one in looks).items())),
        "pool": float(np.median([one.pool for one in looks])) if looks else None,
        "labelled": mean(float(one.signals[LABEL].speaks) for one in looks),
        "stays": {name: mean(one.stays.get(name) for one in looks) for name in CONTROLS},
        "apart": mean(one.signals[LABEL].apart for one in looks),
        "novel_words": {"real": mean(float(one.novel[0]) for one in looks), "other": mean(float(one.novel[1]) for one in looks)},
        "signals": {name: _signal(name, looks, mean) for name in names},
        "agreement": _agreement(looks, mean),
        "lean": {name: _lean(name, looks, mean) for name in ATTRIBUTES},
        "examples": [dict(one.shown) for one in looks if one.shown][:: max(1, sum(bool(o.shown) for o in looks) // SHOWN)][:SHOWN],
    }  # fmt: skip


class _Mean:
    """A column's mean and interval; None marks a moment that has no value."""

    def __init__(self, clusters: Sequence[str]) -> None:
        self.clusters = clusters

    def __call__(self, column: Iterable[float | None]) -> dict[str, Any] | None:
        kept = [(value, cluster) for value, cluster in zip(column, self.clusters) if value is not None]
        if not kept:
            return None
        around = cluster_interval([value for value, _ in kept], [cluster for _, cluster in kept], ROUNDS)
        return {**asdict(around), "n": len(kept)}


def _signal(name: str, looks: Sequence[Look], mean: _Mean) -> dict[str, Any]:
    found = [one.signals.get(name) for one in looks]
    with_label = [one.pairs.get((name, LABEL)) or one.pairs.get((LABEL, name)) for one in looks]
    return {
        "speaks": mean(None if one is None else float(one.speaks) for one in found),
        "stays": mean(None if one is None else one.stays for one in found),
        "apart": mean(None if one is None else one.apart for one in found),
        "with_label": None if name == LABEL else mean(None if one is None else one.top1 for one in with_label),
    }


def _agreement(looks: Sequence[Look], mean: _Mean) -> dict[str, Any]:
    rows: list[dict[str, Any]] = []
    for a, b in dict.fromkeys(pair for one in looks for pair in one.pairs):
        column = [one.pairs.get((a, b)) for one in looks]
        there = [pair for pair in column if pair is not None]
        means: Mapping[str, Callable[[Any], float]] = {
            "rank": lambda p: p.rank,
            "top1": lambda p: p.top1,
            "top8": lambda p: p.top,
        }
        rows.append({"a": a, "b": b, "n": len(there), "kappa": kappa(there)}
                    | {key: mean(None if pair is None else read(pair) for pair in column) for key, read in means.items()})  # fmt: skip
    return {"pairs": rows, "alpha": alpha([one.coded for one in looks])}


def _lean(name: str, looks: Sequence[Look], mean: _Mean) -> dict[str, Any]:
    """``shift`` of each future, and ``beyond``: the true future's minus the hidden one's, moment by moment."""
    under = {future: [one.lean.get(future, {}).get(name) for one in looks] for future in ("real", *CONTROLS)}
    real, hidden = under["real"], under["hidden"]
    return {
        "pool": mean(None if one is None else one.pool for one in real),
        "label": mean(None if one is None else one.label for one in real),
        "rank": mean(None if one is None else one.rank for one in real),
        "shift": {future: mean(None if one is None else one.shift for one in column) for future, column in under.items()},
        "beyond": mean(None if a is None or b is None else a.shift - b.shift for a, b in zip(real, hidden)),
    }
