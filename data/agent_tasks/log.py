"""One round's log in the native format, and the gold that is noted while it is written."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

Place = tuple[str, int]  # of a turn: (dialogue, its number in it)


class Log:
    """``name``: the round, which is a user of its own. ``words``: the split's content."""

    def __init__(self, name: str, words: Mapping[str, Any], rng: random.Random) -> None:
        self.name, self.words, self.rng = name, words, rng
        self.now = datetime(2026, 3, 2, 9) + timedelta(days=rng.randrange(20))
        self.sessions: list[dict[str, Any]] = []
        self.gold: list[dict[str, Any]] = []

    def session(self) -> None:
        """A new sitting, one to four days later. It opens with a word about something else."""
        self.now = self.now.replace(hour=9, minute=0) + timedelta(
            days=self.rng.randint(1, 4), minutes=self.rng.randrange(300)
        )
        name = f"{self.name}-{len(self.sessions) + 1}"
        self.sessions.append({"dialogue_id": name, "user_id": self.name, "turns": []})
        if "chat" in self.words:
            self.chat()

    def chat(self) -> None:
        said, reply = self.rng.choice(self.words["chat"])
        self.user(said)
        self.agent(reply)

    def user(self, text: str) -> Place:
        return self._turn({"role": "user", "text": text})

    def agent(self, text: str) -> Place:
        return self._turn({"role": "assistant", "text": text})

    def phrase(self, key: str, **slots: str) -> str:
        return self.rng.choice(self.words["phrases"][key]).format(**slots)

    def call(self, tool: str, arguments: Mapping[str, str], result: str, outcome: str = "success") -> Place:
        """A turn that only calls: the words about it are a turn of their own."""
        call = {"name": tool, "arguments": dict(arguments), "result": result, "outcome": outcome}
        return self._turn({"role": "assistant", "text": "", "calls": [call]})

    def ask(self, kind: str, text: str, answers: Sequence[str], relevant: Sequence[Place]) -> None:
        """The user's turn after which the agent must act on what ``relevant`` carries; nothing, where it is empty."""
        dialogue, turn = self.user(text)
        self.gold.append(
            {"query_id": "", "user_id": self.name, "session": dialogue, "turn": turn, "regime": "act", "type": kind,
             "question": text, "answers": list(answers), "relevant": [list(place) for place in sorted(relevant)]}
        )  # fmt: skip

    def _turn(self, turn: dict[str, Any]) -> Place:
        self.now += timedelta(minutes=self.rng.randint(1, 4))
        turns = self.sessions[-1]["turns"]
        turns.append({**turn, "time": self.now.isoformat()})
        return str(self.sessions[-1]["dialogue_id"]), len(turns) - 1
