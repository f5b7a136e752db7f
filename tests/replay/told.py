"""A small log in which facts are told, told anew, withdrawn and asked for, and what a log should never say."""

from __future__ import annotations

from hindsight.encoder.hashing import HashingEncoder
from hindsight.memory.policy import Policy
from hindsight.replay.log import live
from hindsight.replay.story import Story
from hindsight.system.bionic import Bionic
from hindsight.types import Turn

EVIL = '</script><script>window.evil=1</script><img src=x onerror="window.evil=1"><!--'
SESSIONS = (
    ("My dentist is Dr. Hale.", "Noted.", "I live in Oslo.", "Lovely.", "我的电话是13800000000。", "好的，记住了。"),
    ("Actually, my dentist is Dr. Brand now.", "Noted.", "I moved to Bergen.", "Oh nice."),
    ("Who is my dentist?", "Dr. Brand.", "My dentist is Dr. Brand.", "Yes.", "I don't live in Bergen any more.", "I see."),
)
HOSTILE = (EVIL, "W" * 3000, "\u202eשלום, איפה הרופא שלי?", "line\u2028sep\u2029 \x1b[31m", "\ufffd alone", "a\n" * 60)


def turns(*sessions: tuple[str, ...]) -> list[Turn]:
    """User and assistant in turn, a session a day."""
    said = [(session, text) for session, texts in enumerate(sessions or SESSIONS) for text in texts]
    return [
        Turn(at, f"s{session}", role, role, text, f"2024-01-0{session + 1}T10:{at:02}:00+00:00")
        for at, (session, text) in enumerate(said)
        for role in [("user", "assistant")[at % 2]]
    ]


def lived(given: list[Turn] | None = None, policy: Policy | None = None, k: int = 3, every: int = 0) -> Story:
    return live(given or turns(), "ann", policy or Bionic("ann"), HashingEncoder(32), k, every)
