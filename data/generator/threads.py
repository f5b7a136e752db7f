"""What becomes of a person's facts: told, changed, taken back, confused with someone else's, asked, used. As events by session."""

from __future__ import annotations

import random
from dataclasses import dataclass

from data.generator.persona import Persona
from data.generator.script import Fact, facts

FACTS_A_USER = (8, 9)
NEVER_TOLD = 2
CAPACITY = 5


@dataclass(frozen=True)
class Event:
    """``what``: tell, noise, update, fix, retract, other, ask, ask_other, ask_both, ask_gone, act, abstain, filler."""

    what: str
    fact: Fact | None


class Calendar:
    """Events by session, spread so that no session is overfull. Order within a session is the order of adding."""

    def __init__(self, sessions: int, rng: random.Random) -> None:
        self.days: list[list[Event]] = [[] for _ in range(sessions)]
        self.rng = rng

    def add(self, event: Event, low: int, high: int) -> int:
        """In one of the sessions low..high (clipped), rather an emptier one. Its index."""
        last = len(self.days) - 1
        low, high = max(0, min(low, last)), max(0, min(high, last))
        free = [index for index in range(low, high + 1) if len(self.days[index]) < CAPACITY] or list(range(low, high + 1))
        choices = self.rng.choices(free, k=3)
        day = min(choices, key=lambda index: len(self.days[index]))
        self.days[day].append(event)
        return day


def plan(persona: Persona, sessions: int, rng: random.Random) -> list[list[Event]]:
    mine = [fact for fact in facts(persona.language) if persona.kind in fact.kinds]
    common = [fact for fact in facts(persona.language) if "common" in fact.kinds and persona.kind not in fact.kinds]
    rng.shuffle(mine)
    rng.shuffle(common)
    chosen = mine[:6] + common[: rng.randint(*FACTS_A_USER) - 6]
    rest = [fact for fact in mine[6:] + common[3:] if fact.get("noise")]
    calendar = Calendar(sessions, rng)
    for fact in chosen:
        _thread(calendar, fact, sessions, rng)
    for fact in [fact for fact in rest if fact.get("abstain")][:NEVER_TOLD]:
        day = calendar.add(Event("noise", fact), 0, sessions - 3)
        calendar.add(Event("abstain", fact), day + 1, sessions - 1)
    for fact in rest[:2]:
        calendar.add(Event("noise", fact), 0, sessions - 1)
    return calendar.days


def _thread(calendar: Calendar, fact: Fact, sessions: int, rng: random.Random) -> None:
    last = sessions - 1
    day = calendar.add(Event("tell", fact), 0, int(last * 0.5))
    told = day
    fates = ["plain"] + [fate for fate, key in (("update", "update"), ("fix", "fix"), ("retract", "retract"), ("other", "other"))
                         if fact.get(key) for _ in range(2 if key != "update" else 1)]  # fmt: skip
    fate = rng.choice(fates)
    for _ in range(rng.choice((0, 1, 1))):
        if fact.get("noise"):
            calendar.add(Event("noise", fact), 0, last)
    if fact.get("act") and fate != "retract" and rng.random() < 0.45:
        calendar.add(Event("act", fact), day, day + (0 if rng.random() < 0.6 else 2))
    if fate in ("update", "fix"):
        day = calendar.add(Event(fate, fact), day + 1, int(last * 0.75))
        if day <= told:
            return
    elif fate == "retract":
        day = calendar.add(Event("retract", fact), day + 1, int(last * 0.75))
    elif fate == "other":
        day = max(day, calendar.add(Event("other", fact), 0, int(last * 0.7)))
        for what, share in (("ask_other", 0.6), ("ask_both", 0.6)):
            if fact.get(what) and rng.random() < share:
                calendar.add(Event(what, fact), day + 1, last)
    asked = "ask_gone" if fate == "retract" else "ask"
    if day < last:
        calendar.add(Event(asked, fact), day + 1, last)
    if fact.get("act") and fate != "retract" and rng.random() < 0.75:
        calendar.add(Event("act", fact), day, last)
