"""Answers -> rows -> the body of metrics.json: each measure on its own questions, with differences, intervals and McNemar's test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hindsight.measure.significance import comparison, holm, interval, mcnemar, resampled_means
from hindsight.measure.table import over_seeds

Row = Mapping[str, Any]

# measure -> (field of a row, which rows). All are better when higher, but for leak.
ANSWERED, CONFLICT, RIVALS, NOTHING, ABSENT = "answered", "conflict", "rivals", "nothing", "absent"
MEASURES: dict[str, tuple[str, str]] = {
    "contains": ("contains", ANSWERED),
    "exact": ("exact", ANSWERED),
    "f1": ("f1", ANSWERED),
    "loglik": ("nats", ANSWERED),
    "loglik/token": ("nats_a_token", ANSWERED),
    "conflict contains": ("contains", CONFLICT),
    "conflict loglik": ("nats", CONFLICT),
    "rivals contains": ("contains", RIVALS),
    "rivals loglik": ("nats", RIVALS),
    "leak": ("leak", NOTHING),
    "leak of absent": ("leak_alike", ABSENT),
}
WRITTEN = ("contains", "exact", "f1", "leak", "leak_alike")  # need a reply
YES_NO = ("contains", "exact", "leak", "leak_alike", "judged")
MEANING = (
    "contains: the reply says all values of the answer; exact, f1: SQuAD's normalisation",
    "loglik: of the gold answer in nats, of its tokens together, and a token",
    "conflict: an overwritten value and the one in force were both shown; rivals: any other value of the attribute was",
    "leak: of questions that nothing answers, the reply utters a value that a shown memory says; of absent: a value of the attribute that "
    "is asked of somebody unknown",
)  # fmt: skip


def summarise(
    rows: Sequence[Row],
    conditions: Sequence[str],
    against: Sequence[str],
    generated: bool,
    wanted: Mapping[str, tuple[str, str]] = MEASURES,
) -> dict[str, Any]:
    """``rows``: one a question, condition and seed: `query_id`, `user_id` (the cluster), `kind`, `system`, `seed`, `parts` (of which
    groups of questions it is), and the fields. ``against``: the conditions that all others are compared with. ``wanted``: as MEASURES."""
    systems: dict[str, dict[str, Any]] = {name: {} for name in conditions}
    comparisons: list[dict[str, Any]] = []
    counts: dict[str, int] = {}
    measures: list[str] = []
    for measure, (field, part) in wanted.items():
        own = [row for row in rows if part in row["parts"]]
        counts[part] = len({row["query_id"] for row in own})
        if not own or (field in WRITTEN and not generated):
            continue
        measures.append(measure)
        _measure(measure, field, own, conditions, against, systems, comparisons)
    answered = [row for row in rows if ANSWERED in row["parts"]]
    kinds = sorted({str(row["kind"]) for row in answered})
    by: dict[str, dict[str, Any]] = {}
    for kind in kinds:
        cells: dict[str, dict[str, Any]] = {name: {} for name in conditions}
        for measure in measures:
            field, part = wanted[measure]
            own = [row for row in answered if row["kind"] == kind]
            if part == ANSWERED:
                _measure(measure, field, own, conditions, (), cells, [])
        by[kind] = cells
    users = len({row["user_id"] for row in rows})
    return {
        "n": len({row["query_id"] for row in rows}),
        "questions": counts,
        "clusters": users,
        "measures": measures,
        "headline": measures[0],
        "seeds": sorted({int(row["seed"]) for row in rows}),
        "systems": systems,
        "kinds": {kind: len({row["query_id"] for row in answered if row["kind"] == kind}) for kind in kinds},
        "by": by,
        "comparisons": comparisons,
    }


def _measure(
    measure: str, field: str, own: Sequence[Row], conditions: Sequence[str], against: Sequence[str],
    systems: dict[str, dict[str, Any]], comparisons: list[dict[str, Any]],
) -> None:  # fmt: skip
    """Means, and differences to each of ``against``, all from the same draws of users."""
    merged = [over_seeds((row for row in own if row["system"] == name), [field]) for name in conditions]
    questions = [row["query_id"] for row in merged[0]]
    users = [row["user_id"] for row in merged[0]]
    values = np.array([[{row["query_id"]: row for row in some}[query][field] for some in merged] for query in questions])
    draws, clusters = resampled_means(values, users), len(set(users))
    first = [{row["query_id"]: row for row in own if row["system"] == name and row["seed"] == 0} for name in conditions]
    for n, name in enumerate(conditions):
        one = interval(draws[:, n], float(values[:, n].mean()), clusters)
        systems[name][measure] = {"mean": _six(one.mean), "low": _six(one.low), "high": _six(one.high)}
    for other in against:
        m, family = list(conditions).index(other), []
        for n, name in enumerate(conditions):
            if n == m:
                continue
            one = comparison(draws[:, n] - draws[:, m], float((values[:, n] - values[:, m]).mean()), clusters)
            told: dict[str, Any] = {
                "a": name, "b": other, "measure": measure, "n": len(questions), "difference": _six(one.difference),
                "low": _six(one.low), "high": _six(one.high), "cluster": "user", "clusters": clusters, "p_alone": _six(one.p),
            }  # fmt: skip
            if field in YES_NO:
                test = mcnemar(*([bool(first[at][query][field]) for query in questions] for at in (n, m)))
                told["mcnemar"] = {"only_a": test.only_a, "only_b": test.only_b, "p": _six(test.p)}
            family.append(told)
        for told, p in zip(family, holm([told["p_alone"] for told in family])):
            told["p"] = _six(p)
        comparisons += family


def _six(value: float | None) -> float | None:
    return None if value is None else round(float(value), 6)
