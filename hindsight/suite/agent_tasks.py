"""Agents at work over days (SYSTEMS, system R): what of earlier tool calls and of what was said does the next act need?

*report*: numbers that tool calls gave on earlier days are written up. *similar*: a new project resembles an old one that is told in
other words. *errors*: a call that failed, or what the user rejected, and its fix must be recalled before the same task is tried again.
Made by this project (data/agent_tasks, 20 rounds a task and split); gold by construction: the turns that carry what is needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from hindsight.labeler.moments import moments
from hindsight.suite.gold import Split, events
from hindsight.suite.past import Prefix, at_least_one
from hindsight.types import Case, ConfigError, Count, DataError, Query

FOLDER = Path(__file__).resolve().parents[2] / "data" / "agent_tasks"
TASKS = ("report", "similar", "errors")
CONTEXT = 3
WANTED = "a folder as `python -m data.agent_tasks --to DIR` writes it: data/agent_tasks of a checkout, or suite.path="


@dataclass(frozen=True)
class AgentTasks:
    """A round is a user. Asked after the user's turn and before the agent acts; the query is what the last three turns say.

    ``tasks``: those whose moments are asked. ``split``: ``train`` rounds share no tool, name, request or phrase with ``test`` ones.
    """

    path: Path = FOLDER
    split: Split = "test"
    tasks: tuple[str, ...] = TASKS
    name: ClassVar[str] = "agent_tasks"
    unit: ClassVar[str] = "turn"

    def __post_init__(self) -> None:
        wrong = [f"suite.tasks: no task {name!r}; known: {', '.join(TASKS)}" for name in self.tasks if name not in TASKS]
        if wrong or not self.tasks:
            raise ConfigError(wrong or ["suite.tasks=[]: wanted one or more"])

    @property
    def notes(self) -> tuple[str, ...]:
        return (f"split {self.split}, a round is a user", f"tasks {', '.join(self.tasks)}", "gold by construction")

    def build(self) -> AgentTasks:
        return self

    def cases(self, count: Count) -> Iterator[Case]:
        """By round, then ``asked_at``. Kinds: the task, and what of it."""
        return at_least_one(self._needed(count), self.path, count, WANTED)

    def unanswerable(self) -> list[Case]:
        """Moments of the same rounds that need no memory, with an empty ``relevant``."""
        return [case for case in self._all(Count()) if not case.relevant]

    def _needed(self, count: Count) -> Iterator[Case]:
        for case in self._all(count):
            if case.relevant:
                count.keep()
                yield case
            else:
                count.skip("needs no memory")

    def _all(self, count: Count) -> Iterator[Case]:
        asked: dict[str, dict[int, Query]] = {}
        for stream, at, relevant, place, row in events(self.path, self.split, "act", count):
            if row.type.split(":")[0] not in self.tasks:
                count.note("of another task: not read")
                continue
            if stream.user_id not in asked:
                asked = {stream.user_id: {one.asked_at: one for _, one in moments(stream.turns, stream.user_id, CONTEXT)}}
            query = asked[stream.user_id].get(at + 1)
            if query is None or set(relevant) & set(query.context):
                raise DataError(place, f"turn {row.turn}", "a user's turn that the agent answers, and gold from before it")
            past, future = Prefix(stream.turns, at + 1), stream.turns[at + 1]
            yield Case(query, past, relevant, row.type, tuple(row.answers), future)
