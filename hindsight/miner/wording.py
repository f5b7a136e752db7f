"""How a turn reads as text: who speaks, what they say, what they called. Injected memories and secrets are gone by then."""

from __future__ import annotations

import json
import re

from hindsight.miner.redact import redact
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
_INJECTED_HINT = re.compile(r"memor|\[conversation\]", re.I)
_UNIT = re.compile(
    r"[\u2e80-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]|[^\s\u2e80-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]+"
)
CALL_WORDS = 30


def said(text: str) -> str:
    """A turn's text without what a memory system injected and without secrets; "" where nothing is left."""
    if _INJECTED_HINT.search(text):
        text = _INJECTED.sub(" ", text)
    return redact(text).strip()


def speaker_of(turn: Turn) -> str:
    """The speaker's own name; ``User``, ``Assistant``, ``Tool`` where the log has the bare role."""
    name = turn.speaker.strip()
    return turn.role.capitalize() if not name or name.lower() in ROLES else name


def clip(text: str, words: int) -> str:
    """The first ``words`` words; a letter of a script without spaces counts as one. Never over 12 letters a word."""
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
    text = f"{call.name}({clip(redact(arguments), CALL_WORDS)})"
    return text if call.result is None else f"{text} -> {clip(said(call.result), CALL_WORDS)}"


def worded(turn: Turn) -> str:
    """``Speaker: text``; ``Assistant: [call ...]`` where a turn says nothing and only calls. "" if nothing is left.

    Calls beside words are left out: what was said stands for the turn, and most logs give results a turn of their own.
    """
    if text := said(turn.text):
        return f"{speaker_of(turn)}: {text}"
    if turn.calls:
        return f"{speaker_of(turn)}: " + " ".join(f"[call {call_text(call)}]" for call in turn.calls)
    return ""


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
