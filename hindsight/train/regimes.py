"""Trains a switch: each head on its own regime's queries, the gate on how well each explains what held-out users' turns used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from hindsight.labeler import both
from hindsight.scorer.switch import Switch, TwoHeads
from hindsight.train.batches import Listed
from hindsight.train.calibrate import calibrate
from hindsight.train.gate import fit_gate, responsibility, sharpen
from hindsight.train.loop import Fit, Sink, fit
from hindsight.types import DataError

Weighed = Sequence[tuple[Listed, float]]
LEAST_SHARE = 0.05


def used(queries: Weighed) -> list[tuple[Listed, float]]:
    """Those of which something was used: only they can rank."""
    return [(one, weight) for one, weight in queries if one.gain.any()]


def learn_switch(
    scorer: Switch, training: Weighed, held_out: Weighed, settings: Fit, folder: Path | None, sink: Sink
) -> tuple[TwoHeads, dict[str, Any]]:
    """(the switch, calibration: of the gate, and of each regime over the queries that the gate sends there).

    Without held-out queries the gate is fitted to the training ones, on which the heads look better than they are.
    """
    switch = scorer.build()
    shown, seen = used(training), used(held_out) or used(training)
    acts = [
        float(one.kind in (*both.ACT, *both.ALONE)) for one, _ in shown
    ]  # how much each is act's: at first, its labeler's
    held_acts = [float(one.kind in (*both.ACT, *both.ALONE)) for one, _ in seen]
    facts: dict[str, Any] = {}
    for turn in range(scorer.rounds):
        for regime in ("ask", "act"):
            head, places = (switch.ask, switch.asked) if regime == "ask" else (switch.act, switch.acted)
            own = _share(shown, acts if regime == "act" else [1 - act for act in acts], places, regime == "act")
            held = [
                one
                for one, _ in _share(
                    seen, held_acts if regime == "act" else [1 - a for a in held_acts], places, regime == "act"
                )
            ]
            if not own:
                raise DataError(
                    f"training queries of {regime}", "none", "logs of both kinds, or scorer=linear or mlp for one alone"
                )
            below = folder / f"{regime}-{turn}" if folder else None
            tell = partial(_tell, sink, f"{regime}_{turn}_", (2 * turn + (regime == "act")) * settings.epochs)
            fit(head, own, held if held_out else [], settings, below, tell)
        facts["switch"] = fit_gate(switch, _level(seen, held_acts))
        acts, held_acts = ([responsibility(switch, one) for one, _ in some] for some in (shown, seen))
    facts["switch"] = {**facts["switch"], **sharpen(switch, seen)}
    for regime in ("ask", "act") if held_out else ():
        head, places = (switch.ask, switch.asked) if regime == "ask" else (switch.act, switch.acted)
        sent = [
            one for one, _ in held_out if (switch.acting(one.features[:1].astype("float32"))[0] > 0.5) == (regime == "act")
        ]
        if len(sent) > 1 and any(one.gain.any() for one in sent):
            facts[regime] = calibrate(head, [_cut(one, places) for one in sent])
    return switch, facts


def _tell(sink: Sink, part: str, before: int, row: dict[str, float]) -> None:
    """Epochs count on from one fit to the next, so that the rows of a run are one series."""
    told = {f"{part}{name}": value for name, value in row.items() if name != "epoch"}
    sink({"epoch": before + row["epoch"], **told})


def _share(queries: Weighed, shares: Sequence[float], places: Sequence[int], act: bool) -> list[tuple[Listed, float]]:
    """The part of each query that one regime answers for, over its own columns; the least are left out.

    *act* lives by what was said just before, so an utterance alone teaches it nothing: such queries are for the gate.
    """
    chosen = [(one, weight * share) for (one, weight), share in zip(queries, shares) if share > LEAST_SHARE]
    return [(_cut(one, places), weight) for one, weight in chosen if not (act and one.kind in both.ALONE)]


def _level(queries: Weighed, acts: Sequence[float]) -> list[tuple[Listed, float]]:
    """Both regimes weigh the same in total, so that the gate leans to neither."""
    total = max(sum(acts), 1e-9), max(len(acts) - sum(acts), 1e-9)
    return [(one, weight * (act / total[0] + (1 - act) / total[1])) for (one, weight), act in zip(queries, acts)]


def _cut(one: Listed, places: Sequence[int]) -> Listed:
    return replace(one, features=one.features[:, places])
