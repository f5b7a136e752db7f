"""One user's stream while it is written: turns, which turn first carried each value, and gold."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

from data.generator import calendar_text, grammar
from data.generator.grammar import CLOSE, OPEN, Phrase, expand
from data.generator.persona import Persona
from data.generator.script import lists
from data.generator.style import typed

TRIES, LED = 12, 0.12
Place = tuple[str, int]  # (dialogue id, turn)


@dataclass
class Shared:
    """What all users' writers share, so that a phrase used often is used less from then on."""

    used: Counter[str] = field(default_factory=Counter)
    said: set[str] = field(default_factory=set)

    def choose(self, texts: Sequence[str], rng: random.Random) -> str:
        """The least used alternative so far; ties by chance."""
        chosen = min(texts, key=lambda text: (self.used[text], rng.random()))
        self.used[chosen] += 1
        return chosen


@dataclass(frozen=True)
class Part:
    """One piece of a turn: alternatives, and the scope (a plot or a fact) whose slots they name."""

    texts: Sequence[str]
    scope: str = ""


class Writer:
    def __init__(self, persona: Persona, shared: Shared, rng: random.Random) -> None:
        self.persona, self.shared, self.rng = persona, shared, rng
        self.values: dict[str, str] = {".me": persona.name, ".spouse": persona.spouse}
        self.also: dict[str, str] = {}  # slot -> a second acceptable answer (the day that "last Friday" means)
        self.carriers: dict[str, Place] = {}
        self.worded: dict[str, str] = {}  # fact -> a question in the words of the turn that told it
        self.sessions: list[dict[str, Any]] = []
        self.gold: list[dict[str, Any]] = []
        self.told: list[dict[str, Any]] = []  # every value of an attribute, where it was first said
        self.prefix = ""  # goes before the next user turn: a greeting, a reaction
        self._space = "" if persona.language == "zh" else " "
        self._clock = datetime(2024, 1, 1)
        self._calls = 0

    def begin(self, session: str, day: date) -> None:
        hour, minute, second = self.rng.randint(7, 21), self.rng.randint(0, 59), self.rng.randint(0, 59)
        self._clock = datetime(day.year, day.month, day.day, hour, minute, second)
        self.prefix = ""
        self.sessions.append({"dialogue_id": session, "user_id": self.persona.user_id, "turns": []})

    @property
    def turns(self) -> list[dict[str, Any]]:
        return self.sessions[-1]["turns"]

    @property
    def session(self) -> str:
        return self.sessions[-1]["dialogue_id"]

    # -- values

    def draw(self, rule: str, slot: str) -> str:
        """A content file's value: ``date 30 60`` (days ahead), ``ago``, a ``~pattern``, or the value itself."""
        words, today, language = rule.split(), self._clock.date(), self.persona.language
        if words[0] == "date" and len(words) == 3:
            return calendar_text.ahead(today, int(words[1]), int(words[2]), language, self.rng)
        if words == ["ago"]:
            text, day = calendar_text.ago(today, language, self.rng)
            self.also[slot] = day.isoformat()
            return text
        return grammar.pattern(rule[1:], self.rng) if rule.startswith("~") else rule

    def put(self, slot: str, rules: Sequence[str], never: Sequence[str] = ()) -> None:
        """A new value, which no turn has carried yet, and none of ``never``."""
        value = self.draw(self.rng.choice(rules), slot)
        for _ in range(50):
            if value not in never:
                break
            value = self.draw(self.rng.choice(rules), slot)
        self.values[slot] = value
        self.carriers.pop(slot, None)

    # -- turns

    def phrase(self, part: Part) -> Phrase:
        """Chosen, filled, its slots by their full names."""
        made = expand(self.shared.choose(part.texts, self.rng), lambda name: self.values[self._slot(part, name)], self.rng)
        return Phrase(made.text, tuple(self._slot(part, name) for name in made.slots))

    @staticmethod
    def _slot(part: Part, name: str) -> str:
        return f".{name}" if name in ("me", "spouse") else f"{part.scope}.{name}"

    def user(self, *parts: Part) -> int:
        """Writes a user turn, a few tries to say what nobody has said word for word. Its index."""
        phrases: list[Phrase] = []
        text = ""
        for attempt in range(TRIES):
            phrases = [self.phrase(part) for part in parts]
            if not self.prefix and (attempt > 1 or self.rng.random() < LED):
                phrases.insert(0, self.phrase(Part(lists(self.persona.language, "leads"))))
            whole = self._space.join([*([self.prefix] if self.prefix else []), *(phrase.text for phrase in phrases)])
            text = typed(whole, self.persona.style, self.rng)
            if text not in self.shared.said:
                break
        self.prefix = ""
        self.shared.said.add(text)
        return self._add("user", text, phrases, [])

    def assistant(self, *parts: Part, calls: Sequence[str] = (), scope: str = "", broken: str = "") -> int:
        """Writes an assistant turn. ``broken``: its calls fail with this text instead of their own result."""
        phrases = [self.phrase(part) for part in parts if part.texts]
        made = [self._call(call, scope, broken) for call in calls]
        return self._add("assistant", self._space.join(phrase.plain for phrase in phrases), phrases, made)

    def _call(self, line: str, scope: str, broken: str) -> dict[str, Any]:
        """``tool key=value; key=value => ok: text``, or ``fail:``."""
        head, _, end = line.partition(" => ")
        name, _, given = head.strip().partition(" ")
        outcome, _, text = end.strip().partition(":")
        self._calls += 1
        arguments = dict(part.strip().split("=", 1) for part in given.split(";") if part.strip())
        return {
            "call_id": f"call{self._calls}",
            "name": name,
            "arguments": {key: self.phrase(Part([text], scope)).plain for key, text in arguments.items()},
            "result": broken or self.phrase(Part([text.strip()], scope)).plain,
            "outcome": "failure" if broken else {"ok": "success", "fail": "failure"}[outcome.strip()],
        }

    def _add(self, role: str, text: str, phrases: Sequence[Phrase], calls: list[dict[str, Any]]) -> int:
        if OPEN in text or CLOSE in text or not text or "{" in text:
            raise ValueError(f"bad turn {text!r}")
        self._clock += timedelta(seconds=self.rng.randint(15, 150) if role == "user" else self.rng.randint(2, 12))
        turn: dict[str, Any] = {"role": role, "text": text, "time": self._clock.isoformat() + self.persona.zone}
        if calls:
            turn["calls"] = calls
        self.turns.append(turn)
        for phrase in phrases:
            for slot in phrase.slots:
                if slot not in self.carriers:
                    self.carriers[slot] = (self.session, len(self.turns) - 1)
                    self._tell(slot)
        return len(self.turns) - 1

    def _tell(self, slot: str) -> None:
        attribute, _, name = slot.rpartition(".")
        if attribute:  # the user's own name is none
            self.told.append({
                "user_id": self.persona.user_id, "session": self.session, "turn": len(self.turns) - 1,
                "attribute": attribute, "slot": name, "value": self.values[slot], "split": self.persona.split,
            })  # fmt: skip

    # -- gold

    def past(self, turn: int) -> int:
        """How many turns of the user came before this one of the present session."""
        return sum(len(session["turns"]) for session in self.sessions[:-1]) + turn

    def recent(self, slots: Sequence[str]) -> bool:
        """Whether a value stands in the last two turns: with the asking turn they are the last three."""
        text = " ".join(turn["text"] for turn in self.turns[-2:]).lower()
        return any(self.values[slot].lower() in text for slot in slots)

    def judge(self, regime: str, kind: str, turn: int, answers: Sequence[str], relevant: Sequence[Place]) -> None:
        """``answers`` are values; ``relevant`` the turns that first carried them, taken before the asking turn was written."""
        self.gold.append({
            "query_id": "", "user_id": self.persona.user_id, "session": self.session, "turn": turn, "regime": regime,
            "type": kind, "question": self.turns[turn]["text"], "answers": list(dict.fromkeys(answers)),
            "relevant": [list(place) for place in dict.fromkeys(relevant)], "split": self.persona.split,
        })  # fmt: skip
