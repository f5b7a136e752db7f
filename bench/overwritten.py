"""How often does a value that was overwritten or taken back still outrank the one in force? The bundled logs, questions and tasks whose
value somebody changed:

    python bench/overwritten.py                                             the formula cues, with and without the features
    python bench/overwritten.py --split test --scorers runs/train/a/scorer runs/train/b/scorer

The generator knows which turn first carried each value that was put aside (gold.jsonl names only the ones in force); it is run anew
to be asked. One JSON line a regime and system: ``old above new``, the share of such queries in which an old carrier outranks every
carrier in force, nDCG@10 of these, and of all queries of the regime; each with a 95 % interval by user, and the difference to the
formula as it is, of a scorer to the first scorer.
"""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from data.generator import SEED
from data.generator import __main__ as generator
from data.generator.writer import Writer
from hindsight.encoder.cache import CacheConfig
from hindsight.encoder.hf import HfEncoderConfig
from hindsight.features import matrix
from hindsight.features.moment import Moment
from hindsight.features.outcome import OVERWRITES
from hindsight.io import to_json
from hindsight.measure.significance import resampled_means
from hindsight.miner.turns import Turns
from hindsight.scorer.formula import CUES, Formula, _ndcg
from hindsight.scorer.head import logits
from hindsight.scorer.load import load
from hindsight.suite import bundled
from hindsight.suite.bundled import Bundled
from hindsight.suite.reuse import Reuse
from hindsight.system.past import Past
from hindsight.types import Count, Scorer

Place = tuple[str, int]


def put_aside() -> dict[str, list[Place]]:
    """Gold's query_id -> (session, turn) of those who carried a value that was no longer in force when it was asked for."""
    old: dict[tuple[str, str], list[Place]] = {}
    put, judge = Writer.put, Writer.judge

    def noted(self: Writer, slot: str, rules: Sequence[str], never: Sequence[str] = ()) -> None:
        if slot in self.carriers:
            old.setdefault((self.persona.user_id, slot), []).append(self.carriers[slot])
        put(self, slot, rules, never)

    def judged(self: Writer, *told: Any) -> None:
        judge(self, *told)
        frame = inspect.currentframe()
        named = frame.f_back.f_locals.get("slots", []) if frame and frame.f_back else []
        found: list[Place] = []
        for slot in named:
            value = f"{slot[:-5]}.value" if slot.endswith(".gone") else slot
            found += old.get((self.persona.user_id, value), [])
            found += [self.carriers[value]] if value != slot and value in self.carriers else []
        self.gold[-1]["aside"] = list(dict.fromkeys(found))

    Writer.put, Writer.judge = noted, judged  # type: ignore[method-assign]
    try:
        _, rows, _ = generator.make(SEED)
    finally:
        Writer.put, Writer.judge = put, judge  # type: ignore[method-assign]
    return {row["query_id"]: row["aside"] for row in rows}


def measured(
    regime: str, split: Any, aside: dict[str, list[Place]], scorers: dict[str, Scorer]
) -> tuple[np.ndarray, list[str]]:
    """(queries, 2 * systems) old above new (NaN where nothing was put aside) and nDCG@10; the users."""
    positions = {
        (stream.user_id, at + (regime == "act")): {
            stream.position(row.user_id, session, turn, place) for session, turn in aside[row.query_id]
        }
        for stream, at, _, place, row in bundled.events(bundled.FOLDER, split, regime, Count())
    }
    cases = list((Bundled(split=split) if regime == "ask" else Reuse(split=split)).cases(Count()))
    past = Past(Turns(), CacheConfig().build(HfEncoderConfig().build()))
    columns = tuple(dict.fromkeys(name for scorer in scorers.values() for name in scorer.columns))
    found, users = [], []
    for case in cases:
        past.observe(case.query.user_id, case.turns)
        known, rows = past.pool(case.query)
        features = matrix.compute(Moment(known, case.query, rows), columns)
        source = known.source.view[rows]
        gain = np.isin(source, case.relevant).astype(np.float64)
        old = np.isin(source, list(positions[case.query.user_id, case.query.asked_at] - set(case.relevant)))
        if not gain.any():
            continue
        line: list[float] = []
        for scorer in scorers.values():
            score = logits(scorer.contributions(features[:, [columns.index(name) for name in scorer.columns]]))
            worse = float(score[old].max() > score[gain > 0].max()) if old.any() else np.nan
            line += [worse, _ndcg(score.astype(np.float32), gain)]
        found.append(line)
        users.append(case.query.user_id)
    return np.array(found), users


def report(regime: str, split: str, table: np.ndarray, users: list[str], names: Sequence[str], first: int) -> None:
    changed = ~np.isnan(table[:, 0])
    for what, rows, offset in (
        ("old above new", changed, 0),
        ("ndcg@10 of these", changed, 1),
        ("ndcg@10", changed | True, 1),
    ):
        some = table[rows][:, offset::2]
        draws = resampled_means(some, [user for user, kept in zip(users, rows) if kept])
        for place, name in enumerate(names):
            base = first if place >= first else 0
            away = draws[:, place] - draws[:, base]
            line: dict[str, object] = {"regime": regime, "split": split, "what": what, "n": int(rows.sum()), "system": name}
            line |= {"mean": round(float(some[:, place].mean()), 4), "interval": _interval(draws[:, place])}
            if place != base:
                line |= {
                    "difference": round(float(some[:, place].mean() - some[:, base].mean()), 4),
                    "between": _interval(away),
                }
            print(to_json(line), flush=True)


def _interval(draws: np.ndarray) -> list[float]:
    return [round(float(one), 4) for one in np.quantile(draws, [0.025, 0.975])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--split", default="train", choices=["train", "test", "all"])
    parser.add_argument(
        "--weights", type=float, nargs="+", default=[4.0], help="of both features in the formula, each taken off"
    )
    parser.add_argument("--scorers", type=Path, nargs="*", default=[], help="folders RUN/scorer")
    asked = parser.parse_args()
    scorers: dict[str, Scorer] = {"cues": CUES}
    for weight in asked.weights:
        weights = dict(CUES.weights) | dict.fromkeys(OVERWRITES, -weight)
        scorers[f"cues - {weight:g} (superseded + retracted)"] = Formula(weights)
    first = len(scorers)
    scorers |= {folder.parent.name: load(folder).scorer for folder in asked.scorers}
    aside = put_aside()
    for regime in ("ask", "act"):
        table, users = measured(regime, asked.split, aside, scorers)
        report(regime, asked.split, table, users, list(scorers), first)


if __name__ == "__main__":
    main()
