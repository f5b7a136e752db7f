"""Other people's systems in the same table: a TREC run, or a class of theirs."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from hindsight.measure.trec import ranked, read_run
from hindsight.system.baselines import at_least_one
from hindsight.system.past import Past
from hindsight.types import ConfigError, Count, Hit, Query, System, Turn


@dataclass(frozen=True)
class Run:
    """``scores``: query_id -> memory_id -> score. ``count``: queries that the run lacks are skipped with a reason, lines about
    memories that may not be recalled at that moment are noted and left out."""

    name: str
    past: Past
    scores: Mapping[str, Mapping[str, float]]
    count: Count = field(default_factory=Count)

    def observe(self, user_id: str, turns: Sequence[Turn]) -> None:
        self.past.observe(user_id, turns)

    def recall(self, query: Query, k: int) -> list[Hit]:
        at_least_one(k)
        if query.query_id not in self.scores:
            self.count.skip("query is not in the run", place=query.query_id)
            return []
        self.count.keep()
        allowed = {memory.memory_id for memory in self.past.memories(query)}
        own = {memory_id: score for memory_id, score in self.scores[query.query_id].items() if memory_id in allowed}
        if foreign := len(self.scores[query.query_id]) - len(own):
            self.count.note("line about a memory that is not in the query's pool", foreign, place=query.query_id)
        return [Hit(query.query_id, memory_id, own[memory_id]) for memory_id in ranked(own)[:k]]


def run(path: Path, past: Past, tag: str | None = None) -> Run:
    """``system.run=FILE.trec``. Raises DataError on a file that is no run, or holds several without a tag."""
    return Run(tag or path.stem, past, read_run(path, tag))


def load(path: str, past: Past) -> System:
    """``system.path=module:Class``. The class is called without arguments, or with the shared ``past`` where its constructor
    has a parameter of that name (``past.memories(query)`` are the memories to rank). Raises ConfigError saying what is amiss."""

    def wrong(what: str) -> ConfigError:
        return ConfigError([f"system.path={path}: {what}"])

    module, _, name = path.partition(":")
    if not module or not name:
        raise wrong("wanted module:Class")
    try:
        found = getattr(importlib.import_module(module), name)
    except ImportError as error:
        raise wrong(f"cannot import {module}: {error}") from error
    except AttributeError:
        raise wrong(f"{module} has no {name}") from None
    if not inspect.isclass(found):
        raise wrong(f"{name} is not a class")
    missing = [method for method in ("observe", "recall") if not callable(getattr(found, method, None))]
    if missing:
        raise wrong(f"{name} has no method {' and no method '.join(missing)} (see System in hindsight/types.py)")
    make = cast(Callable[..., System], found)
    try:
        return make(past=past) if "past" in inspect.signature(make).parameters else make()
    except (TypeError, ValueError) as error:
        raise wrong(f"{name} cannot be made: {error}") from error
