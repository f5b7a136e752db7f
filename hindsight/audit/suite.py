"""Labels of questions against gold: a suite's own, or a handful of a user's. For a labeler, its controls, and each part of its evidence."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import partial
from typing import Any

from hindsight.audit.look import LABEL, signals, true_to
from hindsight.crossfit import Recipe, mined
from hindsight.features.replay import moment, replay
from hindsight.measure.audit import audit
from hindsight.parallel import each
from hindsight.train.learn import built
from hindsight.types import Case, Labelled, Mined, Turn, Use

FUTURES = ("real", "shuffled", "hidden")
# future or signal -> labels; query -> relevant memories; query -> pool
Audited = tuple[dict[str, list[Labelled]], dict[str, set[str]], dict[str, list[str]]]


def audit_suite(users: Sequence[Sequence[Case]], recipe: Recipe, parts: bool = False) -> dict[str, Any]:
    """``futures``: future -> what measure/audit.py says of the labels that it gives. With ``parts`` also ``signals``: the same of each
    part of the evidence and of the lexical baseline, under the true future."""
    labelled: dict[str, list[Labelled]] = {name: [] for name in FUTURES}
    gold: dict[str, set[str]] = {}
    pools: dict[str, list[str]] = {}
    futures = [[case.future or _told(case) for case in cases] for cases in users]
    work = list(zip(mined(recipe.miner, users), users, futures, _others(futures)))
    for labels, truth, pool in each(partial(_user, recipe, parts), work, recipe.jobs, "audit"):
        for name, some in labels.items():
            labelled.setdefault(name, []).extend(some)
        gold |= truth
        pools |= pool
    found = {"futures": {name: audit(labelled.pop(name), gold, pools) for name in FUTURES}}
    return found | ({"signals": {name: audit(some, gold, pools) for name, some in labelled.items()}} if parts else {})


def _others(futures: Sequence[Sequence[Turn]]) -> list[list[Turn]]:
    """For each question the future of another: of the same user, who is the harder control; of the next one where a user has
    but one question."""
    found: list[list[Turn]] = []
    for place, own in enumerate(futures):
        order = list(range(len(own)))
        random.Random(f"futures:{len(own)}").shuffle(order)
        after = dict(zip(order, [*order[1:], *order[:1]]))  # a round: none keeps its own
        found.append([own[after[i]] for i in range(len(own))] if len(own) > 1 else [futures[(place + 1) % len(futures)][0]])
    return found


def _user(recipe: Recipe, parts: bool, work: tuple[Mined, Sequence[Case], Sequence[Turn], Sequence[Turn]]) -> Audited:
    stream, cases, futures, others = work
    encoder = built(recipe.encoding)
    labelled: dict[str, list[Labelled]] = {name: [] for name in FUTURES}
    gold: dict[str, set[str]] = {}
    pools: dict[str, list[str]] = {}
    for place, past in replay(stream.turns, stream.memories, encoder, [case.query.asked_at for case in cases]):
        case = cases[place]
        known = moment(past, case.query)
        pool = [past.memories[row] for row in known.rows.tolist()]
        wanted = set(case.relevant)
        gold[case.query.query_id] = {m.memory_id for m in pool if wanted.intersection(m.sources)}
        pools[case.query.query_id] = [m.memory_id for m in pool]
        before = case.turns[len(case.turns) - len(case.query.context) :]
        for name in FUTURES:
            future = others[place] if name == "shuffled" else futures[place]
            # the labelers' own "shuffled" draws from the log; here the future is drawn from the suite
            labeler = true_to(recipe.labeler, "hidden" if name == "hidden" else "real")
            one = labeler.teach(known, before, future) if labeler else None
            uses = one.uses if one else ()
            labelled[name].append(Labelled(case.query, uses, case.kind))
        if parts and len(pool):
            stub = Labelled(case.query, (), "")
            for name, values in signals(true_to(recipe.labeler, "real"), known, before, stub, futures[place])[1].items():
                if name != LABEL:
                    uses = tuple(Use(case.query.query_id, m.memory_id, float(value)) for m, value in zip(pool, values))
                    labelled.setdefault(name, []).append(Labelled(case.query, uses, case.kind))
    return labelled, gold, pools


def _told(case: Case) -> Turn:
    """A question's answer as if the assistant had given it."""
    return Turn(case.query.asked_at, "", "assistant", "assistant", " ".join(case.answers))
