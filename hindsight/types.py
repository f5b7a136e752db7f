"""The nouns that every stage speaks, the protocols between the parts, and the errors. Standard library and numpy only.

Positions, not clocks, define the past: a turn's ``position`` is its place in its *user's* stream (0, 1, 2, ...), set by a
reader or a suite. A memory may be recalled for a query only if every position that it draws on is below ``asked_at``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

Outcome = Literal["success", "failure", "unknown"]
Role = Literal["user", "assistant", "system", "tool"]
Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

OUTCOMES: tuple[Outcome, ...] = ("success", "failure", "unknown")
ROLES: tuple[Role, ...] = ("user", "assistant", "system", "tool")


class HindsightError(Exception):
    """Base of every error that is the caller's to mend. The command line prints it without a traceback."""


class DataError(HindsightError):
    """Input that cannot be read: names the place, what stood there, and what was wanted."""

    def __init__(self, place: str | Path, got: object, wanted: str) -> None:
        shown = " ".join(str(got).split())  # an error is one line
        self.place, self.got, self.wanted = str(place), got, wanted
        super().__init__(f"{place}: got {shown if len(shown) <= 200 else shown[:200] + '...'}; wanted {wanted}")

    def __reduce__(self) -> tuple[type[DataError], tuple[str, str, str]]:
        """An error of another process comes back whole."""
        return type(self), (self.place, str(self.got), self.wanted)


class ConfigError(HindsightError):
    """Wrong settings, all of them at once: one line a problem."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))

    def __reduce__(self) -> tuple[type[ConfigError], tuple[tuple[str, ...]]]:
        return type(self), (self.problems,)


def opaque(*parts: object) -> str:
    """An id that tells nothing about its source: 16 hex digits of a salted hash. Ties between memories go by it."""
    text = "\x1f".join(str(part) for part in parts)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8, key=b"hindsight").hexdigest()


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool, with its result where the log has one. ``result`` None: never answered."""

    call_id: str
    name: str
    arguments: Mapping[str, Any]
    result: str | None = None
    outcome: Outcome = "unknown"


@dataclass(frozen=True, slots=True)
class Turn:
    """One utterance. ``time`` is ISO 8601 or None: a feature at most, never the order."""

    position: int
    session: str
    speaker: str
    role: Role
    text: str
    time: str | None = None
    calls: tuple[ToolCall, ...] = ()


@dataclass(frozen=True, slots=True)
class Dialogue:
    """Turns of one user in stream order. One conversation, which may hold several sessions."""

    dialogue_id: str
    user_id: str
    turns: tuple[Turn, ...]
    source: str = ""


@dataclass(frozen=True, slots=True)
class Memory:
    """What may be recalled. ``born``: the last position that it draws on (a window with the next turn is born with it).

    ``sources``: positions of the turns that it records (a window's neighbours are not sources).
    """

    memory_id: str
    user_id: str
    dialogue_id: str
    session: str
    kind: str
    speaker: str
    role: Role
    text: str
    window: str
    born: int
    sources: tuple[int, ...]
    goal: str = ""
    action: str = ""
    feedback: str = ""
    outcome: Outcome = "unknown"
    tags: tuple[str, ...] = ()
    time: str | None = None
    status: str = "active"
    confidence: float | None = None
    importance: float | None = None


@dataclass(frozen=True, slots=True)
class Mined:
    """One user's whole stream, and the memories mined from it."""

    user_id: str
    turns: Sequence[Turn]
    memories: Sequence[Memory]


@dataclass(frozen=True, slots=True)
class Query:
    """A moment at which memories are wanted: before the turn at ``asked_at`` is known.

    ``context``: positions of the turns that the model sees anyway; memories of them are no candidates.
    ``goal``: what the user is after in this session so far, as text.
    """

    query_id: str
    user_id: str
    dialogue_id: str
    text: str
    asked_at: int
    goal: str = ""
    time: str | None = None
    context: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Use:
    """A hindsight label: how much the turns from ``asked_at`` on used this memory, and what shows it."""

    query_id: str
    memory_id: str
    gain: float
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class Labelled:
    """A training query with its uses. ``hidden``: positions taken out of the past for this query (self-supervision).

    ``kind`` names the source of the query (HQ, HP, PQ, RQ, call, reply), ``weight`` its share in the loss, ``quality`` how much
    the future showed (a labeler may drop the least). ``unsure``: memories that are unlabelled, and enter no loss; all others that
    ``uses`` does not name were not used.
    """

    query: Query
    uses: tuple[Use, ...]
    kind: str
    weight: float = 1.0
    hidden: tuple[int, ...] = ()
    quality: float = 0.0
    unsure: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """One recalled memory. ``why``: named contributions that sum to the logit. ``utility`` None: the system has none."""

    query_id: str
    memory_id: str
    score: float
    similarity: float | None = None
    utility: float | None = None
    why: Mapping[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True, slots=True)
class Judgment:
    """Gold: seen by suites and measures alone."""

    query_id: str
    memory_id: str
    relevance: int = 1


@dataclass(frozen=True, slots=True)
class Case:
    """What a suite yields: one query, the user's turns before it, and gold.

    ``turns`` is the whole past; cases of one user come in stream order, and their turns are prefixes of one another.
    ``relevant``: source positions; a memory is relevant if its sources hold any of them. ``future``: the turn that came next,
    for auditing labelers: no system sees it. ``kind`` and ``groups``: the parts of the table that the question counts in.
    """

    query: Query
    turns: Sequence[Turn]
    relevant: tuple[int, ...]
    kind: str = ""
    answers: tuple[str, ...] = ()
    future: Turn | None = None
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AttentionBias:
    """Token spans [start, end) and what is added to the attention logits toward each; 0 has no effect."""

    spans: tuple[tuple[int, int], ...]
    logits: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Encoded:
    """One text's vectors. ``tokens`` (tokens, dimension) are unit rows; ``pieces`` (tokens,) are the tokeniser's ids."""

    pooled: Floats  # (dimension,), unit length
    tokens: npt.NDArray[np.int8]  # (tokens, token_dimension), unit rows times 127
    pieces: npt.NDArray[np.int32]  # (tokens,)


@dataclass(slots=True)
class Count:
    """What a reader or a stage saw, kept and skipped, with reasons. ``seen == kept + sum(skipped.values())``.

    ``places``: of each reason and note, the first three places that were named.
    """

    seen: int = 0
    kept: int = 0
    skipped: dict[str, int] = field(default_factory=dict[str, int])
    notes: dict[str, int] = field(default_factory=dict[str, int])
    places: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    def keep(self) -> None:
        self.seen += 1
        self.kept += 1

    def skip(self, reason: str, place: str = "") -> None:
        self.seen += 1
        self.skipped[reason] = self.skipped.get(reason, 0) + 1
        self._stands(reason, place)

    def note(self, what: str, times: int = 1, place: str = "") -> None:
        """Something mended or left out inside a kept record: reported, but not a skip."""
        self.notes[what] = self.notes.get(what, 0) + times
        self._stands(what, place)

    def _stands(self, what: str, place: str) -> None:
        if place and len(known := self.places.setdefault(what, [])) < 3:
            known.append(place)

    def __str__(self) -> str:
        def where(what: str, n: int) -> str:
            known = self.places.get(what, [])
            return f" ({', '.join(known)}{', ...' if n > len(known) else ''})" if known else ""

        line = f"seen {self.seen}, kept {self.kept}, skipped {sum(self.skipped.values())}"
        return "".join([line, *(f"\n  skipped {n}: {why}{where(why, n)}" for why, n in sorted(self.skipped.items())),
                        *(f"\n  noted {n}: {what}{where(what, n)}" for what, n in sorted(self.notes.items()))])  # fmt: skip


class Reader(Protocol):
    """A log format. Streams: never holds the file."""

    def read(self, path: Path, count: Count) -> Iterator[Dialogue]:
        """Dialogues in file order. Records that cannot be kept are counted with a reason; raises DataError on no records."""
        ...


class Miner(Protocol):
    """Dialogue -> memories, ordered by ``sources[-1]``."""

    def mine(self, turns: Sequence[Turn], user_id: str, dialogue_id: str) -> list[Memory]: ...


class Encoder(Protocol):
    """Text -> pooled and token vectors. ``fingerprint``: name, revision, pooling, prefix, length, token dimension."""

    @property
    def fingerprint(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    def encode(self, texts: Sequence[str]) -> list[Encoded]:
        """In the order of ``texts``; the same text always gives the same vectors."""
        ...


class Labeler(Protocol):
    """Sees the future, and is the only part that does: one user's turns and memories -> labelled training queries."""

    def label(self, turns: Sequence[Turn], memories: Sequence[Memory], encoder: Encoder) -> list[Labelled]: ...

    def teach(self, known: Any, before: Sequence[Turn], future: Turn) -> Labelled | None:
        """One query's label: ``known`` is the ``features.moment.Moment`` of its past, ``before`` the turns of its context."""
        ...

    def balance(self, labelled: Sequence[Labelled]) -> list[Labelled]:
        """Over all training users: which queries are kept, and what each weighs in the loss."""
        ...


class Explains(Labeler, Protocol):
    """A labeler that shows its evidence part by part: what the audit asks for."""

    def asked(self, turns: Sequence[Turn], user_id: str) -> list[tuple[int, Labelled]]:
        """(position of the turn that is the future, query without uses) of one user's stream: the moments that it would label."""
        ...

    def explain(
        self, known: Any, before: Sequence[Turn], asked: Labelled, future: Turn
    ) -> tuple[Labelled | None, dict[str, Floats]]:
        """As ``teach``, of one of its own queries: the label, whose ``quality`` is how much the future showed that the query did
        not, and name of each part of the evidence -> (candidates,) what it says of each; zero or constant where it is silent."""
        ...


class Scorer(Protocol):
    """Features -> logits. ``columns``: the feature names that it reads, in order."""

    @property
    def columns(self) -> tuple[str, ...]: ...

    def contributions(self, features: Floats) -> dict[str, Floats]:
        """(memories, columns) -> group name -> (memories,). Their sum, exactly, is the logit. Holds ``bias``."""
        ...


class System(Protocol):
    """The hinge: baselines and our own implement the same two methods, so evaluation has no special path."""

    def observe(self, user_id: str, turns: Sequence[Turn]) -> None:
        """New turns of one user, in order. A suite passes only turns before the next query."""
        ...

    def recall(self, query: Query, k: int) -> list[Hit]:
        """Best first, ties by memory_id; only the query's user, only memories drawn from before ``asked_at``."""
        ...


@runtime_checkable
class Keeps(System, Protocol):
    """A system with memories of its own making (facts, chunks), not those of the shared pool: a hit counts by the evidence that its
    ``sources`` cover."""

    def memories(self, query: Query, hits: Sequence[Hit]) -> list[Memory]:
        """What each of the hits of this query's recall is."""
        ...


class Suite(Protocol):
    """Cases in the order in which they are to be asked, clustered by ``query.user_id``."""

    def cases(self, count: Count) -> Iterable[Case]: ...
