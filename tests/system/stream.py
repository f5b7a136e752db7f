"""A small user's stream for the tests of this folder, and of others that need one."""

from __future__ import annotations

import random

from hindsight.types import Query, ToolCall, Turn

WORDS = "tea coffee Lisbon Porto train ticket budget 120 garden piano lesson doctor Monday red blue museum rain".split()


def turns(n: int, seed: int = 0, session_of: int = 7) -> list[Turn]:
    rng = random.Random(seed)
    made = []
    for position in range(n):
        user = position % 2 == 0
        text = " ".join(rng.choices(WORDS, k=rng.randint(3, 9))) + rng.choice(["?", ".", "!"])
        calls = (ToolCall(f"c{position}", "book", {"city": rng.choice(["Lisbon", "Porto"])}),) if rng.random() < 0.1 else ()
        made.append(
            Turn(position, f"s{position // session_of}", "user" if user else "assistant", "user" if user else "assistant",
                 text, None, calls)
        )  # fmt: skip
    return made


def query(text: str, asked_at: int, user: str = "u", context: tuple[int, ...] = (), goal: str = "") -> Query:
    return Query(f"q{asked_at}:{text}", user, "", text, asked_at, goal, None, context)
