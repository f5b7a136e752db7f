"""``suite=injection``: what is recalled, how it is shown, what is answered, what that is worth. Resumable."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from hindsight.crossfit import Recipe
from hindsight.encoder import golden
from hindsight.io import sha256_of, to_json, write_json_lines, write_text
from hindsight.lm.local import LocalLm
from hindsight.parallel import each
from hindsight.reading.answers import contains, exact, f1, holds, leaked
from hindsight.reading.conditions import Condition, fitting, parse, request
from hindsight.reading.reader import Reader
from hindsight.reading.recalled import Recalled, recall_user
from hindsight.reading.results import ABSENT, ANSWERED, CONFLICT, MEANING, NOTHING, RIVALS, summarise
from hindsight.reading.work import Task, key_of, read_all, time_all
from hindsight.report import page
from hindsight.report import table as terminal
from hindsight.runs import METRICS, QUESTIONS, Facts, Run, free, miner_of, say, scorer_at
from hindsight.scorer.load import home
from hindsight.suite.injection import InjectionSuite, Question
from hindsight.types import ConfigError, Count, Memory, Scorer

ANSWERS = "answers.jsonl"


def evaluate(
    suite: InjectionSuite, recipe: Recipe, scorer: Path, candidates: int, run: Run, facts: Facts
) -> Mapping[str, Any]:
    """All questions under all conditions: answers.jsonl while it goes on, then metrics.json, questions.jsonl and report.html.

    ``scorer``: of the ``utility`` system, whose calibrated utilities all conditions use.
    """
    conditions = _parsed(suite.conditions)
    model = LocalLm(suite.model, suite.dtype).build()
    out = free(run.at("eval"))
    checkpoint = scorer_at(scorer)
    recipe = replace(recipe, miner=miner_of(checkpoint, recipe.miner))  # it says which memories it scores
    count = Count()
    questions = suite.questions(count)
    say(f"injection: {count}")
    golden.check(recipe.encoding.build(), checkpoint.encoder_golden)
    recalled = _recalled(recipe, checkpoint.scorer, candidates, suite.k, questions)
    tokenizer, network = model.loaded
    if not suite.chat:
        tokenizer.chat_template = None
    reader = Reader(tokenizer, network, suite.new_tokens if suite.generate else 0)
    tasks = list(_tasks(suite, conditions, questions, recalled, reader, model.fingerprint))
    out.mkdir(parents=True, exist_ok=True)
    say(
        f"injection: {len(questions)} questions, {len(conditions)} conditions, {len({t.key for t in tasks})} readings; {out}/{ANSWERS}"
    )
    known = read_all(reader, tasks, suite.batch, out / ANSWERS)
    timed = _timed(suite, reader, tasks, questions, out / ANSWERS)
    rows = [_row(questions[task.question], task, known[task.key], recalled[task.question]) for task in tasks]
    names = [condition.name for condition in conditions]
    against = [name for name in names if name == "plain" or (name.startswith("drop:") and "+" not in name)]
    metrics = {
        "suite": suite.name,
        "unit": suite.unit,
        "skipped": dict(count.skipped),
        "data_sha256": sha256_of(suite.path),
        "cluster": "user",
        "notes": [*suite.notes, *MEANING],
        "pool": None,
        **summarise(rows, names, against, suite.generate),
        "config": dict(facts.settings),
    }
    for name, some in timed.items():
        metrics["systems"][name] |= _cost(some)
    write_text(out / METRICS, to_json(metrics, indent=2) + "\n")
    write_json_lines(out / QUESTIONS, rows)
    page.write(out / "report.html", metrics, [row for row in rows if ANSWERED in row["parts"]])
    terminal.show(metrics)
    facts.write(out, "eval", {"suite": suite.path, "scorer": home(scorer)}, seeds=metrics["seeds"], n=metrics["n"])
    say(f"injection: {metrics['questions']}; {out}/report.html")
    return metrics


def _parsed(names: Sequence[str]) -> list[Condition]:
    """Raises ConfigError with every name that is none."""
    found: list[Condition] = []
    problems: list[str] = []
    for name in names:
        try:
            found.append(parse(name))
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(problems)
    return found


def _recalled(recipe: Recipe, scorer: Scorer, candidates: int, k: int, questions: Sequence[Question]) -> list[Recalled]:
    users = [[one.case for one in group] for _, group in groupby(questions, key=lambda one: one.case.query.user_id)]
    work = partial(recall_user, recipe, scorer, candidates, k)
    return [one for own in each(work, users, recipe.jobs, "recall") for one in own]


def _tasks(
    suite: InjectionSuite, conditions: Sequence[Condition], questions: Sequence[Question], recalled: Sequence[Recalled],
    reader: Reader, fingerprint: str,
) -> Iterator[Task]:  # fmt: skip
    """By question, then condition, then seed."""
    words = reader.tokenizer
    for number, (question, found) in enumerate(zip(questions, recalled)):
        text, gold = question.case.query.text, _gold(question)
        fits = {marks: fitting(words, text, found, suite.budget, marks) for marks in {one.marks for one in conditions}}
        target = _target(words, question.target)
        for condition in conditions:
            for seed in range(suite.seeds if condition.by_chance else 1):
                one = request(
                    condition, words, text, fits[condition.marks], suite.budget, gold, seed, question.case.query.query_id
                )
                yield Task(number, condition, seed, one, target, key_of(fingerprint, reader, one, target))


def _gold(question: Question) -> Any:
    relevant = set(question.case.relevant)
    return lambda memory: bool(relevant.intersection(memory.sources))


def _target(words: Any, text: str) -> tuple[int, ...]:
    return tuple(words(f" {text}", add_special_tokens=False)["input_ids"]) if text else ()


def _row(question: Question, task: Task, read: Mapping[str, Any], found: Recalled) -> dict[str, Any]:
    reply, case = str(read["reply"]), question.case
    shown = found.memories
    uttered = leaked(reply, _said(shown, question.told))
    alike = leaked(reply, _said(shown, question.rivals))
    return {
        "query_id": case.query.query_id,
        "user_id": case.query.user_id,
        "kind": case.kind,
        "system": task.condition.name,
        "seed": task.seed,
        "text": case.query.text,
        "parts": _parts(question, shown),
        "answer": question.target,
        "reply": reply,
        "shown": len(task.request.prompt.shown),
        "found": any(map(_gold(question), shown)),
        "contains": float(contains(reply, question.needed)),
        "exact": float(exact(reply, question.needed)),
        "f1": f1(reply, question.needed),
        "nats": read["nats"],
        "nats_a_token": read["nats"] / max(1, read["tokens"]),
        "tokens": read["tokens"],
        "uttered": list(uttered),
        "leak": float(bool(uttered)),
        "leak_alike": float(bool(alike)),
    }


def _parts(question: Question, shown: Sequence[Memory]) -> list[str]:
    """The groups of questions that this one is of."""
    if not question.case.relevant:
        return [NOTHING, *([ABSENT] if question.case.kind == "absent" else [])]
    found = any(map(_gold(question), shown))
    conflict = found and bool(_said(shown, question.old))
    return [ANSWERED, *([CONFLICT] if conflict else []), *([RIVALS] if found and _said(shown, question.rivals) else [])]


def _said(shown: Sequence[Memory], values: Sequence[str]) -> tuple[str, ...]:
    return tuple(value for value in values if any(holds(memory.text, value) for memory in shown))


def _timed(
    suite: InjectionSuite, reader: Reader, tasks: Sequence[Task], questions: Sequence[Question], path: Path
) -> dict[str, list[dict[str, Any]]]:
    """Of the questions spread over all: the condition that comes first takes turns, so that a slow moment hits none more than others."""
    step = max(1, len(questions) // suite.timed) if suite.timed else 0
    chosen = list(range(0, len(questions), step))[: suite.timed] if step else []
    some: list[Task] = []
    for turn, number in enumerate(chosen):
        own = [task for task in tasks if task.question == number and task.seed == 0]
        some += own[turn % len(own) :] + own[: turn % len(own)]
    return time_all(reader, some, path) if some else {}


def _cost(some: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    import numpy as np

    times = [one["ms"] for one in some]
    found: dict[str, Any] = {"ms_per_query": {f"p{q}": round(float(np.percentile(times, q)), 3) for q in (50, 95)}}
    peaks = [one["mb"] for one in some if one["mb"] is not None]
    return found | ({"peak_memory": f"{max(peaks):,.0f} MiB"} if peaks else {})
