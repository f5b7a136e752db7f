"""The same said twice: which memories can go into one without losing anything, and never two that could contradict each other.

Rather two too many than one too few: all words of the shorter text stand in the longer one, in order, and it has hardly more; numbers, dates,
names, and words that deny, doubt, change or judge are the same on both sides.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hindsight.features.cues import entities
from hindsight.memory.record import Record
from hindsight.text import SPACELESS_START, normalise, words

SHARE = 0.75  # of the longer text's words that the shorter one has to have
_FILLERS = frozenset(
    "a an the just really very also so well oh ok okay yes yeah please and then hi hey hello thanks by way btw quite".split()
)
_HAN_FILLERS = frozenset("的了啊呢吧嗯哦呀哈嘛也就很真那")
_NUMBER = re.compile(
    r"\d+(?:[.,:/-]\d+)*|[一二两三四五六七八九十百千万半]+|\b(?:zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|"
    r"\w+teen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|million|half|quarter|dozen|first|second|third|once|"
    r"twice|both|all|none|some|every|few|several|many|more|less|most|[ap]m)\b"
)
_STANCE = re.compile(
    r"\b(?:not?|never|nor|without|cannot|hardly|barely|only|except|but|unless|if|maybe|perhaps|probably|might|may|could|would|should|used|"
    r"any ?more|longer|now|instead|actually|rather|until|since|before|after|again|stopped|quit|gave|left|sold|lost|hates?|hated|dislikes?|"
    r"loves?|loved|likes?|liked|prefers?|preferred|wish|think|guess|was|were|had|will|today|tomorrow|yesterday|tonight|last|next|this)\b|n't\b"
    r"|[不没别无未]|也许|可能|大概|如果|要是|以前|曾经|现在|已经|改|喜欢|讨厌|爱|最近|今天|明天|昨天|上|下"
)


def merges(a: str, b: str) -> bool:
    """Whether two texts say the same.

    >>> merges("I live in Oslo", "Well, I live in Oslo."), merges("I live in Oslo", "I live in Bergen")
    (True, False)
    >>> merges("I like tea", "I don't like tea"), merges("我住在奥斯陆", "我住在奥斯陆啊")
    (False, True)
    """
    short, long = sorted((_said(a), _said(b)), key=len)
    if not short or len(short) < SHARE * len(long):
        return False
    rest = iter(long)
    return all(word in rest for word in short) and all(_fixed(a, part) == _fixed(b, part) for part in (_NUMBER, _STANCE)) and (
        _names(a) == _names(b)
    )  # fmt: skip


def duplicates(records: Sequence[Record]) -> list[tuple[Record, Record]]:
    """(older, newer) of one kind and speaker that say the same; the newest stays. Only those that share their rarest word are compared."""
    found: list[tuple[Record, Record]] = []
    kept: dict[tuple[str, str, str], list[Record]] = {}
    for record in sorted(records, key=lambda one: (one.memory.sources[-1:], one.memory_id), reverse=True):
        said = sorted(set(_said(record.memory.text)), key=lambda word: (-len(word), word))[:4]
        keys = [(record.memory.kind, record.memory.speaker, word) for word in said]
        near = {other.memory_id: other for key in keys for other in kept.get(key, [])}.values()
        same = [one for one in near if (one.about, one.value) == (record.about, record.value)]
        newer = next((one for one in same if merges(record.memory.text, one.memory.text)), None)
        if newer is not None:
            found.append((record, newer))
            continue
        for key in keys:
            kept.setdefault(key, []).append(record)
    return found


def _said(text: str) -> list[str]:
    """Words in lower case without fillers; of a script without spaces its letters."""
    said: list[str] = []
    for word in words(text):
        said += [one for one in word if one not in _HAN_FILLERS] if SPACELESS_START.match(word) else [word.lower()]
    return [word for word in said if word not in _FILLERS]


def _fixed(text: str, pattern: re.Pattern[str]) -> list[str]:
    return sorted(pattern.findall(normalise(text)))


def _names(text: str) -> frozenset[str]:
    """Names, but for a filler that opens the sentence."""
    return frozenset(name for name in entities(text.split(": ", 1)[-1]) if name not in _FILLERS)
