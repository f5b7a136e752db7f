"""``python eval.py -m ...``: the same evaluation with several settings, on the same questions, and one page that holds them together.

Each job is an ordinary evaluation in a folder of its own; one that was done with the same settings is not done again. The first is the
run as it is without what is swept: all others are held against it, question by question. Settings are chosen on a development split: a
test split is refused unless ``sweep.test=true`` says that a table, not a choice, is wanted.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hindsight.io import read_json_lines, to_json, write_text
from hindsight.measure.significance import comparison, interval, resampled_means
from hindsight.measure.table import over_seeds
from hindsight.report import sweep_page
from hindsight.runs import METRICS, QUESTIONS, say
from hindsight.types import ConfigError, Count, DataError

AS_IS = "as it is"


@dataclass(frozen=True)
class Sweep:
    """``ablate``: also each part of the named memory systems taken out. ``measure``: that is chosen by; "": the suite's headline.
    ``test``: a test split may be swept, for a table of what each part does; nothing may be chosen by it."""

    ablate: bool = False
    measure: str = ""
    test: bool = False


@dataclass(frozen=True)
class Job:
    """``changed``: what it was given beside what all have. ``settings``: all of them, as they are written into its folder."""

    changed: tuple[str, ...]
    folder: Path
    settings: Mapping[str, Any]
    run: Callable[[], object]

    @property
    def label(self) -> str:
        return " ".join(self.changed) or AS_IS

    @property
    def done(self) -> bool:
        """Whether its folder has the result of just these settings."""
        try:
            held = json.loads((self.folder / "config.yaml").read_text("utf-8"))
        except (OSError, ValueError):
            return False
        return (self.folder / METRICS).exists() and held == json.loads(to_json(self.settings))


def refuse_test(split: str, wanted: Sweep) -> None:
    if split == "test" and not wanted.test:
        raise ConfigError(
            ["a sweep of suite.split=test would tune on it: give suite.split=train, or sweep.test=true for a table alone"]
        )


def run_all(jobs: Sequence[Job], wanted: Sweep, split: str, out: Path) -> dict[str, Any]:
    """sweep.json and sweep.html in ``out``. Raises DataError where jobs answered different questions."""
    for number, job in enumerate(jobs, 1):
        say(f"sweep: {number} of {len(jobs)}: {job.label}{' (done before)' if job.done else ''}")
        if not job.done:
            job.run()
    rows = [line for job in jobs for line in _lines(job, wanted)]
    found = {"split": split, "measure": rows[0]["measure"], "jobs": len(jobs), "rows": _held_against_the_first(rows)}
    found["chosen"] = _chosen(found["rows"]) if split != "test" else {}
    write_text(out / "sweep.json", to_json(found, indent=2) + "\n")
    sweep_page.write(out / "sweep.html", found)
    sweep_page.show(found)
    say(f"sweep: {out}/sweep.html")
    return found


def _lines(job: Job, wanted: Sweep) -> list[dict[str, Any]]:
    """A line a system, with its values by question."""
    metrics = json.loads((job.folder / METRICS).read_text("utf-8"))
    measure = wanted.measure or metrics["headline"]
    if measure not in metrics["measures"]:
        raise ConfigError([f"sweep.measure={measure}: measured are {', '.join(metrics['measures'])}"])
    rows = over_seeds(({"seed": 0} | row for _, row in read_json_lines(job.folder / QUESTIONS, Count())), [measure])
    found: list[dict[str, Any]] = []
    for system, cells in metrics["systems"].items():
        own = [row for row in rows if row["system"] == system]
        values = {row["query_id"]: (row["user_id"], row[measure]) for row in own}
        cost = {"tokens": cells.get("tokens"), "ms": (cells.get("ms_per_query") or {}).get("p50")}
        found.append(
            {"system": system, "changed": job.label, "measure": measure, "values": values, "folder": job.folder.name} | cost
        )
    return found


def _held_against_the_first(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """By system, the best first; each with its mean and what it differs by from the system as it is, both with intervals by users."""
    found: list[dict[str, Any]] = []
    for system in dict.fromkeys(line["system"] for line in lines):
        own = [line for line in lines if line["system"] == system]
        first = own[0]["values"]
        if any(line["values"].keys() != first.keys() for line in own):
            raise DataError(
                f"sweep, system {system}", "jobs that answered different questions", "the same suite for all of them"
            )
        table = np.array([[line["values"][query][1] for line in own] for query in first])
        users = [user for user, _ in first.values()]
        draws, clusters = resampled_means(table, users), len(set(users))
        rows: list[dict[str, Any]] = []
        for n, line in enumerate(own):
            one = interval(draws[:, n], float(table[:, n].mean()), clusters)
            row = {key: value for key, value in line.items() if key != "values"}
            row |= {"n": len(first), "users": clusters, "mean": _six(one.mean), "low": _six(one.low), "high": _six(one.high)}
            if n:
                apart = comparison(draws[:, n] - draws[:, 0], float((table[:, n] - table[:, 0]).mean()), clusters)
                row["difference"] = {"mean": _six(apart.difference), "low": _six(apart.low), "high": _six(apart.high)}
            rows.append(row)
        found += sorted(rows, key=lambda row: -row["mean"])
    return found


def _chosen(rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    """System -> what would be chosen: the best mean, if its interval of the difference is above zero; else what there is."""
    found: dict[str, dict[str, str]] = {}
    for system in dict.fromkeys(row["system"] for row in rows):
        best = next(row for row in rows if row["system"] == system)
        apart = best.get("difference")
        clear = bool(apart and apart["low"] is not None and apart["low"] > 0)
        why = "above it by an interval free of zero" if clear else "nothing is above it by an interval free of zero"
        found[system] = {"changed": best["changed"] if clear else AS_IS, "why": why}
    return found


def _six(value: float | None) -> float | None:
    return None if value is None else round(float(value), 6)
