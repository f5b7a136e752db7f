"""Per-question rows -> the body of metrics.json.

A row is one question, system and seed: `query_id`, `user_id` (the cluster), `kind`, `system`, `seed`, one key a measure, and where
known `groups` (further parts of the table in which it counts: `distance 30`), `ms` (time of this recall), `tokens` (of the first
hits' text) and `pool` (memories that could have been recalled). Every system must have
answered every question, with every one of its seeds: a missing row is an error, never a zero.

A question's value is its mean over seeds; the interval then resamples users, so it speaks of new users of the same kind
and not of new seeds: for those, `seed_sd` is the spread of the per-seed means.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from hindsight.measure.ranking import Measure, parse
from hindsight.measure.significance import comparison, holm, interval, resampled_means
from hindsight.types import ConfigError, DataError

Row = Mapping[str, Any]
Doubles = npt.NDArray[np.float64]

HEADLINE = "ndcg@10"


@dataclass(frozen=True, slots=True)
class Unit:
    """What the numbers are about. `unit`: the granularity and what is indexed; `skipped`: reason -> questions left out."""

    suite: str
    unit: str
    data_sha256: str
    skipped: Mapping[str, int] = field(default_factory=dict[str, int])
    cluster: str = "user"
    config: Mapping[str, object] = field(default_factory=dict[str, object])


class _Grid:
    """Values of one set of questions, (questions, systems, measures), with their bootstrap draws."""

    def __init__(
        self, values: Doubles, users: Sequence[str], systems: Sequence[str], measures: Sequence[str], rounds: int
    ) -> None:
        self.values, self.users, self.systems, self.measures = values, users, systems, measures
        self.draws = resampled_means(values.reshape(len(values), -1), users, rounds).reshape(rounds, *values.shape[1:])

    def part(self, chosen: Sequence[bool]) -> _Grid:
        users = [user for user, kept in zip(self.users, chosen) if kept]
        return _Grid(self.values[np.array(chosen)], users, self.systems, self.measures, len(self.draws))

    def cells(self) -> dict[str, dict[str, Any]]:
        """System -> measure -> mean, low, high."""
        clusters, means = len(set(self.users)), self.values.mean(0)
        found: dict[str, dict[str, Any]] = {}
        for s, system in enumerate(self.systems):
            row = [interval(self.draws[:, s, m], means[s, m], clusters) for m in range(len(self.measures))]
            cells = [{"mean": _six(one.mean), "low": _six(one.low), "high": _six(one.high)} for one in row]
            found[system] = dict(zip(self.measures, cells))
        return found

    def comparisons(self, pairs: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
        """Every pair on every measure. The pairs on one measure are a family: measures are views of one ranking."""
        found: list[dict[str, Any]] = []
        clusters = len(set(self.users))
        for m, name in enumerate(self.measures):
            family: list[dict[str, Any]] = []
            for a, b in pairs:
                left, right = self.systems.index(a), self.systems.index(b)
                difference = float((self.values[:, left, m] - self.values[:, right, m]).mean())
                one = comparison(self.draws[:, left, m] - self.draws[:, right, m], difference, clusters)
                facts = {"difference": _six(difference), "low": _six(one.low), "high": _six(one.high)}
                family.append({"a": a, "b": b, "measure": name} | facts | {"clusters": clusters, "p_alone": one.p})
            for one, p in zip(family, holm([one["p_alone"] for one in family])):
                one["p"], one["p_alone"] = _six(p), _six(one["p_alone"])
            found += family
        return found


def summarise(
    rows: Iterable[Row],
    about: Unit,
    measures: Sequence[str],
    pairs: Sequence[tuple[str, str]] = (),
    notes: Mapping[str, Mapping[str, object]] | None = None,
    rounds: int = 10000,
) -> dict[str, Any]:
    """The metrics.json of DESIGN.md, rounded to six places; the same rows give the same bytes.

    `pairs`: (a, b) systems to compare on every measure; `p` is Holm-adjusted over the pairs of one measure, `p_alone` is
    not. `notes`: system -> facts that are shown with it (`bytes_per_memory`, `trained_on`, `seen`).
    Beyond the schema: `clusters`, `pool` (min, median, max), `saturated` (measure -> share of questions whose pool is no
    larger than k, so that recall is 1 whatever the order), `headline`, `measures`, `kinds`, `seed_sd`, `p_alone`.
    Raises DataError on rows that do not fit together and ConfigError on an unknown measure or system.
    """
    wanted = parse(measures)
    raw = list(rows)
    if not raw:
        raise DataError("rows", "none", "at least one answered question")
    merged = over_seeds(raw, measures)
    systems = list(dict.fromkeys(row["system"] for row in merged))
    unknown = sorted({name for pair in pairs for name in pair} | set(notes or {}), key=str)
    if problems := [f"no system {name!r}: rows have {', '.join(systems)}" for name in unknown if name not in systems]:
        raise ConfigError(problems)
    questions = _questions(merged, systems)
    users = [question["user_id"] for question in questions]
    grid = _Grid(_columns(merged, systems, questions, measures), users, systems, measures, rounds)
    table = grid.cells()
    for system in systems:
        own = [row for row in raw if row["system"] == system]
        for name, spread in _seed_sd(own, measures).items():
            table[system][name]["seed_sd"] = spread
        table[system] |= _cost(own) | dict((notes or {}).get(system, {}))
    parts = _parts(questions)
    pools = [question["pool"] for question in questions if question.get("pool") is not None]
    saturated = _saturated(wanted, pools)
    return {
        "suite": about.suite,
        "unit": about.unit,
        "n": len(questions),
        "clusters": len(set(users)),
        "cluster": about.cluster,
        "skipped": dict(about.skipped),
        "pool": {"min": min(pools), "median": float(np.median(pools)), "max": max(pools)} if pools else None,
        "saturated": saturated,
        "headline": _headline(measures, saturated),
        "measures": list(measures),
        "data_sha256": about.data_sha256,
        "seeds": sorted({row["seed"] for row in raw}),
        "systems": table,
        "kinds": {name: sum(within) for name, within in parts.items()},
        "by": {name: grid.part(within).cells() for name, within in parts.items()},
        "comparisons": [one | {"cluster": about.cluster} for one in grid.comparisons(pairs)],
        "config": dict(about.config),
    }


def over_seeds(rows: Iterable[Row], measures: Sequence[str]) -> list[dict[str, Any]]:
    """One row a system and question: measures and `ms` are means over its seeds, other keys as in its first row.

    In order of first appearance. Raises DataError on a repeated row, a missing or NaN measure, or unequal seeds.
    """
    groups: dict[tuple[str, str], dict[int, Row]] = {}
    for row in rows:
        place = f"system {row['system']}, query {row['query_id']}, seed {row['seed']}"
        for name in measures:
            if not isinstance(value := row.get(name), Real) or not math.isfinite(value):
                raise DataError(place, value, f"a number for {name}")
        seeds = groups.setdefault((row["system"], row["query_id"]), {})
        if row["seed"] in seeds:
            raise DataError(place, "a second row", "one row a system, question and seed")
        seeds[row["seed"]] = row
    seeds_of: dict[str, set[int]] = {}
    merged: list[dict[str, Any]] = []
    for (system, query_id), seeds in groups.items():
        if seeds_of.setdefault(system, set(seeds)) != set(seeds):
            raise DataError(f"system {system}, query {query_id}", f"seeds {sorted(seeds)}", f"{sorted(seeds_of[system])}")
        row = {key: value for key, value in next(iter(seeds.values())).items() if key != "seed"}
        averaged = [*measures, "ms"] if all(isinstance(one.get("ms"), Real) for one in seeds.values()) else measures
        merged.append(row | {name: float(np.mean([one[name] for one in seeds.values()])) for name in averaged})
    return merged


def _questions(merged: Sequence[Row], systems: Sequence[str]) -> list[Row]:
    """One row a question, and the proof that every system answered all of them, of the same user, kind and pool."""
    questions = {row["query_id"]: row for row in reversed(merged) if row["system"] == systems[0]}
    counts = dict.fromkeys(systems, 0)
    for row in merged:
        place = f"system {row['system']}, query {row['query_id']}"
        first = questions.get(row["query_id"])
        if first is None:
            raise DataError(place, "a question that others have not", f"the questions of {systems[0]}")
        for key in ("user_id", "kind", "pool"):
            if row.get(key) != first.get(key):
                raise DataError(place, f"{key} {row.get(key)!r}", f"{first.get(key)!r}, as for {systems[0]}")
        counts[row["system"]] += 1
    if short := [f"{system} {n}" for system, n in counts.items() if n != len(questions)]:
        raise DataError("rows", ", ".join(short), f"{len(questions)} questions for every system")
    return list(reversed(questions.values()))


def _columns(merged: Sequence[Row], systems: Sequence[str], questions: Sequence[Row], measures: Sequence[str]) -> Doubles:
    """(questions, systems, measures)."""
    place = {question["query_id"]: i for i, question in enumerate(questions)}
    column = {system: i for i, system in enumerate(systems)}
    values = np.empty((len(questions), len(systems), len(measures)))
    for row in merged:
        values[place[row["query_id"]], column[row["system"]]] = [row[name] for name in measures]
    return values


def _parts(questions: Sequence[Row]) -> dict[str, list[bool]]:
    """Kind or group -> whether each question is in it: kinds first, by name. A question without either is in no part."""
    own = [({question["kind"]} - {""}, set(question.get("groups") or ())) for question in questions]
    kinds = sorted(set[str]().union(*(kind for kind, _ in own)))
    groups = sorted(set[str]().union(*(more for _, more in own)) - set(kinds), key=_by_number)
    return {name: [name in kind | more for kind, more in own] for name in [*kinds, *groups]}


def _by_number(name: str) -> list[tuple[int, str]]:
    """`distance 30` before `distance 100`."""
    return [(int(word), "") if word.isdecimal() else (0, word) for word in name.split()]


def _saturated(measures: Sequence[Measure], pools: Sequence[int]) -> dict[str, float]:
    shares = {
        str(one): _six(sum(pool <= one.cutoff for pool in pools) / len(pools))
        for one in measures
        if one.cutoff and not one.tokens and pools
    }
    return {name: share for name, share in shares.items() if share}


def _headline(measures: Sequence[str], saturated: Mapping[str, float]) -> str:
    """The measure that plots and short tables show: nDCG@10, unless the cutoff reaches the pool of most questions."""
    open_ones = [name for name in measures if saturated.get(name, 0) <= 0.5] or list(measures)
    return HEADLINE if HEADLINE in open_ones else open_ones[0]


def _seed_sd(rows: Sequence[Row], measures: Sequence[str]) -> dict[str, float]:
    seeds = sorted({row["seed"] for row in rows})
    if len(seeds) < 2:
        return {}
    means = [[np.mean([row[name] for row in rows if row["seed"] == seed]) for name in measures] for seed in seeds]
    return {name: _six(sd) for name, sd in zip(measures, np.std(means, axis=0, ddof=1))}


def _cost(rows: Sequence[Row]) -> dict[str, Any]:
    times = [row["ms"] for row in rows if row.get("ms") is not None]
    tokens = [row["tokens"] for row in rows if row.get("tokens") is not None]
    found: dict[str, Any] = {"tokens": round(float(np.mean(tokens)), 1)} if tokens else {}
    if not times:
        return found
    return found | {"ms_per_query": {"p50": _six(np.percentile(times, 50)), "p95": _six(np.percentile(times, 95))}}


def _six(value: Any) -> Any:
    return None if value is None else round(float(value), 6)
