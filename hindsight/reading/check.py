"""``hindsight judge-check``: how often a judge accepts what is wrong, and rejects what is right.

Replies whose worth is known are made of a suite's own gold. A judge that accepts wrong ones flatters every system alike, and most of all
one that hedges: so the rates stand beside any judged table, each with its interval.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from hindsight.io import sha256_of, to_json, write_text
from hindsight.logs.raw import MONTHS
from hindsight.reading.answers import normalised
from hindsight.reading.judge import Asked, JudgeChoice, told_of
from hindsight.reading.sampled import asked_of, sample
from hindsight.runs import METRICS, Facts, Run, free, fresh, say
from hindsight.suite.bundled import Bundled
from hindsight.suite.told import overwritten, read_told, rivals
from hindsight.types import Case, Count, DataError, Suite, opaque

UNKNOWN = "I don't know."
RIGHT = ("gold", "gold in a sentence", "gold reworded", "silence")  # the last: of a question that nothing answers
HARD = ("hedged", "negated")  # hold the answer's words and are wrong all the same: by containment none is found out
MEANING = {
    "gold": "the answer as it stands",
    "gold in a sentence": "the answer within a sentence",
    "gold reworded": "the same with numbers, dates or the order written otherwise",
    "silence": f"{UNKNOWN!r} where nothing answers the question",
    "another's answer": "the answer to another question of the same kind",
    "overwritten": "the value that was in force before",
    "look-alike": "another person's value of the same attribute",
    "unknown": f"{UNKNOWN!r} where there is an answer",
    "hedged": "the answer beside another one, without a choice",
    "negated": "the answer, denied",
    "made up": "some answer where nothing answers the question",
}


@dataclass(frozen=True)
class Probe:
    """A reply whose worth is known. ``what``: a key of MEANING."""

    asked: Asked
    what: str
    reply: str

    @property
    def right(self) -> bool:
        return self.what in RIGHT


def check(suite: Suite, source: Path, choice: JudgeChoice, run: Run, facts: Facts) -> Mapping[str, Any]:
    """metrics.json, verdicts.jsonl in effect by the judge's own cache, and a table on standard output."""
    out = free(run.at("judge-check"))
    judge, count = choice.build(), Count()
    cases = [case for case in suite.cases(count) if case.answers]
    if not cases:
        raise DataError(source, f"no question with an answer ({count})", "a suite whose gold has answers")
    silent: list[Case] = getattr(suite, "unanswerable", list)()
    told = _told(suite) if isinstance(suite, Bundled) else {}
    found = [*sample(cases, choice.limit), *sample(silent, max(1, choice.limit // 4))]
    made = list(probes(found, cases, told))
    say(f"judge-check: {judge.id}, {len(found)} questions, {len(made)} replies of known worth")
    verdicts = [
        judge.accepts(one.asked, one.reply) for one in tqdm(made, "judge", disable=len(made) < 50 or not sys.stderr.isatty())
    ]
    report = {
        "suite": getattr(suite, "name", ""),
        "data_sha256": sha256_of(source),
        "judge": told_of(judge),
        "n": len(found),
        "replies": rates(made, verdicts),
        "interval": "Wilson, 95 %, over replies",
        "meaning": MEANING,
        "config": dict(facts.settings),
    }
    write_text(fresh(out) / METRICS, to_json(report, indent=2) + "\n")
    facts.write(out, "judge-check", {"suite": source}, n=len(found))
    show(report)
    return report


def probes(
    chosen: Sequence[Case], all_of: Sequence[Case], told: Mapping[str, Mapping[str, tuple[str, ...]]]
) -> Iterator[Probe]:
    """``told``: query_id -> overwritten and look-alike values, where a suite knows them."""
    for case in chosen:
        asked, rng_key = asked_of(case), case.query.query_id
        other = _another(case, all_of, rng_key)
        if not asked.needed:
            yield Probe(asked, "silence", UNKNOWN)
            if other:
                yield Probe(asked, "made up", f"It is {other}.")
            continue
        gold = " and ".join(asked.needed[0])
        yield Probe(asked, "gold", gold)
        yield Probe(asked, "gold in a sentence", f"As far as I remember, it was {gold}.")
        if (again := reworded(asked.needed[0])) != gold:
            yield Probe(asked, "gold reworded", again)
        yield Probe(asked, "unknown", UNKNOWN)
        yield Probe(asked, "negated", f"It is anything but {gold}.")
        if other:
            yield Probe(asked, "another's answer", other)
            yield Probe(asked, "hedged", f"It is either {other} or {gold}, I can't tell which.")
        for what, values in told.get(case.query.query_id, {}).items():
            for value in values[:1]:
                if not _overlap(value, asked):
                    yield Probe(asked, what, value)


def rates(made: Sequence[Probe], verdicts: Sequence[bool | None]) -> dict[str, dict[str, Any]]:
    """What -> the error, n, unjudged, and its rate with an interval. ``all right``, ``all wrong``: of them together, but for HARD.

    Of the plainly wrong replies none holds the answer's words, so that ``rules`` accepts none by construction: what it can't tell is in
    HARD and in ``gold reworded``."""
    groups: dict[str, list[tuple[Probe, bool | None]]] = {}
    for one, verdict in zip(made, verdicts):
        names = [one.what] + ([] if one.what in HARD else ["all right" if one.right else "all wrong"])
        for name in names:
            groups.setdefault(name, []).append((one, verdict))
    order = [*(name for name in MEANING if name in groups), *(name for name in ("all right", "all wrong") if name in groups)]
    return {name: _rate(groups[name]) for name in order}


def _rate(some: Sequence[tuple[Probe, bool | None]]) -> dict[str, Any]:
    right = some[0][0].right
    known = [verdict for _, verdict in some if verdict is not None]
    errs = sum(verdict is not right for verdict in known)
    low, high = wilson(errs, len(known))
    error = "false reject" if right else "false accept"
    return {"error": error, "n": len(known), "unjudged": len(some) - len(known), "rate": _six(errs / len(known) if known else None),
            "low": _six(low), "high": _six(high)}  # fmt: skip


def wilson(hits: int, n: int, z: float = 1.959964) -> tuple[float, float]:
    """A share's 95 % interval (Wilson 1927), which is not empty at 0 or 1. (0, 1) of nothing.

    >>> tuple(round(x, 3) for x in wilson(0, 100)), tuple(round(x, 3) for x in wilson(5, 10))
    ((0.0, 0.037), (0.237, 0.763))
    """
    if not n:
        return 0.0, 1.0
    share, wide = hits / n, z * z / n
    middle, half = (share + wide / 2) / (1 + wide), z * math.sqrt(share * (1 - share) / n + wide / (4 * n)) / (1 + wide)
    return max(0.0, middle - half), min(1.0, middle + half)


def show(report: Mapping[str, Any]) -> None:
    print(
        f"judge {report['judge']['id']}; suite {report['suite']}; {report['n']} questions; {{low, high}} {report['interval']}\n"
    )
    print("| reply | the judge errs by | n | rate | unjudged |\n|---|---|---|---|---|")
    for name, one in report["replies"].items():
        rate = "–" if one["rate"] is None else f"{one['rate']:.3f} {{{one['low']:.3f}, {one['high']:.3f}}}"
        print(f"| {name} | {one['error']} | {one['n']} | {rate} | {one['unjudged']} |")


_NUMBERS = "zero one two three four five six seven eight nine ten eleven twelve".split()
_MONTHS = tuple(month.capitalize() for month in MONTHS)


def reworded(values: Sequence[str]) -> str:
    """The values in reverse order, small numbers in words, ISO dates as people write them.

    >>> reworded(["3 cats", "2024-05-09"])
    'May 9, 2024 and three cats'
    """

    def date(found: re.Match[str]) -> str:
        year, month, day = map(int, found.groups())
        return f"{_MONTHS[month - 1]} {day}, {year}"

    text = " and ".join(reversed(values))
    text = re.sub(r"\b(\d{4})-(0[1-9]|1[0-2])-(\d\d)\b", date, text)
    return re.sub(r"(?<![\w.,:/-])(\d|1[0-2])(?![\w:%/-]|[.,]\d|, \d)", lambda found: _NUMBERS[int(found[0])], text)


def _another(case: Case, all_of: Sequence[Case], key: str) -> str:
    """The answer to another question of the kind (of any, where the kind has none), that says nothing of this one's own."""
    asked = asked_of(case)
    for one in sorted(all_of, key=lambda one: (one.kind != case.kind, opaque("another", key, one.query.query_id))):
        answer = " and ".join(asked_of(one).needed[0])
        if one.query.query_id != key and not _overlap(answer, asked):
            return answer
    return ""


def _overlap(text: str, asked: Asked) -> bool:
    """Whether one is a part of the other, or of the question: then it is not plainly wrong."""
    own = [normalised(value) for values in asked.needed for value in values]
    bare = normalised(text)
    return not bare or any(bare in one or one in bare for one in own if one)


def _told(suite: Bundled) -> dict[str, dict[str, tuple[str, ...]]]:
    told, found = read_told(suite.path, suite.split), dict[str, dict[str, tuple[str, ...]]]()
    for case in suite.cases(Count()):
        own = told[case.query.user_id]
        old = overwritten(case, own)
        alike = tuple(value for value in rivals(case, own) if value not in old)
        found[case.query.query_id] = {"overwritten": old, "look-alike": alike}
    return found


def _six(value: float | None) -> float | None:
    return None if value is None else round(value, 6)
