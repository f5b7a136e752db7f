"""One user's past as arrays. It grows by ``observe`` and holds nothing else, so a feature cannot see the future.

A row is a memory, in the order of its last source. Every statistic (document frequencies, lengths, mention counts) is of
what has been observed so far: a stage that replays a log calls ``observe`` up to the query's moment, then asks.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import date

import numpy as np
import numpy.typing as npt

from hindsight.features import answer_words, cues, overwrite
from hindsight.features.postings import Column, Postings, segments
from hindsight.text import length, normalise, terms
from hindsight.types import Encoder, Floats, Ints, Memory, ToolCall, Turn
from hindsight.values import leaves, surfaces

NAMED = "named"  # beside the kinds of values: holds a name
REQUEST_WORDS = 6  # what is shorter rarely opens a goal
_BLOCK = 512  # tokens that are matched at a time: as float32 they fit the second-level cache


class Timeline:
    """What is known of one user at one moment."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder
        self.memories: list[Memory] = []
        self.postings, self.pieces = Postings(), defaultdict[int, int](int)
        self.forms = Postings()  # words as classes, those that an answer may show
        self.session_now = ""  # of the last observed turn
        self.year = ""  # that turns' times or the dates given to tools named last
        self.length = Column()  # index terms of each row
        self.source = Column(dtype=np.int64)  # last source position
        self.session = Column(dtype=np.int32)  # number of the row's session, in order of appearance
        self.speaker = Column(dtype=np.int32)
        self.by_user = Column()  # 1 where the role is user
        self.place = Column()  # rows before it in its session
        self.request = Column(dtype=np.int64)  # row of the request that opened the goal it belongs to
        self.cue = Column(len(cues.NAMES))
        self.cue_total = np.zeros(len(cues.NAMES))  # of each cue over all rows
        self.cued = {name: Column(dtype=np.int64) for name in (*cues.VALUES, NAMED)}  # rows that hold a value of each kind
        self.length_total, self.beside_total = (
            0.0,
            {1: 0.0, 2: 0.0},
        )  # index terms; those of rows so far apart in one session
        self.day = Column(dtype=np.float64)  # of the calendar, NaN where the time is unknown
        self.words, self.entity_count = Column(), Column()
        self.pooled = Column(encoder.dimension)
        self.dot_next, self.dot_second = Column(), Column()  # pooled . pooled of the row after it, and the one after that
        self.accepted, self.refused = Column(), Column()  # the next turn, by somebody else, says yes / no
        self.mentioned, self.mentioned_by_assistant = Column(), Column()  # later turns that share an entity
        self.mentioned_last = Column(dtype=np.int64)
        self.called = Column()  # later tool calls with a value that the row holds
        self.failed = Column()  # 1 where the outcome is failure
        self.superseded, self.retracted = (
            Column(),
            Column(),
        )  # 0..1: a later turn of the same person overwrites it, takes it back
        self.call_time = Column(dtype=np.int64)  # positions of tool calls so far
        self.row_of: dict[str, int] = {}  # by memory_id
        self.sessions: dict[str, int] = {}
        self.speakers: dict[str, int] = {}
        self.entities: list[frozenset[str]] = []
        self.plain: list[str] = []  # normalised texts, for values
        self._with_entity: dict[str, list[int]] = defaultdict(list)
        self.tokens: Column | None = None  # int8 (tokens, token dimension) of all rows, one after another
        self.token_start = Column(dtype=np.int64)  # each row's first token; one more at the end
        self.token_start.append(0)

    def __len__(self) -> int:
        return len(self.memories)

    def observe(self, turns: Sequence[Turn], memories: Iterable[Memory]) -> None:
        """New turns and the memories that end in them, both in order. Raises ValueError if a memory comes out of order."""
        fresh = sorted(memories, key=lambda m: (m.sources[-1], m.memory_id))
        if fresh and self.source.size and fresh[0].sources[-1] < self.source.view[-1]:
            raise ValueError(f"memory {fresh[0].memory_id} ends at {fresh[0].sources[-1]}, before one that is already known")
        by_end: dict[int, list[ToolCall]] = {t.position: list(t.calls) for t in turns if t.calls}
        for memory, encoded in zip(fresh, self.encoder.encode([m.text for m in fresh])):
            self._add(memory, encoded.pooled, encoded.tokens, encoded.pieces)
            for call in by_end.pop(memory.sources[-1], ()):
                self._note_call(call, memory.sources[-1])
        if turns:
            self.session_now = turns[-1].session
        for turn in turns:
            for told in (turn.time or "", *(leaf for call in turn.calls for leaf in leaves(call.arguments))):
                if re.match(r"\d{4}-\d\d-\d\d", told):
                    self.year = told[:4]

    def _add(self, memory: Memory, pooled: Floats, tokens: npt.NDArray[np.int8], pieces: npt.NDArray[np.int32]) -> None:
        row = len(self.memories)
        said = memory.text.split(": ", 1)[-1] if memory.kind == "turn" else memory.text
        bag: dict[str, int] = defaultdict(int)
        for term in terms(memory.text):
            bag[term] += 1
        self.postings.add(bag)
        self.forms.add(dict.fromkeys((form for form in answer_words.forms(said) if form in answer_words.vocabulary()), 1))
        for piece in set(pieces.tolist()):
            self.pieces[piece] += 1
        session = self.sessions.setdefault(memory.session, len(self.sessions))
        same = row > 0 and self.session.view[-1] == session
        self.memories.append(memory)
        self.row_of[memory.memory_id] = row
        self._add_length(row, float(sum(bag.values())), session)
        self.source.append(memory.sources[-1])
        self.session.append(session)
        self.speaker.append(self.speakers.setdefault(memory.speaker, len(self.speakers)))
        self.by_user.append(float(memory.role == "user"))
        self.failed.append(float(memory.outcome == "failure"))
        self.place.append(self.place.view[-1] + 1 if same else 0)
        flags = cues.flags(said)
        self.cue.append(flags)
        self.cue_total += flags
        for name in cues.VALUES:
            if flags[cues.COLUMN[name]] > 0:
                self.cued[name].append(row)
        self.day.append(day_of(memory.time))
        self.words.append(length(said))
        self.request.append(row if not same or self._asks_anew(row) else self.request.view[-1])
        self._add_vectors(row, pooled, tokens)
        for column in (
            self.accepted,
            self.refused,
            self.mentioned,
            self.mentioned_by_assistant,
            self.called,
            self.superseded,
            self.retracted,
        ):
            column.append(0.0)
        self.mentioned_last.append(memory.sources[-1])
        if same and memory.role == "user" and self.memories[row - 1].role != "user":
            self.accepted.view[row - 1] = flags[cues.COLUMN["accepts"]]
            self.refused.view[row - 1] = flags[cues.COLUMN["refuses"]]
        self._note_entities(row, cues.entities(said), memory)
        self.plain.append(normalise(said))
        overwrite.note(self, row)

    def _add_length(self, row: int, length: float, session: int) -> None:
        self.length.append(length)
        self.length_total += length
        for step in self.beside_total:
            if row >= step and self.session.view[row - step] == session:
                self.beside_total[step] += length + float(self.length.view[row - step])

    def _asks_anew(self, row: int) -> bool:
        """A user's request of some length that answers no question and confirms nothing: another goal within the session."""
        now, before = self.cue.view[row], self.cue.view[row - 1]
        flag = cues.COLUMN
        if not (self.by_user.view[row] and now[flag["requests"]] and self.words.view[row] >= REQUEST_WORDS):
            return False
        agrees = row > 1 and self.cue.view[row - 2][flag["confirms"]] and now[flag["acknowledges"]]
        return bool(before[flag["closes"]] or not (agrees or before[flag["has_question"]]))

    def _add_vectors(self, row: int, pooled: Floats, tokens: npt.NDArray[np.int8]) -> None:
        self.pooled.append(pooled)
        self.dot_next.append(0.0)
        self.dot_second.append(0.0)
        if row:
            self.dot_next.view[row - 1] = float(pooled @ self.pooled.view[row - 1])
        if row > 1:
            self.dot_second.view[row - 2] = float(pooled @ self.pooled.view[row - 2])
        if len(tokens) == 0:  # a text without tokens matches nothing: one zero row keeps the segments whole
            tokens = np.zeros((1, tokens.shape[1]), np.int8)
        if self.tokens is None:
            self.tokens = Column(tokens.shape[1], np.int8)
        self.tokens.extend(tokens)
        self.token_start.append(self.tokens.size)

    def _note_entities(self, row: int, found: frozenset[str], memory: Memory) -> None:
        earlier = {other for entity in found for other in self._with_entity[entity]}
        if earlier:
            rows = np.fromiter(earlier, np.int64, len(earlier))
            self.mentioned.view[rows] += 1
            self.mentioned_last.view[rows] = memory.sources[-1]
            if memory.role == "assistant":
                self.mentioned_by_assistant.view[rows] += 1
        for entity in found:
            self._with_entity[entity].append(row)
        self.entities.append(found)
        self.entity_count.append(float(len(found)))
        if found:
            self.cued[NAMED].append(row)

    def _note_call(self, call: ToolCall, position: int) -> None:
        """A value given to a tool was used by the calls: the rows that hold it have proved useful before."""
        self.call_time.append(position)
        for value in call.arguments.values():
            for row in self.holders(surfaces(value)):
                self.called.view[row] += 1

    def with_entity(self, entity: str) -> Sequence[int]:
        """Rows that name it, in order."""
        return self._with_entity.get(entity, ())

    def holders(self, forms: Sequence[str]) -> list[int]:
        """Rows whose text holds any of these normalised strings, in order. The rarest term narrows the search first."""
        found: set[int] = set()
        for form in forms:
            # a lone letter of a script without spaces is no term where others follow it: 8日 in 8日出发
            keys = [term for term in terms(form) if len(term) > 1 or term.isascii()]
            rows: Iterable[int] = range(len(self.plain))
            if keys:
                rows = self.postings.get(min(keys, key=self.postings.frequency))[0].tolist()
            found.update(row for row in rows if form in self.plain[row])
        return sorted(found)

    def best_matches(self, rows: Ints, tokens: npt.NDArray[np.int8]) -> Floats:
        """(rows, tokens) the largest product of each token with a row's own tokens.

        A few rows at a time, as int8 until they are used: what is unpacked stays in the processor's cache, and nothing of it
        has to be kept (float32 would be four times what is stored).
        """
        best = np.zeros((len(rows), len(tokens)), np.float32)
        if self.tokens is None or best.size == 0:
            return best
        query = np.ascontiguousarray((tokens.astype(np.float32) / np.float32(127 * 127)).T)  # (token dimension, tokens)
        start, stored = self.token_start.view, self.tokens.view
        ends = np.cumsum(start[rows + 1] - start[rows])
        bounds = np.searchsorted(ends, np.arange(_BLOCK, int(ends[-1]) + _BLOCK, _BLOCK))
        bounds = np.unique(np.concatenate([[0], bounds, [len(rows)]]))
        for first, last in zip(bounds[:-1].tolist(), bounds[1:].tolist()):
            some = rows[first:last]
            if some[-1] - some[0] == last - first - 1:  # a run
                begins = start[some] - start[some[0]]
                part = stored[start[some[0]] : start[some[-1] + 1]]
            else:
                where, begins = segments(start, some)
                part = stored[where]
            np.maximum.reduceat(part.astype(np.float32) @ query, begins, axis=0, out=best[first:last])
        return best


def day_of(time: str | None) -> float:
    """Days since year 1; NaN where it is unknown or no ISO date."""
    try:
        return float(date.fromisoformat((time or "")[:10]).toordinal())
    except ValueError:
        return math.nan
