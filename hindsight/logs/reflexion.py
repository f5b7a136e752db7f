"""Reflexion (Shinn et al. 2023, https://arxiv.org/abs/2303.11366): tasks tried again and again, with feedback and reflections.

Two kinds of files. ``env_results_trial_*.json`` (AlfWorld, WebShop) hold each trial's success and the reflections so far; a
folder of them is one run. HotPotQA's ``*.txt`` hold whole trajectories. A task of a run is one user, a trial a session.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hindsight.logs.raw import at_least_one, clean, name_of, read_head, read_json_list, verdict
from hindsight.types import Count, DataError, Dialogue, Outcome, Role, ToolCall, Turn, opaque

WANTED = "Reflexion: env_results_trial_*.json, or HotPotQA's *.txt with BEGIN CORRECT AGENTS, also in folders below"
_TRIAL = re.compile(r"env_results_trial_(\d+)\.json")
_PART = re.compile(r"^BEGIN TRIAL (\d+)$|^-+ BEGIN (CORRECT|INCORRECT|HALTED) AGENTS -+$", re.M)
_QUESTION = re.compile(r"^Question: ", re.M)
_AGAIN = re.compile(r"\s*You have attempted to answer following question before and failed\.[^\n]*")
_STEP = re.compile(r"^(Thought|Action|Observation) (\d+): ?", re.M)
_GOLD = re.compile(r"^Correct answer: ", re.M)
_CALL = re.compile(r"(\w+)\[(.*)\]", re.S)


@dataclass(frozen=True)
class ReflexionReader:
    """``Correct answer`` is not read: the agents never saw it. A trial after the one that succeeded was not run, and is left out."""

    def build(self) -> ReflexionReader:
        return self

    def read(self, path: Path, count: Count) -> Iterator[Dialogue]:
        """A file, or a folder with all below it. A dialogue is a task of a run with all its trials."""
        yield from at_least_one(_read(path, count), path, count, WANTED)


def _read(path: Path, count: Count) -> Iterator[Dialogue]:
    if not path.exists():
        raise DataError(path, "no such file or folder", WANTED)
    files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.suffix in (".json", ".txt"))
    runs: dict[Path, list[Path]] = {}
    for file in files:
        if _TRIAL.fullmatch(file.name):
            runs.setdefault(file.parent, []).append(file)
        elif file.suffix == ".txt" and "AGENTS -" in read_head(file, 1000):
            runs[file] = [file]
        else:
            count.note("file left out: neither results nor trajectories of trials", place=file.name)
    for run, own in runs.items():
        tasks = _questions(run, count) if run.is_file() else _environments(own, count)
        for name, turns, place in tasks:
            count.keep()
            mark = (*run.relative_to(path.parent).parts, name)
            yield Dialogue(opaque("dialogue", "reflexion", *mark), opaque("user", "reflexion", *mark), tuple(turns), place)


@dataclass(slots=True)
class _Task:
    """A task as its trials are read. ``known``: the reflections so far."""

    mark: tuple[str, str]
    trial: str = ""
    turns: list[Turn] = field(default_factory=list[Turn])
    known: set[str] = field(default_factory=set[str])
    solved: bool = False

    def session(self) -> str:
        return opaque("session", "reflexion", *self.mark, self.trial)

    def say(self, role: Role, text: str, *calls: ToolCall) -> None:
        self.turns.append(Turn(len(self.turns), self.session(), role, role, text, None, calls))

    def judge(self, success: bool) -> None:
        self.turns.append(verdict(len(self.turns), self.session(), success))

    def reflect(self, reflections: list[str]) -> None:
        """Each new one is said once, at the end of the trial that it looks back on."""
        for text in reflections:
            if text not in self.known:
                self.known.add(text)
                self.say("assistant", text)


def _environments(files: list[Path], count: Count) -> Iterator[tuple[str, list[Turn], str]]:
    tasks: dict[str, _Task] = {}
    for file in sorted(files, key=lambda one: int(_TRIAL.sub(r"\1", one.name))):
        for number, raw in enumerate(read_json_list(file)):
            name = name_of(raw.get("name")) if isinstance(raw, dict) else ""
            if not name or not isinstance(raw.get("is_success"), bool) or not isinstance(raw.get("memory"), list):
                count.note("trial left out: no name, is_success or memory", place=f"{file.name}:{number}")
                continue
            task = tasks.setdefault(name, _Task((file.parent.name, name)))
            if task.solved:
                count.note("trial left out: the task was solved before")
                continue
            task.trial = file.name
            task.judge(raw["is_success"])
            task.solved = raw["is_success"]
            task.reflect([clean(text.strip(), count) for text in raw["memory"] if isinstance(text, str) and text.strip()])
    for name, task in tasks.items():
        yield name, task.turns, f"{files[0].parent.name}:{name}"


def _questions(file: Path, count: Count) -> Iterator[tuple[str, list[Turn], str]]:
    tasks: dict[str, _Task] = {}
    trial, group = "1", ""
    parts = _PART.split(clean(read_head(file, -1), count))
    for begins, agents, body in zip(parts[1::3], parts[2::3], parts[3::3]):
        trial, group = begins or trial, agents or ""
        for block in _QUESTION.split(body)[1:]:
            head, *steps = _STEP.split(_GOLD.split(block)[0])
            asked, _, told = head.partition("Reflections:")
            question = _AGAIN.sub("", asked).strip()
            task = tasks.setdefault(question, _Task((file.name, question)))
            if task.solved:
                count.note("trial left out: the task was solved before")
                continue
            if task.turns:  # it looks back on the trial before
                task.reflect([one.strip() for one in re.split(r"^- ", told, flags=re.M) if one.strip()])
            task.trial = trial
            task.say("user", question)
            _steps(task, steps, count)
            if not task.turns[-1].text.startswith("Answer is "):
                task.judge(False)  # halted: no step was left for an answer
            task.solved = group == "CORRECT"
    for question, task in tasks.items():
        yield question, task.turns, f"{file.name}:{question[:40]}"


def _steps(task: _Task, steps: list[str], count: Count) -> None:
    """(Thought | Action | Observation, its number, its text), again and again -> a turn of the assistant and one of the tool."""
    by_number: dict[str, dict[str, Any]] = {}
    for kind, number, text in zip(steps[::3], steps[1::3], steps[2::3]):
        by_number.setdefault(number, {})[kind] = text.strip()
    for number, step in by_number.items():
        thought, action, result = (step.get(kind, "") for kind in ("Thought", "Action", "Observation"))
        called = _CALL.fullmatch(action)
        if not called:
            count.note("action is no call: kept as words")
            task.say("assistant", f"{thought}\n{action}".strip())
        else:
            outcome = _outcome_of(result)
            call_id = opaque("call", *task.mark, task.trial, number)
            call = ToolCall(call_id, called[1], {"query": called[2]}, result or None, outcome)
            task.say("assistant", thought, call)
        if result:
            task.say("tool", result)


def _outcome_of(result: str) -> Outcome:
    if result.startswith("Answer is CORRECT"):
        return "success"
    return "failure" if result.startswith(("Answer is INCORRECT", "Could not find", "Invalid")) else "unknown"
