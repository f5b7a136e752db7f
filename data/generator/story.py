"""Weaves plots, facts and small talk into one user's sessions."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from datetime import date, timedelta

from data.generator.persona import Persona
from data.generator.script import Line, Plot, plots
from data.generator.session import Session
from data.generator.threads import plan
from data.generator.writer import Shared, Writer

START = date(2024, 1, 8)
SESSIONS = (8, 9, 10, 11)  # at least so many; plots are lived whole, so 9 or 12
GAPS = (1, 2, 3, 4, 5, 6, 7, 9, 12)  # days between sessions


def live(persona: Persona, shared: Shared, seed: int, popular: Counter[str]) -> Writer:
    """All sessions of one person. ``popular`` counts plots over the users so far, so that every plot is lived by some."""
    rng = random.Random(f"{seed} {persona.user_id}")
    writer = Writer(persona, shared, rng)
    pool = sorted(plots(persona.language, persona.kind), key=lambda plot: (popular[plot.name], rng.random()))
    lived: list[Plot] = []
    wanted = rng.choice(SESSIONS)
    while sum(len(plot.sessions) for plot in lived) < wanted and pool:
        lived.append(pool.pop(0))
    popular.update(plot.name for plot in lived)
    order = [index for index, plot in enumerate(lived) for _ in plot.sessions]
    rng.shuffle(order)
    events = plan(persona, len(order), rng)
    day, place = START + timedelta(days=rng.randint(0, 60)), Counter[int]()
    for number, index in enumerate(order):
        writer.begin(f"{persona.user_id}-{number + 1:02d}", day)
        scope = f"plot{index}"
        if place[index] == 0:
            _open(writer, lived[index], scope)
        Session(writer, scope).write(_exchanges(lived[index].sessions[place[index]]), events[number])
        place[index] += 1
        day += timedelta(days=rng.choice(GAPS))
    return writer


def _open(writer: Writer, plot: Plot, scope: str) -> None:
    """Draws the plot's values for this person."""
    people = writer.rng.sample(writer.persona.people, 2)
    for number, (relation, name) in enumerate(people, 1):
        writer.put(f"{scope}.person{number}", [name])
        writer.put(f"{scope}.rel{number}", [relation])
    for names, rows in plot.slots:
        for name, rule in zip(names, writer.rng.choice(rows)):
            writer.put(f"{scope}.{name}", [rule])


def _exchanges(lines: Sequence[Line]) -> list[list[Line]]:
    """[changes of values..., user's line, assistant's line], in order."""
    found: list[list[Line]] = [[]]
    for line in lines:
        found[-1].append(line)
        if line.role == "a":
            if [part.role for part in found[-1] if part.role != "set"] != ["u", "a"]:
                raise ValueError(f"user and assistant must take turns: {found[-1]}")
            found.append([])
    if found.pop():
        raise ValueError("a session ends with the assistant's line")
    return found
