"""A user's own logs as a suite: judged by hindsight labels of users (or of a time) that training did not see, or by people."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from hindsight.io import read_artefact, read_json_lines
from hindsight.logs.native import NativeReader
from hindsight.measure.trec import read_qrels
from hindsight.miner.turns import Turns
from hindsight.suite.past import Prefix, Stream, at_least_one, report, streams
from hindsight.train.learn import hold_out
from hindsight.types import Case, ConfigError, Count, DataError, Labelled, Memory, Query, opaque

WANTED = "held-out queries with a use, or judged queries; with one user alone: split=later"
SELF_SUPERVISED = ("PQ", "RQ")  # their answer is the turn that they were made of: no use by anyone
_NO_TURN = ("turn left out", "message left out")


class Labels(NamedTuple):
    """What a labeler found, and the memories that it names."""

    memories: Sequence[Memory]
    labelled: Sequence[Labelled]

    @classmethod
    def read(cls, memories: Path, labelled: Path) -> Labels:
        """From the artefacts of ``mine`` and ``label``."""
        return cls(list(read_artefact(memories, Memory)), list(read_artefact(labelled, Labelled)))


class Asked(BaseModel):
    """A line of the queries' file. Asked before that turn of the dialogue (the number of its turns: at its end).

    ``relevant``: the turns that it draws on, as ``DIALOGUE_ID:TURN``, where no TREC file says so. ``answer``: for an audit, what came
    next, where that is not the turn itself.
    """

    model_config = ConfigDict(coerce_numbers_to_str=True)
    query_id: str
    user_id: str
    dialogue_id: str
    turn: int
    text: str
    relevant: tuple[str, ...] = ()
    answer: str = ""


@dataclass(frozen=True)
class Own:
    """``path``: the logs, read by ``reader`` (None: native). Two ways to judge:

    ``labels``: by hindsight. ``split`` says what training left out: the ``share`` of ``users`` that it holds out (the same
    ``share`` as its own), or the ``later`` share of every stream (train on logs that end before, see ``later_from``).
    ``queries`` and ``qrels`` (data/FORMAT.md): by people.
    """

    path: Path
    split: Literal["users", "later"] = "users"
    share: float = 0.15
    queries: Path | None = None
    qrels: Path | None = None
    reader: Any = None
    labels: Labels | None = field(default=None, repr=False)
    name: ClassVar[str] = "own"
    unit: ClassVar[str] = "turn"

    @property
    def notes(self) -> tuple[str, ...]:
        if self.qrels is not None:
            return ("judged by people",)
        who = (
            "users held out of fitting, seen by early stop and calibration"
            if self.split == "users"
            else "turns of each user"
        )
        return ("judged by hindsight labels, not by people", f"{self.share:.0%} of the {who}")

    def build(self) -> Own:
        problems = []
        if (self.queries is None) != (self.qrels is None):
            problems.append("suite.queries and suite.qrels go together")
        if (self.labels is None) == (self.qrels is None):
            problems.append("suite own is judged by labels or by suite.qrels: one of them")
        if not 0 < self.share < 1:
            problems.append(f"suite.share is {self.share}, must lie between 0 and 1")
        if problems:
            raise ConfigError(problems)
        return self

    def cases(self, count: Count) -> Iterator[Case]:
        """By user, then ``asked_at``. Raises DataError where no question can be asked, ConfigError on a wrong combination."""
        self.build()
        return at_least_one(self._cases(count), self.path, count, WANTED)

    def _cases(self, count: Count) -> Iterator[Case]:
        log = list(streams((self.reader or NativeReader()).read(self.path, reading := Count())))
        report(reading, count)
        if self.queries is not None and self.qrels is not None:
            if lost := [what for what in reading.notes if what.startswith(_NO_TURN)]:
                raise DataError(self.path, "; ".join(lost), "a log that is read whole, since the judgments count its turns")
            found = judged(log, self.queries, self.qrels, count)
        else:
            labels = self.labels or Labels((), ())
            found = by_hindsight(self._left_out(log, labels, count), labels.memories, count)
        for case in found:
            count.keep()
            yield case

    def _left_out(self, log: Sequence[Stream], labels: Labels, count: Count) -> Iterator[tuple[Stream, list[Labelled]]]:
        """(stream, its labelled queries that training does not see)."""
        users: dict[str, list[Labelled]] = {}
        for one in labels.labelled:
            users.setdefault(one.query.user_id, []).append(one)
        if strange := set(users) - {stream.user_id for stream in log}:
            raise DataError(self.path, f"no user {min(strange)}", "the log that the labels were made from")
        kept = hold_out(list(users), self.share) if self.split == "users" else None
        for stream in log:
            own = users.get(stream.user_id, [])
            first = later_from(len(stream.turns), self.share) if kept is None else 0 if stream.user_id in kept else math.inf
            left = [one for one in own if one.query.asked_at >= first]
            if len(left) < len(own):
                count.note("labelled query on the side of training: not read", len(own) - len(left))
            yield stream, left


def later_from(turns: int, share: float) -> int:
    """The first position of the last ``share`` of a stream; training may read the turns before it."""
    return turns - max(1, math.floor(share * turns)) if turns else 0


def by_hindsight(
    labelled: Iterable[tuple[Stream, Sequence[Labelled]]], memories: Iterable[Memory], count: Count
) -> Iterator[Case]:
    """Relevant = the sources of the memories with a gain. Queries that are their own answer are skipped: nobody used anything."""
    known = {(memory.user_id, memory.memory_id): memory for memory in memories}
    for stream, rows in labelled:
        for one in sorted(rows, key=lambda row: (row.query.asked_at, row.query.query_id)):
            query, relevant = one.query, set[int]()
            if one.kind in SELF_SUPERVISED or one.hidden:
                count.skip("self-supervised query")
                continue
            for use in one.uses:
                memory = known.get((query.user_id, use.memory_id))
                if memory is None:
                    raise DataError(
                        f"label of query {query.query_id}", use.memory_id, "a memory that was mined from this log"
                    )
                if use.gain > 0:
                    relevant.update(memory.sources)
            if not relevant:
                count.skip("no use found")
            elif max(relevant) >= min(query.asked_at, len(stream.turns)):
                raise DataError(
                    f"label of query {query.query_id}", f"turn {max(relevant)}", f"turns before {query.asked_at}"
                )
            else:
                yield Case(query, Prefix(stream.turns, query.asked_at), tuple(sorted(relevant)), f"hindsight {one.kind}")


def judged(log: Sequence[Stream], queries: Path, qrels: Path | None, count: Count) -> Iterator[Case]:
    """Queries and judgments that name turns by the log's ids, as data/FORMAT.md describes them. Without ``qrels`` the queries say
    themselves what is relevant."""
    rows_read = list(read_queries(queries))
    if qrels is None:
        qrels = queries
        judgments = {row.query_id: dict.fromkeys(row.relevant, 1) for _, row in rows_read if row.relevant}
    else:
        judgments = read_qrels(qrels)
    asked: dict[str, list[tuple[int, str, Asked]]] = {}
    owners = {stream.user_id: stream for stream in log}
    for place, row in rows_read:
        stream = owners.get(opaque("user", row.user_id)) or owners.get(row.user_id)
        if stream is None:
            raise DataError(place, f"user {row.user_id}", "a user of the log")
        asked.setdefault(stream.user_id, []).append((_asked_at(stream, row, place), place, row))
    if strange := set(judgments) - {row.query_id for rows in asked.values() for _, _, row in rows}:
        raise DataError(qrels, f"query {min(strange)}", f"a query of {queries.name}")
    for stream in log:
        rows = sorted(asked.get(stream.user_id, []), key=lambda one: one[0])
        turns = {memory.memory_id: memory.sources for memory in Turns().mine(stream.turns, "", "")} if rows else {}
        for at, place, row in rows:
            relevant: set[int] = set()
            for name, relevance in judgments.get(row.query_id, {}).items():
                sources = turns.get(name) or (_named(stream, row.user_id, name, f"{qrels}: query {row.query_id}"),)
                if sources[-1] >= at:
                    count.note("judged turn is not before its query: dropped", place=f"{row.query_id} {name}")
                elif relevance > 0:
                    relevant.update(sources)
            if not relevant:
                count.skip("no turn judged relevant" if row.query_id in judgments else "not judged", place)
                continue
            name = opaque("query", "own", row.query_id)
            query = Query(name, stream.user_id, stream.dialogue_id(row.user_id, row.dialogue_id), row.text, at)
            future = stream.turns[at] if at < len(stream.turns) and not row.answer else None
            answers = (row.answer,) if row.answer else ()
            yield Case(query, Prefix(stream.turns, at), tuple(sorted(relevant)), "judged by people", answers, future)


def _asked_at(stream: Stream, row: Asked, place: str) -> int:
    known = stream.positions.get(stream.dialogue_id(row.user_id, row.dialogue_id), [])
    if known and row.turn == len(known):
        return known[-1] + 1
    return stream.position(row.user_id, row.dialogue_id, row.turn, place)


def _named(stream: Stream, user: str, name: str, place: str) -> int:
    dialogue, _, turn = name.rpartition(":")
    if not dialogue or not turn.isdecimal():
        raise DataError(place, name, "DIALOGUE_ID:TURN, or the memory_id of a turn")
    return stream.position(user, dialogue, int(turn), place)


def read_queries(path: Path) -> Iterator[tuple[str, Asked]]:
    """(place, query). Raises DataError, naming the line, on anything else, and on a query_id that comes again."""
    wanted = '{"query_id": ..., "user_id": ..., "dialogue_id": ..., "turn": ..., "text": ...}'
    seen: set[str] = set()
    for number, record in read_json_lines(path, count := Count()):
        try:
            row = Asked.model_validate(record)
        except ValidationError as error:
            raise DataError(f"{path}:{number}", error, wanted) from error
        if row.query_id in seen:
            raise DataError(f"{path}:{number}", f"query_id {row.query_id} again", "each query once")
        seen.add(row.query_id)
        yield f"{path}:{number}", row
    if count.skipped or not seen:
        raise DataError(path, count, f"lines of {wanted}")
