"""Any suite with gold answers, answered by a language model: each system's memories under one budget, against the whole past.

``python eval.py suite=... answers.lm=local answers.system=[none,bm25,default,full_context]``. Beside what the answers are worth stands what they
cost: tokens read and time. Where the whole past does not fit into the model's window, ``full_context`` is left out of that question, and told.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

import numpy as np
from tqdm import tqdm

from hindsight.crossfit import Recipe
from hindsight.io import sha256_of, to_json, write_json_lines, write_text
from hindsight.lm.endpoint import Endpoint
from hindsight.lm.local import DEFAULT, LocalLm
from hindsight.parallel import each
from hindsight.reading.answers import contains, exact, f1
from hindsight.reading.judge import AnswerJudge, JudgeChoice, told_of
from hindsight.reading.readers import Answerer, EndpointAnswerer, LocalAnswerer, Sheet
from hindsight.reading.recalled import WHOLE, Recalled, recall_each
from hindsight.reading.results import ANSWERED, NOTHING, summarise
from hindsight.reading.sampled import asked_of, sample
from hindsight.reading.work import append, known_at
from hindsight.report import page
from hindsight.report import table as terminal
from hindsight.runs import METRICS, QUESTIONS, Facts, Run, free, refuse, say
from hindsight.system.build import NAMES
from hindsight.system.reranked import Reranker
from hindsight.types import Case, Count, DataError, Scorer, Suite

FILE = "answers.jsonl"
MEASURES = {
    "judged": ("judged", ANSWERED),
    "contains": ("contains", ANSWERED),
    "exact": ("exact", ANSWERED),
    "f1": ("f1", ANSWERED),
    "silence": ("judged", NOTHING),
}
MEANING = (
    "judged: right by the judge; silence: of questions that nothing answers, the judge finds that the reply says so",
    "contains: the reply says all values of the answer; exact, f1: SQuAD's normalisation",
)


@dataclass(frozen=True)
class Answers:
    """``lm``: who answers; none: no answers, but the suite's retrieval. ``system``: whose memories are read; beside the systems' names none,
    full_context (the whole past) and oracle (the evidence). ``k`` memories of at most ``budget`` tokens together. ``sample``: so many questions,
    the same share of each kind (0: all); ``silent``: of them how many may be questions that nothing answers. ``window``: tokens a
    prompt with its reply may have (0: the model's). Else as lm/local and lm/endpoint."""

    lm: Literal["none", "local", "endpoint"] = "none"
    system: tuple[str, ...] = ("none", "bm25", "full_context")
    model: str = DEFAULT
    dtype: Literal["float32", "bfloat16"] = "float32"
    chat: bool = False
    url: str = "http://localhost:8000/v1"
    key: str = ""
    timeout: float = 60.0
    tries: int = 5
    k: int = 8
    budget: int = 512
    new_tokens: int = 24
    sample: int = 60
    silent: int = 12
    window: int = 0

    def __post_init__(self) -> None:
        known = (*WHOLE, *NAMES)
        counts = {"k": self.k, "budget": self.budget, "new_tokens": self.new_tokens}
        zero = {"sample": self.sample, "silent": self.silent, "window": self.window}
        unknown_window = self.lm == "endpoint" and "full_context" in self.system and not self.window
        refuse(
            {f"answers.{name}={value}: wanted 1 or more": value < 1 for name, value in counts.items()}
            | {f"answers.{name}={value}: wanted 0 or more": value < 0 for name, value in zero.items()}
            | {f"answers.system: no system {name!r}; known: {', '.join(known)}": name not in known for name in self.system}
            | {f"answers.system: {name!r} stands twice": self.system.count(name) > 1 for name in self.system}
            | {"answers.system=[]: wanted one or more": not self.system}
            | {"answers.window: an endpoint doesn't tell its window: give it, or leave full_context out": unknown_window}
        )

    def build(self) -> Answerer:
        if self.lm == "local":
            return LocalAnswerer(LocalLm(self.model, self.dtype).build(), self.new_tokens, self.window, self.chat)
        client = Endpoint(self.url, self.model, self.key, self.timeout, self.tries).build()
        return EndpointAnswerer(client, self.new_tokens, self.window)


@dataclass(frozen=True)
class Task:
    """One question read with one system's memories. ``sheet`` None: it does not fit."""

    case: Case
    system: str
    recalled: Recalled
    sheet: Sheet | None


def evaluate(
    suite: Suite, source: Path, recipe: Recipe, choice: Answers, judging: JudgeChoice, scorers: Mapping[str, Scorer],
    candidates: int, reranker: Reranker, run: Run, facts: Facts,
) -> Mapping[str, Any]:  # fmt: skip
    """answers.jsonl while it goes on (a stopped run goes on there), then metrics.json, questions.jsonl and report.html."""
    out = free(run.at("eval"))
    answerer, judge, count = choice.build(), judging.build(), Count()
    cases = _chosen(suite, choice, count, source)
    say(f"answers: {count}")
    users = [list(own) for _, own in groupby(cases, key=lambda case: case.query.user_id)]
    work = partial(recall_each, recipe, choice.system, scorers, candidates, choice.k, reranker)
    recalled = [one for own in each(work, users, recipe.jobs, "recall") for one in own]
    tasks = [
        _task(case, name, found[name], answerer, choice) for case, found in zip(cases, recalled) for name in choice.system
    ]
    unfit = [task for task in tasks if task.sheet is None]
    if unfit:
        say(
            f"answers: the whole past of {len(unfit)} of {len(cases)} questions does not fit into {answerer.window} tokens: "
            "left out of full_context"
        )
    out.mkdir(parents=True, exist_ok=True)
    say(
        f"answers: {len(cases)} questions, {len(tasks) - len(unfit)} prompts, {answerer.name}, judge {judge.id}; {out}/{FILE}"
    )
    known = _read(answerer, [task.sheet for task in tasks if task.sheet], out / FILE)
    rows = [_row(task, known[task.sheet.key], judge) for task in tasks if task.sheet]
    unjudged = {row["query_id"] for row in rows if row["judged"] is None}
    if unjudged:
        say(f"answers: {len(unjudged)} questions without a valid verdict on every reply: left out of all systems")
    rows = [row for row in rows if row["query_id"] not in unjudged]
    if not rows:
        raise DataError(source, "no reply with a verdict", "a judge that answers")
    metrics = {
        "suite": getattr(suite, "name", ""),
        "unit": "answer",
        "data_sha256": sha256_of(source),
        "skipped": dict(count.skipped) | ({"without a valid verdict": len(unjudged)} if unjudged else {}),
        "cluster": "user",
        "pool": None,
        "notes": [*getattr(suite, "notes", ()), f"answered by {answerer.name}", f"judge {judge.id}", *MEANING],
        "judge": told_of(judge),
        "reader": answerer.name,
        **_summary(rows, choice.system),
        "config": dict(facts.settings),
    }
    write_text(out / METRICS, to_json(metrics, indent=2) + "\n")
    write_json_lines(out / QUESTIONS, rows)
    page.write(out / "report.html", metrics, [row for row in rows if ANSWERED in row["parts"]])
    terminal.show(metrics)
    _say_full(metrics)
    facts.write(out, "eval", {"suite": source}, seeds=metrics["seeds"], n=metrics["n"])
    say(f"answers: {out}/report.html")
    return metrics


def _chosen(suite: Suite, choice: Answers, count: Count, source: Path) -> list[Case]:
    """By user, a user's in stream order: a sample of those with an answer, and some that nothing answers."""
    found: list[Case] = []
    for case in suite.cases(count):
        if case.answers:
            found.append(case)
        else:
            count.note("question without a gold answer: left out")
    if not found:
        raise DataError(source, f"no question with an answer ({count})", "a suite whose gold has answers")
    silent: list[Case] = getattr(suite, "unanswerable", list)()
    some = [*sample(found, choice.sample), *(sample(silent, choice.silent) if choice.silent else [])]
    order = {user: n for n, user in enumerate(dict.fromkeys(case.query.user_id for case in [*found, *silent]))}
    return sorted(some, key=lambda case: (order[case.query.user_id], case.query.asked_at))


def _task(case: Case, name: str, recalled: Recalled, answerer: Answerer, choice: Answers) -> Task:
    budget = answerer.window if name == "full_context" else choice.budget
    sheet = answerer.sheet(case.query.text, recalled, budget)
    whole = sheet.shown == len(recalled.memories) and sheet.tokens + choice.new_tokens <= answerer.window
    return Task(case, name, recalled, sheet if name != "full_context" or whole else None)


def _read(answerer: Answerer, sheets: Sequence[Sheet], path: Path) -> dict[str, dict[str, Any]]:
    """key -> {reply, tokens, ms}, each written down as it comes, none read twice."""
    known = known_at(path, "reply")
    for sheet in tqdm(sheets, "answer", disable=not sys.stderr.isatty()):
        if sheet.key not in known:
            one = answerer.answer(sheet)
            known[sheet.key] = {"key": sheet.key, "reply": one.reply, "tokens": one.tokens, "ms": round(one.ms, 3)}
            append(path, [known[sheet.key]])
    return known


def _row(task: Task, read: Mapping[str, Any], judge: AnswerJudge) -> dict[str, Any]:
    case, reply, asked = task.case, str(read["reply"]), asked_of(task.case)
    right = judge.accepts(asked, reply)
    relevant = set(case.relevant)
    return {
        "query_id": case.query.query_id,
        "user_id": case.query.user_id,
        "kind": case.kind,
        "system": task.system,
        "seed": 0,
        "text": case.query.text,
        "parts": [ANSWERED if asked.needed else NOTHING],
        "answer": asked.answer,
        "reply": reply,
        "judge": judge.id,
        "judged": None if right is None else float(right),
        "contains": float(contains(reply, asked.needed)),
        "exact": float(exact(reply, asked.needed)),
        "f1": f1(reply, asked.needed),
        "shown": task.sheet.shown if task.sheet else 0,
        "found": any(relevant.intersection(memory.sources) for memory in task.recalled.memories),
        "prompt_tokens": read["tokens"],
        "ms": read["ms"],
    }


def _summary(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> dict[str, Any]:
    """Every system on every question; ``full_context``: all of them once more, on the questions of which the whole past was read."""
    others = [name for name in names if name != "full_context"]
    asked = len({row["query_id"] for row in rows})
    fits = {row["query_id"] for row in rows if row["system"] == "full_context"}
    same = [row for row in rows if row["query_id"] in fits]
    whole = names if len(fits) == asked else others or names
    found = summarise([row for row in rows if row["system"] in whole], whole, _against(whole), True, MEASURES)
    _add_costs(found, rows)
    if "full_context" in names:
        found["full_context"] = {"asked": asked, "fits": len(fits), "left_out": asked - len(fits)}
        if fits and len(fits) < asked:
            part = summarise(same, names, ["full_context"], True, MEASURES)
            _add_costs(part, same)
            found["full_context"] |= {key: part[key] for key in ("n", "questions", "systems", "comparisons")}
    return found


def _against(names: Sequence[str]) -> list[str]:
    return [name for name in ("full_context", "none") if name in names]


def _add_costs(found: dict[str, Any], rows: Sequence[Mapping[str, Any]]) -> None:
    for name, cells in found["systems"].items():
        own = [row for row in rows if row["system"] == name]
        times = [row["ms"] for row in own]
        cells["ms_per_query"] = {f"p{q}": round(float(np.percentile(times, q)), 3) for q in (50, 95)}
        cells["prompt_tokens"] = round(float(np.mean([row["prompt_tokens"] for row in own])), 1)
        cells["memories_shown"] = round(float(np.mean([row["shown"] for row in own])), 2)


def _say_full(metrics: Mapping[str, Any]) -> None:
    full = metrics.get("full_context")
    if full:
        say(
            f"answers: the whole past fits in {full['fits']} of {full['asked']} questions; {full['left_out']} left out of full_context"
        )
        for name, cells in (full.get("systems") or {}).items():
            mean = {key: cells[key]["mean"] for key in MEASURES if key in cells}
            say(
                f"  on those {full['n']}: {name} {mean}, {cells['prompt_tokens']} prompt tokens, {cells['ms_per_query']['p50']} ms"
            )
