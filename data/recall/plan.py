"""What the people of a round tell and are asked, and at which turn.

A round is 10 people with 20 questions each, two of every type. Every type that has evidence is asked equally often at each distance:
turns from the one that carries the value in force (of ``multi``: the older of the two) to the moment of asking, within a tenth.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field

from data.recall import DISTANCES
from data.recall.content import Attribute, World

GENERAL = ("single", "update", "negation", "lookalike", "other_user", "multi")
OWN = {"temporal": "temporal", "preference": "preference", "assistant_said": "said"}
EACH = 2  # questions of a type, a person
NEVER = 4  # of a round's questions of type other_user, those whose person never told their own
FIRST = 60  # turns before the first question


@dataclass(frozen=True)
class Asked:
    """``distance`` 0: nothing in the stream answers it."""

    type: str
    attribute: Attribute
    distance: int


@dataclass
class Placed:
    """``at``: asked before this turn. ``slots``: what is told (``t``, ``old``, ``n``, ``o``, ``u``) -> the person's turn that tells it."""

    asked: Asked
    at: int
    slots: dict[str, int] = field(default_factory=dict[str, int])
    other_first: bool = False  # of multi and lookalike: the other person's value is the far one, or the one asked for


def distances(count: int, rng: random.Random) -> list[int]:
    return rng.sample([DISTANCES[i % len(DISTANCES)] for i in range(count)], count)


def questions(languages: tuple[str, ...], worlds: dict[str, World], rng: random.Random) -> list[list[Asked]]:
    """Of each person of the round."""
    people = len(languages)
    counts = dict.fromkeys((*GENERAL, *OWN), people * EACH)
    left = {type_: distances(n - (NEVER if type_ == "other_user" else 0), rng) for type_, n in counts.items()}
    hidden = {name: rng.sample(worlds[name].of("general"), EACH) for name in sorted(worlds)}
    never = set(rng.sample([i for i, language in enumerate(languages) if language == "en"], NEVER))  # enough others tell it
    skipped: set[str] = set()  # attributes that somebody never told: nobody else leaves the same one out
    found: list[list[Asked]] = []
    for i, language in enumerate(languages):
        world = worlds[language]
        known = [one for one in world.of("general") if one not in hidden[language]]
        known = rng.sample(known, len(known))
        own: list[Asked] = []
        for type_ in GENERAL:
            for number in range(EACH):
                silent = type_ == "other_user" and number == 0 and i in never
                attribute = next(one for one in known if not silent or one.name not in skipped)
                known.remove(attribute)
                if silent:
                    skipped.add(attribute.name)
                own.append(Asked(type_, attribute, 0 if silent else left[type_].pop()))
        for type_, kind in OWN.items():
            own += [Asked(type_, one, left[type_].pop()) for one in rng.sample(world.of(kind), EACH)]
        found.append(own + [Asked("abstain", one, 0) for one in hidden[language]])
    return found


def values(asked: list[list[Asked]], rng: random.Random) -> list[dict[str, list[str]]]:
    """Of each person, of each attribute: the value in force, the one before, and somebody else's. People differ while values last."""
    turn: Counter[str] = Counter()
    orders: dict[str, list[str]] = {}
    patterned: set[str] = set()
    found: list[dict[str, list[str]]] = []
    for own in asked:
        chosen: dict[str, list[str]] = {}
        for one in own:
            name, known = one.attribute.name, one.attribute.values
            if known[0].startswith("~"):
                made: list[str] = []
                while len(made) < 3:
                    made += [value for value in [pattern(known[0][1:], rng)] if value not in {*made, *patterned}]
                patterned.update(made)
                chosen[name] = made
                continue
            order = orders.setdefault(name, rng.sample(known, len(known)))
            first = order[turn[name] % len(order)]
            turn[name] += 1
            chosen[name] = [first, *rng.sample([value for value in order if value != first], min(2, len(order) - 1))]
        found.append(chosen)
    return found


def pattern(text: str, rng: random.Random) -> str:
    """``^`` a capital letter, ``#`` a digit."""
    letters = {"^": "ABCDEFGHJKLMNPRSTUVWXYZ", "#": "123456789"}
    return "".join(rng.choice(letters[sign]) if sign in letters else sign for sign in text)


def place(asked: list[Asked], turns: int, rng: random.Random) -> list[Placed]:
    """Every telling gets a turn of the person's own (an even one), every question a moment of its own."""
    for _ in range(1000):
        if (found := _try(asked, turns, rng)) is not None:
            return found
    raise RuntimeError("no way to place the questions: fewer of them, or longer streams")


def _try(asked: list[Asked], turns: int, rng: random.Random) -> list[Placed] | None:
    free, moments = set(range(0, turns, 2)), set(range(FIRST, turns, 2))
    found: list[Placed] = []
    for one in sorted(asked, key=lambda a: -a.distance):
        if not one.distance:
            one_placed = Placed(one, rng.choice(sorted(moments)))
        elif (made := _placed(one, free, moments, rng)) is None:
            return None
        else:
            one_placed = made
        moments.discard(one_placed.at)
        free -= set(one_placed.slots.values())
        found.append(one_placed)
    return found


def _placed(one: Asked, free: set[int], moments: set[int], rng: random.Random) -> Placed | None:
    said = one.type == "assistant_said"
    within = [d for d in range(one.distance - one.distance // 10, one.distance + one.distance // 10 + 1) if d % 2 == said]
    for _ in range(100):
        at, distance = rng.choice(sorted(moments)), rng.choice(within)
        slot = at - distance - said
        if slot not in free or slot < (8 if one.type in ("update", "negation") else 0):
            continue
        before, after = sorted(s for s in free if s < slot), sorted(s for s in free if slot < s < at)
        other = rng.random() < 0.5
        if one.type in ("update", "negation"):
            if before:
                return Placed(one, at, {"t": rng.choice(before), "u" if one.type == "update" else "n": slot})
        elif one.type in ("lookalike", "multi"):
            second = after or (before if one.type == "lookalike" else [])
            if second:
                names = ("o", "t") if other else ("t", "o")
                return Placed(one, at, dict(zip(names, (slot, rng.choice(second)))), other)
        else:
            return Placed(one, at, {"t": slot})
    return None
