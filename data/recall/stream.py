"""One person's stream: sessions over weeks, what they tell, small talk in between, and the gold of their questions."""

from __future__ import annotations

import random
import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from data.recall.content import World
from data.recall.plan import Placed, place

# Shares: tellings whose reply repeats the value; a person's turns with an opener; small talk that is answered like a telling.
ECHO, OPENED, ACKNOWLEDGED = 0.25, 0.25, 0.15
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_INNER = re.compile(r"\[([^\[\]|]*(?:\|[^\[\]|]*)+)\]")


@dataclass
class Turn:
    user: str
    assistant: str
    echo: bool = False


class Words:
    """Fills the templates of one world for one person."""

    def __init__(self, world: World, rng: random.Random) -> None:
        self.world, self.rng, self.recent = world, rng, deque[str](maxlen=20)

    def fill(self, text: str, **given: str) -> str:
        while _INNER.search(text):
            text = _INNER.sub(lambda match: self.rng.choice(match.group(1).split("|")), text)
        text = re.sub(
            r"\{(\w+)\}", lambda match: given.get(match.group(1)) or self.rng.choice(self.world.lists[match.group(1)]), text
        )
        text = re.sub(r" +([,.!?:;])", r"\1", text).strip()
        return re.sub(r"(^|[.!?] )([a-z])", lambda match: match.group(1) + match.group(2).upper(), text)

    def opened(self, text: str) -> str:
        lead = self.rng.choice(self.world.lists["open"]) if self.rng.random() < OPENED else ""
        return self._led(lead, text)

    def asked(self, text: str) -> str:
        return self._led(self.rng.choice(self.world.lists["ask"]), text)

    def _led(self, lead: str, text: str) -> str:
        return f"{lead} {text}".strip() if self.world.language == "en" else lead + text

    def small_talk(self) -> Turn:
        template = self.rng.choice([one for one in self.world.filler if one not in self.recent])
        self.recent.append(template)
        said, _, reply = template.partition(" => ")
        slots = {name: self.rng.choice(known) for name, known in self.world.lists.items() if name not in ("open", "ask")}
        plain = not said.rstrip("] ").endswith(("?", "？"))
        if plain and self.rng.random() < ACKNOWLEDGED:
            reply = self.rng.choice(self.world.lists["ack"])
        return Turn(self.opened(self.fill(said, **slots)), self.fill(reply, **slots))


def calendar(turns: int, rng: random.Random) -> list[tuple[int, datetime]]:
    """(first turn, time) of each session: 16 to 24 turns, one to four days apart."""
    found: list[tuple[int, datetime]] = []
    day, at = date(2025, 1, 6) + timedelta(days=rng.randrange(200)), 0
    while at < turns:
        found.append((at, datetime(day.year, day.month, day.day, rng.randrange(7, 22), rng.randrange(60))))
        at += rng.randrange(16, 26, 2)
        day += timedelta(days=rng.randrange(1, 5))
    return found


def day_meant(rule: str, told: date) -> date:
    """``-3``: so many days ago. ``tue``: the last Tuesday before the day of telling."""
    if rule.startswith("-"):
        return told + timedelta(days=int(rule))
    return told - timedelta(days=(told.weekday() - DAYS.index(rule) - 1) % 7 + 1)


def write(
    user: str, world: World, own: list[Any], values: Mapping[str, list[str]], rng: random.Random
) -> tuple[list[Any], list[Any]]:
    """(sessions in the native format, gold rows)."""
    words, turns = Words(world, rng), rng.randrange(400, 502, 2)
    placed = sorted(place(own, turns, rng), key=lambda one: one.at)
    sessions = calendar(turns, rng)
    starts = [at for at, _ in sessions]
    whens = rng.sample(world.lists["when"], len(world.lists["when"]))
    told: dict[int, Turn] = {}
    answers: list[tuple[Placed, list[str], list[int], str]] = []
    taken: set[str] = set()  # no small talk may say these
    for one in placed:
        answers.append((one, *_tell(one, words, values[one.asked.attribute.name], whens, told, sessions)))
        taken |= {value.lower() for value in (*values[one.asked.attribute.name], *answers[-1][1]) if value}
    taken |= {when.partition(" ")[2].lower() for when in world.lists["when"]}
    seen: set[str] = set()
    for at in range(0, turns, 2):
        while at not in told:
            talk = words.small_talk()
            if talk.user not in seen and not any(value in f"{talk.user} {talk.assistant}".lower() for value in taken):
                told[at] = talk
                seen.add(talk.user)
    return _sessions(user, told, sessions, turns, rng), [
        _row(user, world, one, (wanted, relevant, question), told, starts) for one, wanted, relevant, question in answers
    ]


def _tell(
    one: Placed,
    words: Words,
    values: list[str],
    whens: list[str],
    told: dict[int, Turn],
    sessions: list[tuple[int, datetime]],
) -> tuple[list[str], list[int], str]:
    """Writes what the question needs into ``told``; (answers, relevant turns, question)."""
    lines, rng, asked = one.asked.attribute.lines, words.rng, one.asked
    who = rng.choice(words.world.lists["who"])
    if not one.slots:
        return [], [], words.asked(words.fill(rng.choice(lines["q"])))
    if asked.type == "temporal":
        rule, _, when = whens.pop().partition(" ")
        slot = one.slots["t"]
        day = day_meant(rule, max(time for at, time in sessions if at <= slot).date())
        told[slot] = Turn(words.opened(words.fill(rng.choice(lines["t"]), when=when)), rng.choice(words.world.lists["ack"]))
        return [when, day.isoformat()], [slot], words.asked(words.fill(rng.choice(lines["q"])))
    if asked.type == "assistant_said":
        slot = one.slots["t"]
        told[slot] = Turn(words.opened(words.fill(rng.choice(lines["u"]))), words.fill(rng.choice(lines["a"]), v=values[0]))
        return [values[0]], [slot + 1], words.asked(words.fill(rng.choice(lines["q"])))
    first = (
        values[-2] if asked.type in ("update", "negation") else values[0]
    )  # of these another value is, or was, told before
    holds = {"t": first, "u": values[0], "o": values[-1], "n": ""}
    phrase = ""
    for name, slot in one.slots.items():
        text = rng.choice(lines[name])
        if name == "n":
            text, _, phrase = text.partition(" => ")
        echo = name != "n" and rng.random() < ECHO
        reply = rng.choice(words.world.lists["echo" if echo else "ack"])
        told[slot] = Turn(words.opened(words.fill(text, v=holds[name], who=who)), words.fill(reply, v=holds[name]), echo)
    about_other = one.other_first and asked.type == "lookalike"
    key = {"negation": "nq", "multi": "b"}.get(asked.type, "oq" if about_other else "q")
    wanted = {"negation": ("n",), "update": ("u",), "multi": ("t", "o")}.get(asked.type, ("o",) if about_other else ("t",))
    answers = [phrase] if asked.type == "negation" else [holds[name] for name in wanted]
    return answers, sorted(one.slots[name] for name in wanted), words.asked(words.fill(rng.choice(lines[key]), who=who))


def _sessions(
    user: str, told: Mapping[int, Turn], sessions: list[tuple[int, datetime]], turns: int, rng: random.Random
) -> list[Any]:
    found: list[Any] = []
    for number, (first, time) in enumerate(sessions):
        last = sessions[number + 1][0] if number + 1 < len(sessions) else turns
        lines: list[Any] = []
        for at in range(first, last):
            turn = told[at - at % 2]
            text, role = (turn.user, "user") if at % 2 == 0 else (turn.assistant, "assistant")
            lines.append({"role": role, "text": text, "time": f"{time.isoformat()}Z"})
            time += timedelta(seconds=rng.randrange(20, 120) if role == "user" else rng.randrange(40, 300))
        found.append({"dialogue_id": f"{user}-s{number + 1:02d}", "user_id": user, "turns": lines})
    return found


def _row(
    user: str, world: World, one: Placed, gold: tuple[list[str], list[int], str], told: Mapping[int, Turn], starts: list[int]
) -> dict[str, Any]:
    answers, relevant, question = gold

    def named(at: int) -> list[Any]:
        number = max(i for i, start in enumerate(starts) if start <= at)
        return [f"{user}-s{number + 1:02d}", at - starts[number]]

    session, turn = named(one.at)
    return {
        "query_id": "",
        "user_id": user,
        "session": session,
        "turn": turn,
        "regime": "ask",
        "type": one.asked.type,
        "attribute": one.asked.attribute.name,
        "language": world.language,
        "distance": one.asked.distance,
        "question": question,
        "answers": answers,
        "relevant": [named(at) for at in relevant],
        "echoes": [named(at + 1) for at in relevant if at % 2 == 0 and told[at].echo],
    }
