"""How a turn reads as text: who speaks, what they say, what they called. Injected memories and secrets are gone by then."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Set
from functools import lru_cache

from hindsight.miner.redact import redact
from hindsight.text import terms
from hindsight.types import ROLES, ToolCall, Turn

# What a memory system put into the prompt, in the marks of this project and of others. It is never mined again. A bare
# <memory> must be closed (C++ has a header of that name); [memory ...] opens a line and carries a date or a hash.
_WHOSE = r"(?:recalled|retrieved|relevant|injected|user|long[_-]?term)[_-]"
_INJECTED = re.compile(
    rf"<({_WHOSE}(?:memory|memories))(?:\s[^<>]*)?>.*?(?:</\1>|\Z)"
    r"|<(memory|memories)(?:\s[^<>]*)?>.*?</\2>"
    r"|^[-*\s]*\[memory(?:[ :#][^\]\n]*\d[^\]\n]*)?\][^\n]*(?:\n|\Z)"
    r"|\[(?:user background|related history)\].*?\[conversation\]",
    re.I | re.S | re.M,
)
_UNIT = re.compile(
    r"[\u2e80-\u30ff\u3400-\u9fff]|[\uac00-\ud7af]{1,2}|[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]{1,4}"
    r"|[^\s\u2e80-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+"
)
_CLAUSE = re.compile(r"[^,.!?;，。！？；\n]+[,.!?;，。！？；\s]*|[,.!?;，。！？；\s]+")
_ECHO = 0.7
CALL_WORDS = 30
_RESULT_LETTERS = 2000  # that are read of arguments and of a result, far more than are kept


@lru_cache(maxsize=16384)
def said(text: str) -> str:
    """A turn's text without what a memory system injected and without secrets; "" where nothing is left."""
    return redact(_INJECTED.sub(" ", text) if _may_hold_memories(text) else text).strip()


def _may_hold_memories(text: str) -> bool:
    lowered = text.lower()
    return "memor" in lowered or "[conversation]" in lowered


def spoken(turns: Iterable[Turn]) -> Iterator[tuple[Turn, str]]:
    """Every turn but the system's, with what it says of its own: no injected memories, no echo of them, no secrets.

    An echo is a clause of the assistant that is made of words injected earlier in the session: it confirms nothing.
    """
    session, injected = "", set[str]()
    for turn in turns:
        if turn.session != session:
            session, injected = turn.session, set[str]()
        if _may_hold_memories(turn.text):
            injected.update(term for found in _INJECTED.finditer(turn.text) for term in terms(found[0]))
        if turn.role == "system":
            continue
        text = said(turn.text)
        if injected and turn.role == "assistant":
            text = "".join(part for part in _CLAUSE.findall(text) if not _echoes(part, injected)).strip()
        yield turn, text


def _echoes(clause: str, injected: Set[str]) -> bool:
    heard = set(terms(clause))
    return len(heard) >= 2 and len(heard & injected) >= _ECHO * len(heard)


def speaker_of(turn: Turn) -> str:
    """The speaker's own name; ``User``, ``Assistant``, ``Tool`` where the log has the bare role."""
    name = turn.speaker.strip()
    return turn.role.capitalize() if not name or name.lower() in ROLES else name


def clip(text: str, words: int) -> str:
    """The first ``words`` words; a letter of Han or kana counts as one, two of hangul, four of Thai and its neighbours. Never over 12
    letters a word."""
    if len(text) <= words:
        return text
    if text.isascii():
        parts = text.split(None, words)
        cut = text if len(parts) <= words else " ".join(parts[:words])
    else:
        ends = [found.end() for _, found in zip(range(words), _UNIT.finditer(text))]
        cut = text[: ends[-1]] if ends else text
    return cut[: 12 * words].rstrip()


def call_text(call: ToolCall) -> str:
    """``name(argument=value, ...) -> result``, each side cut to 30 words."""
    arguments = ", ".join(f"{name}={_plain(value)}" for name, value in call.arguments.items())
    text = f"{call.name}({clip(redact(arguments[:_RESULT_LETTERS]), CALL_WORDS)})"
    return text if not call.result else f"{text} -> {clip(said(call.result[:_RESULT_LETTERS]), CALL_WORDS)}"


def worded(turn: Turn, text: str) -> str:
    """``Speaker: text``; ``Assistant: [call ...]`` where a turn says nothing and only calls. "" if there is neither.

    Calls beside words are left out: what was said stands for the turn, and most logs give results a turn of their own.
    """
    if text:
        return f"{speaker_of(turn)}: {text}"
    return f"{speaker_of(turn)}: {' '.join(f'[call {call_text(call)}]' for call in turn.calls)}" if turn.calls else ""


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
