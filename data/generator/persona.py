"""Who the users are: kind, language, name, way of typing, the people around them. All drawn from one seed."""

from __future__ import annotations

import random
from dataclasses import dataclass

from data.generator.script import lists
from data.generator.style import STYLES

KINDS = ("support", "assistant", "tutoring", "coding")
CHINESE_OF_KIND = {"support": 4, "assistant": 4, "tutoring": 4, "coding": 3}
USERS_A_KIND = 15
SPOUSES = {"en": ("wife", "husband", "partner"), "zh": ("老公", "老婆", "爱人")}
TEST_ENGLISH, TEST_CHINESE = {"support": 4, "assistant": 4, "tutoring": 3, "coding": 4}, {"tutoring": 2}


@dataclass(frozen=True)
class Persona:
    user_id: str
    kind: str
    language: str
    name: str
    style: str
    zone: str
    split: str
    spouse: str  # what they call the one they live with
    people: tuple[tuple[str, str], ...]  # (relation, first name), all names different


def personas(seed: int) -> list[Persona]:
    """Sixty people, fifteen of each kind, a quarter Chinese; a third of each held out. Ids tell nothing about them."""
    rng = random.Random(f"{seed} people")
    ids = rng.sample([f"u{number:03d}" for number in range(1, 400)], len(KINDS) * USERS_A_KIND)
    made: list[Persona] = []
    for kind in KINDS:
        for place in range(USERS_A_KIND):
            language = "zh" if place < CHINESE_OF_KIND[kind] else "en"
            order = place if language == "zh" else place - CHINESE_OF_KIND[kind]
            held = TEST_CHINESE.get(kind, 1) if language == "zh" else TEST_ENGLISH[kind]
            people = _people(language, rng)
            zone = "+08:00" if language == "zh" else rng.choice(("+00:00", "+01:00", "-05:00", "-08:00"))
            made.append(
                Persona(ids[len(made)], kind, language, people.pop()[1], rng.choice(STYLES), zone,
                        "test" if order < held else "train", rng.choice(SPOUSES[language]), tuple(people))
            )  # fmt: skip
    return made


def _people(language: str, rng: random.Random) -> list[tuple[str, str]]:
    """Nine people with different names and relations; the last one's name is for the user."""
    names = [line.split() for line in rng.sample(lists(language, "names"), len(lists(language, "names")))]
    found: list[tuple[str, str]] = []
    for line in rng.sample(lists(language, "relations"), 9):
        relation, gender = line.rsplit(" ", 1)
        chosen = next(name for name in names if gender in ("x", name[1]))
        names.remove(chosen)
        found.append((relation, chosen[0]))
    return found
