"""What a short answer is worth against gold. Normalised as SQuAD does (Rajpurkar et al. 2016): case, punctuation and articles go."""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Sequence

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_HAN = re.compile(r"([\u3400-\u9fff])")


def normalised(text: str) -> str:
    """Full-width characters become plain ones, Han characters words of their own: SQuAD knows English alone.

    >>> normalised("The Mac mini, under a desk!")
    'mac mini under desk'
    """
    plain = unicodedata.normalize("NFKC", text).casefold()
    bare = "".join(c for c in plain if c not in string.punctuation and unicodedata.category(c)[0] != "P")
    return " ".join(_HAN.sub(r" \1 ", _ARTICLES.sub(" ", bare)).split())


def holds(reply: str, value: str) -> bool:
    """Whether a reply says a value, in whole words."""
    wanted = normalised(value)
    return bool(wanted) and f" {wanted} " in f" {normalised(reply)} "


def contains(reply: str, needed: Sequence[Sequence[str]]) -> bool:
    """Whether all values of one of the alternatives are said, among whatever else."""
    return any(all(holds(reply, value) for value in values) for values in needed if values)


def exact(reply: str, needed: Sequence[Sequence[str]]) -> bool:
    """Whether the reply is that and nothing else: the values in their order, joined by "and"."""
    return any(normalised(reply) == normalised(" and ".join(values)) for values in needed if values)


def f1(reply: str, needed: Sequence[Sequence[str]]) -> float:
    """Words shared with the best alternative; harmonic mean of precision and recall."""
    return max((_f1(normalised(reply).split(), normalised(" ".join(values)).split()) for values in needed), default=0.0)


def _f1(said: list[str], wanted: list[str]) -> float:
    shared = sum((Counter(said) & Counter(wanted)).values())
    return 2 * shared / (len(said) + len(wanted)) if shared else 0.0


def leaked(reply: str, values: Sequence[str]) -> tuple[str, ...]:
    """Which of the values a reply utters."""
    return tuple(value for value in values if holds(reply, value))
