"""How an action came out, as far as a result or a reply says so. Everything else is unknown."""

from __future__ import annotations

import re

from hindsight.miner.signals import cues_of
from hindsight.text import is_question, sentences
from hindsight.types import Outcome, ToolCall

_FINE = re.compile(
    r"\b(?:0|no|zero|without(?: any)?|free of)(?: \w+)? (?:errors?|failures?|failed|warnings?|issues?|problems?)\b|没有?(?:错误|报错|问题)",
    re.I,
)
_FLAG = re.compile(
    r"\b(?:ok|success|succeeded)[\"']?\s*[:=]\s*(?:(?P<no>false|0)|true)\b"
    r"|\b(?:status|state|result)[\"']?\s*[:=]\s*[\"']?(?:(?P<bad>error|fail|reject|denied|unavailable)|ok\b|success|confirmed|completed|booked|done)"
    r"|[\"']error[\"']\s*:\s*(?P<error>(?![\"']{2}|null|none|false|\[\]|\{\})\S)"
    r"|\b(?:exit (?:code|status)|returned|exited with(?: code)?) (?:(?P<code>[1-9])|0)",
    re.I,
)
_BAD_START = re.compile(r"^\s*(?:\w+ ?)?(?:error|traceback|exception|fatal)\b", re.I | re.M)
_BAD = re.compile(
    r"\b(?:errors?|exception|failed|failure|not found|denied|timed out|unavailable|invalid)\b|失败|错误|报错|超时", re.I
)
_GOOD = re.compile(
    r"\b(?:ok|success\w*|passed|done|completed|confirmed|booked|created|saved|sent|updated|cancell?ed)\b|成功|完成", re.I
)
_SHORT = 300  # letters: in a longer result, words such as "error" are as a rule its content
_ANNOUNCED = 300  # letters of a reply: what was done is said first; further on, such words are as a rule advice
_ENDS = 600  # letters of the start and of the end that are read for flags


def tool_outcome(call: ToolCall) -> Outcome:
    """The log's own word first, then flags (``"ok": false``, an exit code), then the words of a short result."""
    return call.outcome if call.outcome != "unknown" or call.result is None else result_outcome(call.result)


def result_outcome(text: str) -> Outcome:
    """
    >>> result_outcome("error: missing header foo.h"), result_outcome("0 errors, build ok"), result_outcome("[3, 4]")
    ('failure', 'success', 'unknown')
    """
    text = text if len(text) <= 2 * _ENDS else f"{text[:_ENDS]}\n{text[-_ENDS:]}"
    text, fine = _FINE.subn("", text)
    flags = list(_FLAG.finditer(text))
    if any(flag.lastgroup for flag in flags) or _BAD_START.search(text):
        return "failure"
    if flags or fine:
        return "success"
    if len(text) > _SHORT:
        return "unknown"
    return "failure" if _BAD.search(text) else "success" if _GOOD.search(text) else "unknown"


def reply_outcome(text: str) -> Outcome:
    """Of what the assistant says it did. Questions and offers do not count; a reply that says both is unknown."""
    told = [cues_of(part) for part in sentences(_FINE.sub("", text[:_ANNOUNCED])) if not is_question(part)]
    good = any("success" in cues and not cues & {"failure", "confirm"} for cues in told)
    bad = any("failure" in cues for cues in told)
    return "unknown" if good == bad else "success" if good else "failure"
