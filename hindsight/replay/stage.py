"""``hindsight replay``: reads a log or a store, and writes the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hindsight.io import sha256_of
from hindsight.logs.stream import by_user
from hindsight.memory.lifecycle import Lifecycle
from hindsight.memory.store import WANTED, open_store
from hindsight.miner.turns import Turns
from hindsight.replay import kept
from hindsight.replay.log import live
from hindsight.replay.shape import body
from hindsight.replay.story import Story
from hindsight.report import replay_page
from hindsight.runs import SCORER, refuse, say
from hindsight.runtime.memory import Settings, System
from hindsight.runtime.open import policy_of
from hindsight.types import Count, DataError, Encoder, Reader, opaque

NAMED = 20  # users that an error names


@dataclass(frozen=True)
class Replay:
    """``user``: as the log or the store names them, "" for the first. Of a log: ``system`` is the policy that remembers, ``k`` memories
    are recalled before each turn of the user's, of a utility from ``threshold`` on (utility alone); ``every`` so many turns what was said
    is consolidated, and at the end of each session; ``half_life``: days in which an unread memory loses half its value, 0 for no
    fading."""

    user: str = ""
    system: System = "utility"
    k: int = 5
    threshold: float = 0.0
    every: int = 0
    half_life: float = 0.0

    def __post_init__(self) -> None:
        refuse(
            {
                f"replay.k={self.k}: wanted 1 or more": self.k < 1,
                f"replay.threshold={self.threshold}: wanted from 0 to below 1": not 0 <= self.threshold < 1,
                f"replay.every={self.every}: wanted 0 or more": self.every < 0,
                f"replay.half_life={self.half_life}: wanted 0 or more": self.half_life < 0,
            }
        )


def not_a_page(to: str) -> list[str]:
    """What is wrong with where the page is to go: it must not overwrite somebody's file of something else."""
    if not to:
        return ["replay: give to=FILE.html"]
    right = Path(to).suffix.lower() in (".html", ".htm") and not Path(to).is_dir()
    return [] if right else [f"to={to}: wanted a file whose name ends in .html"]


def of_log(reader: Reader, path: Path, asked: Replay, scorer: Path, encoder: Encoder, to: Path) -> Story:
    """One user's log, lived through with a policy. ``scorer``: a scorer folder or a train run's, for the utility system."""
    count = Count()
    streams = {user: [turn for one in own for turn in one.turns] for user, own in by_user(reader.read(path, count))}
    say(f"replay: {count}")
    user_id = _chosen(asked.user, list(streams), path)
    turns = streams[user_id]
    settings = Settings(asked.system, asked.k, asked.threshold)
    scorer = scorer / SCORER if (scorer / SCORER).is_dir() else scorer
    policy = policy_of(settings, user_id, scorer, encoder)
    said = [turn.text for turn in turns if turn.role == "user"]
    encoder.encode(
        [*said, *(one.text for one in Turns().mine(turns, user_id, ""))]
    )  # kept: a batch costs half of one by one
    fading = Lifecycle(asked.half_life) if asked.half_life else None
    story = live(turns, user_id, policy, encoder, asked.k, asked.every, fading)
    often = f"after {asked.every} turns, and at" if asked.every else "at"
    facts = [
        ("user", asked.user or user_id),
        ("system", asked.system),
        ("turns", f"{len(turns):,} in {len({turn.session for turn in turns}):,} sessions"),
        ("recalled", f"before each turn of the user's, at most {asked.k}"),
        ("consolidated", f"{often} the end of each session"),
        ("log", f"{path.name}, sha256 {sha256_of(path)[:16]}"),
    ]
    if asked.half_life:
        facts.append(("fading", f"half in {asked.half_life:g} days"))
    return _written(story, facts, (), to)


def of_store(path: Path, asked: Replay, to: Path) -> Story:
    """One user's part of a store, as it happened there."""
    if not path.is_file():
        raise DataError(path, "no such file", WANTED)
    with open_store(path) as store, store.reading():
        user_id = _chosen(asked.user, store.users(), path)
        story = kept.tell(store.user(user_id))
    if not story.steps:
        raise DataError(f"{path}: user {user_id}", "no event", "a user who has said something")
    said = sum(step.turn is not None for step in story.steps)
    facts = [("user", user_id), ("turns", f"{said:,}"), ("store", path.name)]
    caution = (
        "As the store kept it: a recall's scores but not its reasons, and changes in their order, each at the last turn that is known to "
        "have been said by then. What was forgotten is gone: its words, and the scores of recalls that found it."
    )
    return _written(story, facts, [caution], to)


def _chosen(wanted: str, users: Sequence[str], path: Path) -> str:
    """A user by their id, which readers make of the log's own name for them: that one is taken too."""
    found = [user for user in users if wanted and user in (wanted, opaque("user", wanted))]
    if found:
        return found[0]
    if wanted or not users:
        more = f" and {len(users) - NAMED} more" if len(users) > NAMED else ""
        named = f"one of its {len(users)} users: {', '.join(users[:NAMED])}{more}" if users else "a user to replay"
        raise DataError(f"{path}: replay.user", wanted or "no user at all", named)
    if len(users) > 1:
        say(f"replay: no replay.user=ID, so the first of {len(users)}: {users[0]}")
    return users[0]


def _written(story: Story, facts: Sequence[tuple[str, str]], cautions: Sequence[str], to: Path) -> Story:
    replay_page.write(to, body(story, facts, cautions))
    say(f"replay: {len(story.steps)} turns: {to}")
    return story
