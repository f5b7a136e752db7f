"""Secrets that people paste into chats never reach a memory: a typed placeholder stands in their place.

Done before anything is hashed, compared or encoded. Narrow on purpose: text that only talks about keys stays as it is.
"""

from __future__ import annotations

import re

TAG = "redacted"
_CARD = re.compile(r"(?<![\w.-])[3-6]\d{3}(?:[ -]?\d){8,15}(?![\w-])")
_VALUE = r"(?=[^\s,;\"'`]*[0-9])(?=[^\s,;\"'`]*[A-Za-z])(?![^\s]*(?:process\.env|environ|getenv))[^\s,;\"'`<>${}()\[\]]{6,}"
_KINDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("private key", re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.S)),
    ("api key", re.compile(r"\b(?:sk|pk|rk)[-_](?:[a-z]+[-_])*[A-Za-z0-9_]{16,}")),
    ("api key", re.compile(r"\bAIza[A-Za-z0-9_-]{30,}|\bhf_[A-Za-z0-9]{20,}|\bglpat-[A-Za-z0-9_-]{16,}")),
    ("aws key", re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b")),
    ("github token", re.compile(r"\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}")),
    ("slack token", re.compile(r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}")),
    ("web token", re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+")),
    ("password", re.compile(r"(?<=://)[^\s/:@]*:[^\s/@]+(?=@)")),
    ("password", re.compile(rf"(?<=(?i:bearer) ){_VALUE}")),
    ("password", re.compile(rf"(?i:(?<=password)|(?<=passwd)|(?<=secret)|(?<=token)|(?<=api[ _-]key)|(?<=apikey))"
                            rf"[\"']?(?:\s?[:=]\s?| is )[\"']?{_VALUE}")),
    ("password", re.compile(rf"(?<=密码)(?:是|为|[:：=])\s?{_VALUE}")),
)  # fmt: skip
# One cheap look decides for most texts that no pattern can match.
_MARKS = (
    "private key|sk-|sk_|pk-|pk_|rk-|rk_|aiza|hf_|glpat-|akia|asia|ghp_|gho_|ghu_|ghs_|ghr_|github_pat_|xox|eyj|://|bearer |密码|"
    "passw|secret|token|api key|api_key|api-key|apikey"
).split("|")
_NUMBER = re.compile(r"[3-6]\d{3}[ -]?\d{4}[ -]?\d|3\d{3}[ -]?\d{6}")


def redact(text: str) -> str:
    """``text`` with each obvious secret replaced by ``[redacted KIND]``; the very same object where there is none.

    >>> redact("my key is AKIAABCDEFGHIJKLMNOP")
    'my key is [redacted aws key]'
    """
    lowered = text.lower()
    if not any(mark in lowered for mark in _MARKS) and not _NUMBER.search(text):
        return text
    for kind, pattern in _KINDS:
        text = pattern.sub(f"[redacted {kind}]", text)
    return _CARD.sub(lambda found: "[redacted card number]" if _luhn(found[0]) else found[0], text)


def _luhn(number: str) -> bool:
    """The check digit that all payment cards carry: most order numbers and phone numbers fail it."""
    digits = [int(letter) for letter in number if letter.isdigit()]
    if not 13 <= len(digits) <= 19:
        return False
    doubled = [digit if place % 2 == 0 else digit * 2 - 9 * (digit > 4) for place, digit in enumerate(reversed(digits))]
    return sum(doubled) % 10 == 0
