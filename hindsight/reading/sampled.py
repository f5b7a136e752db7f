"""Which questions are asked, where not all are: the same share of each kind, chosen by a hash."""

from __future__ import annotations

from collections.abc import Sequence

from hindsight.reading.judge import Asked
from hindsight.suite.injection import needed
from hindsight.types import Case, opaque


def sample(cases: Sequence[Case], wanted: int) -> list[Case]:
    """``wanted`` cases (0, or more than there are: all), in their order; each kind has its share, rounded so that none that could have a
    place is left out. Another user's or kind's questions change nothing about which of a kind come first."""
    if not wanted or wanted >= len(cases):
        return list(cases)
    kinds: dict[str, list[int]] = {}
    for n, case in enumerate(cases):
        kinds.setdefault(case.kind, []).append(n)
    for own in kinds.values():
        own.sort(key=lambda n: opaque("sample", cases[n].query.query_id))
    exact = {kind: wanted * len(own) / len(cases) for kind, own in kinds.items()}
    take = {kind: min(len(kinds[kind]), max(1, int(share))) for kind, share in exact.items()}
    by_need = sorted(kinds, key=lambda kind: (take[kind] - exact[kind], kind))
    for kind in by_need * len(cases):
        if sum(take.values()) >= wanted:
            break
        take[kind] += take[kind] < len(kinds[kind])
    for kind in sorted(kinds, key=lambda kind: (exact[kind] - take[kind], kind)) * wanted:
        if sum(take.values()) <= wanted:
            break
        take[kind] -= take[kind] > 0
    return [cases[n] for n in sorted(n for kind, own in kinds.items() for n in own[: take[kind]])]


def asked_of(case: Case) -> Asked:
    """What a judge is told of a question. Of one that nothing answers, its answer says why."""
    text = case.query.text
    if not case.relevant:
        return Asked(text, case.kind, (), " ".join(case.answers))
    return Asked(text, case.kind, needed(case))
