"""A store told as it happened, from its events, memories, audit log and traces. It is read, and nothing in it is changed.

The audit log keeps ids and numbers, no words and no positions. What belongs to which turn follows from its order: a memory of a turn
was written with it, and a recall's trace says which turn came next. What wrote nothing leaves no mark, so a change stands at the last
turn that is known to have been said by then. Why something was recalled is not kept, its score is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from hindsight.memory.ledger import Logged
from hindsight.memory.own import Own
from hindsight.memory.record import Record
from hindsight.memory.traces import Trace
from hindsight.replay.life import Life, wordings
from hindsight.replay.story import Change, Found, Noted, Recall, Step, Story


def tell(own: Own) -> Story:
    """Read within one transaction of the store, so that all of it is of one moment."""
    turns = {turn.position: turn for turn in own.events()}
    records = wordings(own)
    traces = own.traces()
    recalls: dict[int, list[Recall]] = {}
    changes: dict[int, list[Change]] = {}
    kept: dict[int, tuple[int, int, int]] = {}
    for trace in traces:
        if not trace.trigger:
            recalls.setdefault(trace.position, []).append(Recall(""))
    life, now, born = Life(), -1, _born(records)
    for entry, trace in _paired(own.logged(), [one for one in traces if one.trigger]):
        if entry.kind == "recalled":
            at = now + 1 if trace is None else trace.position
            recalls.setdefault(at, []).append(_recall(entry, trace, life))
            now = max(now, at - 1)
            continue
        now = max([now, *(born.get(one, -1) for one in entry.memory_ids)])
        changes.setdefault(max(now, 0), []).extend(life.read(entry))
        kept[max(now, 0)] = life.kept
    ended = own.next_position()
    last = (0, 0, 0)
    steps: list[Step] = []
    for at in range(max([ended, *(one + 1 for one in (*recalls, *changes))])):
        last = kept.get(at, last)
        steps.append(Step(at, turns.get(at), tuple(recalls.get(at, ())), tuple(changes.get(at, ())), last))
    return Story(tuple(steps), records, ended)


def _born(records: Mapping[Noted, Record]) -> dict[str, int]:
    """memory_id -> the last turn that it was drawn from, which had been said when it was written."""
    return {memory_id: max(one.memory.sources, default=-1) for (memory_id, _), one in records.items()}


def _paired(logged: Sequence[Logged], traces: Sequence[Trace]) -> Iterator[tuple[Logged, Trace | None]]:
    """Each entry, and a recall's with its trace: the next one of the same second that shows none but its memories."""
    left = list(traces)
    for entry in logged:
        found = None
        if entry.kind == "recalled":
            ids = set(entry.memory_ids)
            found = next(
                (one for one in left if int(one.at) == int(entry.at) and ids.issuperset(s.memory_id for s in one.shown)),
                None,
            )
            if found is not None:
                del left[: left.index(found) + 1]
        yield entry, found


def _recall(entry: Logged, trace: Trace | None, life: Life) -> Recall:
    """Scores are gone where one of the memories was erased since."""
    scores = entry.detail.get("scores") or [None] * len(entry.memory_ids)
    shown = {one.memory_id for one in trace.shown} if trace else None
    return Recall(
        trace.trigger if trace else "unknown",
        tuple(
            Found(
                life.note(one),
                score,
                shown=None if shown is None else one in shown,
                cited=None if trace is None else one in trace.cited,
            )
            for one, score in zip(entry.memory_ids, scores)
        ),
    )
