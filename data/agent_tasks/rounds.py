"""The three tasks of system R, one round each: what is done on earlier days, and the moments that need it.

Every value stands in one turn alone before it is needed (for a mended error: in the turns that gold names), and never in the last three
turns before the agent acts. ``tests/data/test_agent_tasks.py`` checks it on every row.
"""

from __future__ import annotations

import json
import re
from itertools import combinations
from typing import Any

from data.agent_tasks.log import Log, Place

FIRST, LATER, REDONE = 9, 6, 2  # figures fetched on the first day, on the second, and of the first those fetched anew
OLD_PROJECTS, OLD_ERRORS, COME_AGAIN, HICCUPS = 5, 5, 2, 2


def report(log: Log, number: int) -> None:
    """Figures are fetched on two days; on a later one they are written up, named in other words. Some were fetched anew: the last counts."""
    rng, subject = log.rng, log.words["report"][number % len(log.words["report"])]
    shared = rng.sample(subject["metrics"], 2)
    pairs = [(metric, place) for metric in shared for place in rng.sample(subject["subjects"], 3)]
    others = [(m, s) for m in subject["metrics"] for s in subject["subjects"] if (m, s) not in pairs]
    pairs += rng.sample(others, FIRST + LATER - len(pairs))
    rng.shuffle(pairs)
    values = iter(_numbers(log, [metric for metric, _ in pairs + pairs[:REDONE]]))
    found: dict[tuple[str, str], tuple[str, Place]] = {}

    def fetch(metric: Any, place: Any, request: str) -> None:
        log.user(request)
        value = next(values)
        at = log.call(subject["tool"], {subject["by"]: place[0], "measure": metric[0]}, f"{metric[0]} = {value}")
        log.agent(rng.choice(subject["ack"]))
        found[metric[0], place[0]] = value, at

    log.session()
    log.user(rng.choice(subject["open"]))
    log.agent(log.phrase("ok"))
    for metric, place in pairs[:FIRST]:
        fetch(metric, place, metric[1].format(subject=place[0]))
    log.session()
    for metric, place in pairs[FIRST:]:
        fetch(metric, place, metric[1].format(subject=place[0]))
    for metric, place in pairs[:REDONE]:
        fetch(metric, place, rng.choice(subject["redo"]).format(measure=metric[0], subject=place[0]))
    log.session()
    nothing(log, "report")
    log.session()
    for kind, some in _sections(log, pairs):
        metric, wheres = some[0][0], [place[1] for _, place in some]
        template = rng.choice(subject["compare" if len(some) > 1 else "section"])
        told = [found[one[0], place[0]] for one, place in some]
        text = template.format(what=metric[2], where=wheres[0], other=wheres[-1])
        log.ask(kind, text, [value for value, _ in told], [at for _, at in told])
        values_told = ", ".join(value for value, _ in told)
        line = log.phrase("written", what=metric[2], where=", ".join(wheres), values=values_told)
        log.call(log.words["phrases"]["writer"], {"text": line}, "ok")
        log.agent(log.phrase("added"))


def similar(log: Log, number: int) -> None:
    """Old projects, each with a try that failed and one that worked; then a new one, told in words that none of them used."""
    rng, projects = log.rng, log.words["similar"]
    wanted = projects[number % len(projects)]
    wording = wanted["new"][number // len(projects) % len(wanted["new"])]
    old = [wanted, *rng.sample([one for one in projects if one is not wanted], OLD_PROJECTS - 1)]
    rng.shuffle(old)
    clients = rng.sample(log.words["clients"], len(old))
    for project, client in zip(old, clients):
        good, detail = rng.choice(project["good"]), rng.choice(project["n"])
        log.session()
        log.user(rng.choice(project["past"]).format(client=client))
        log.call(project["tool"], {"client": client, project["key"]: project["bad"]}, project["fail"], "failure")
        log.agent(log.phrase("poor"))
        told = log.user(project["detail"].format(n=detail))
        log.agent(log.phrase("ok"))
        log.user(log.phrase("tryagain"))
        worked = log.call(project["tool"], {"client": client, project["key"]: good}, project["ok"])
        log.agent(log.phrase("worked"))
        log.user(log.phrase("close"))
        log.agent(log.phrase("closed"))
        if project is wanted:
            needed = good, worked, detail, told
    log.session()
    nothing(log, "similar")
    good, worked, detail, told = needed  # pyright: ignore[reportPossiblyUnboundVariable]
    elsewhere = rng.choice([client for project, client in zip(old, clients) if project is not wanted])
    log.session()
    log.ask("similar: approach", log.phrase("lure", client=elsewhere, text=wording), [good], [worked])
    log.call(wanted["tool"], {wanted["key"]: good}, "started")
    log.agent(log.phrase("begun"))
    log.ask("similar: detail", rng.choice(wanted["ask"]), [detail], [told])
    log.agent(log.phrase("told", value=detail))


def errors(log: Log, number: int) -> None:
    """Tasks that go wrong at first, by a tool's refusal or the user's, and are mended; later some come again in other words. Beside them
    calls that merely hung, whose repetition taught nothing."""
    rng, pitfalls = log.rng, log.words["errors"]
    first = [pitfalls[number % len(pitfalls)], pitfalls[(number + 1 + number // len(pitfalls)) % len(pitfalls)]]
    rest = rng.sample([one for one in pitfalls if one not in first], OLD_ERRORS - COME_AGAIN + HICCUPS)
    made, hung = [*first, *rest[: OLD_ERRORS - COME_AGAIN]], rest[OLD_ERRORS - COME_AGAIN :]
    clients, names = rng.sample(log.words["clients"], 8), rng.sample(log.words["names"], 8)
    plan = [(one, False) for one in made] + [(one, True) for one in hung]
    rng.shuffle(plan)
    mended: dict[str, tuple[str, str, list[Place]]] = {}
    for place, (pitfall, hangs) in enumerate(plan):
        if place % 2 == 0:
            log.session()
        slots = {"client": clients[place], "name": names[place], "thing": rng.choice(pitfall["things"])}
        log.user(rng.choice(pitfall["task"]).format(**slots))
        about = {"for": slots["name"] if "reject" in pitfall else slots["client"], "what": slots["thing"]}
        if hangs:
            log.call(pitfall["tool"], about, log.words["phrases"]["transient"], "failure")
            log.agent(log.phrase("retry"))
            log.call(pitfall["tool"], about, pitfall["ok"])
        else:
            good = rng.choice(pitfall["good"])
            mended[pitfall["tool"]] = good, slots["name"], _mend(log, pitfall, about, good, slots["name"])
        log.agent(log.phrase("done"))
        log.user(log.phrase("thanks"))
        log.agent(log.phrase("welcome"))
    log.session()
    nothing(log, "errors")
    for pitfall in rng.sample(first, len(first)):
        good, name, places = mended[pitfall["tool"]]
        log.session()
        client = clients[-1]
        kind = "rejected" if "reject" in pitfall else "failed call"
        log.ask(f"errors: {kind}", rng.choice(pitfall["again"]).format(client=client, name=name), [good], places)
        log.call(pitfall["tool"], {"for": name if "reject" in pitfall else client, pitfall["key"]: good}, pitfall["ok"])
        log.agent(log.phrase("done"))


def nothing(log: Log, task: str) -> None:
    """A moment that needs no memory."""
    text, tool, arguments, result = log.rng.choice(log.words["nothing"])
    log.ask(f"{task}: nothing", text, [], [])
    log.call(tool, arguments, result)
    log.agent(f"{result}.")


def _mend(log: Log, pitfall: Any, about: dict[str, str], good: str, name: str) -> list[Place]:
    """The mistake and its fix: the failed call and the one that worked, or what the user said against it and the one that was accepted."""
    if "reject" in pitfall:
        log.call(pitfall["tool"], {**about, **pitfall["bad"]}, pitfall["ok"])
        log.agent(log.phrase("done"))
        wrong = log.user(pitfall["reject"].format(name=name, good=good))
        log.agent(log.phrase("refused"))
    else:
        wrong = log.call(pitfall["tool"], {**about, **pitfall["bad"]}, pitfall["error"], "failure")
        log.agent(log.phrase("failed"))
    return [wrong, log.call(pitfall["tool"], {**about, pitfall["key"]: good}, pitfall["ok"])]


def _sections(log: Log, pairs: list[Any]) -> list[tuple[str, list[Any]]]:
    """(kind, its figures): two comparisons of places on one measure, two single figures, one that was fetched anew; no figure twice."""
    once = log.rng.sample(pairs[REDONE:], len(pairs) - REDONE)
    two: list[list[Any]] = []
    for a, b in combinations(once, 2):
        if a[0] is b[0] and len(two) < 2 and not any(one in some for one in (a, b) for some in two):
            two.append([a, b])
    single = [one for one in once if not any(one in some for some in two)][:2]
    chosen = [("report: two", some) for some in two] + [("report: one", [one]) for one in single]
    chosen += [("report: renewed", [log.rng.choice(pairs[:REDONE])])]
    return log.rng.sample(chosen, len(chosen))


def _numbers(log: Log, metrics: list[Any]) -> list[str]:
    """One a figure, none twice, and none that is said of something else."""
    found: list[str] = []
    said = set(re.findall(r"\d+", json.dumps(log.words["nothing"])))
    for metric in metrics:
        while (value := str(log.rng.randint(metric[3], metric[4]))) in {*found, *said}:
            pass
        found.append(value)
    return found
