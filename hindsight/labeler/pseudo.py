"""Questions that a log asks of itself: real ones in third person, and statements with a span taken out.

Recipe and measurements: SCIENCE, "the recipe that worked". In scripts without spaces statements lose a run of characters instead
of words. The question word is of the text's own script; "I" and "you" are replaced in English and Chinese alone.
"""

from __future__ import annotations

import random
import re

from hindsight.text import LETTERS, SPACELESS, STOP_WORDS, is_content, is_question, script, sentences, words

_WH = ("What", "What", "When", "Where", "Who", "How", "Which", "Why")
_WH_OF = {  # script -> question words of the language that most write in it
    "han": ("什么", "什么", "什么时候", "哪里", "谁", "怎么", "哪个", "为什么"),
    "kana": ("何", "何", "いつ", "どこ", "誰", "どう", "どの", "なぜ"),
    "thai": ("อะไร", "อะไร", "เมื่อไหร่", "ที่ไหน", "ใคร", "อย่างไร", "อันไหน", "ทำไม"),
    "hangul": ("무엇", "무엇", "언제", "어디", "누구", "어떻게", "어느", "왜"),
    "cyrillic": ("Что", "Что", "Когда", "Где", "Кто", "Как", "Какой", "Почему"),
    "arabic": ("ماذا", "ماذا", "متى", "أين", "من", "كيف", "أي", "لماذا"),
    "devanagari": ("क्या", "क्या", "कब", "कहाँ", "कौन", "कैसे", "कौनसा", "क्यों"),
}
_LETTER = re.compile(f"[{''.join(LETTERS[one] for one in SPACELESS)}]")
_FILLERS = frozenset({"so", "really", "just", "well", "hey", "wow", "yeah", "and", "but"})
_PERSON: tuple[tuple[str, str], ...] = (
    (r"\bI'm\b|\bI am\b", "{me} is"),
    (r"\bI've\b", "{me} has"),
    (r"\bI'll\b", "{me} will"),
    (r"\bI'd\b", "{me} would"),
    (r"\bI\b|\bme\b|\bmyself\b", "{me}"),
    (r"\b[Mm]y\b|\bmine\b", "{me}'s"),
    (r"\b[Yy]ou're\b|\b[Yy]ou are\b", "{you} is"),
    (r"\b[Yy]ou've\b|\b[Yy]ou have\b", "{you} has"),
    (r"\b[Aa]re you\b", "is {you}"),
    (r"\b[Hh]ave you\b", "has {you}"),
    (r"\b[Dd]o you\b", "does {you}"),
    (r"\b[Yy]ours?\b", "{you}'s"),
    (r"\b[Yy]ou\b|\b[Yy]ourself\b", "{you}"),
)
_PATTERNS = tuple((re.compile(pattern), form) for pattern, form in _PERSON)
HAN = re.compile(r"[\u4e00-\u9fff]")


def third_person(text: str, me: str, you: str) -> str:
    """I / my -> the speaker's name, you / your -> the other's."""
    text = text.replace("’", "'")
    for pattern, form in _PATTERNS:
        name = form.format(me=me, you=you)
        text = pattern.sub(lambda _, name=name: name, text)
    return text.replace("我", me).replace("你", you) if HAN.search(text) else text


def questions(text: str, me: str, you: str) -> str:
    """All question sentences of a turn, in third person; "" if there is none."""
    return third_person(" ".join(filter(is_question, sentences(text))), me, you).strip()


def statement_question(text: str, me: str, you: str, rng: random.Random) -> str:
    """A statement with 1-3 words gone (the answer), a quarter of its other content words too, and a wh-word in front."""
    told = [s for s in sentences(text) if not is_question(s)]
    if script(text) in SPACELESS:
        return run_question(told, me, you, rng)
    told = [s for s in told if sum(map(is_content, words(s))) >= 3]
    if not told:
        return ""
    parts = third_person(rng.choice(told).rstrip(".!।۔"), me, you).split()
    content = [i for i, word in enumerate(parts) if _carries(word, me)]
    if len(content) < 2:
        return ""
    start = rng.choice(content)
    gone = set(range(start, min(len(parts), start + rng.choice((1, 2, 3)))))
    kept = [w for i, w in enumerate(parts) if i not in gone and not (i in content and rng.random() < 0.25)]
    body = " ".join(word for word in kept if word.lower().strip(",") not in _FILLERS)
    if me not in body:
        body = f"{me} {body}"
    wh = rng.choice(_WH_OF.get(script(body), _WH))
    return f"{wh} did {body}?" if rng.random() < 0.7 and wh in _WH else f"{wh} {body}?"


def _carries(word: str, me: str) -> bool:
    bare = word.lower().strip(",.!'")
    return bare not in STOP_WORDS and me not in word and len(word) > 2


def run_question(told: list[str], me: str, you: str, rng: random.Random) -> str:
    """A statement of a script without spaces, with a run of characters gone and a question word in their place."""
    told = [s for s in told if len(_LETTER.findall(s)) >= 6]
    if not told:
        return ""
    body = third_person(rng.choice(told).rstrip("。！!. "), me, you)
    start, length = rng.randrange(len(body)), rng.choice((2, 3, 4))
    body = body[:start] + rng.choice(_WH_OF.get(script(body), _WH_OF["han"])) + body[start + length :]
    pairs = [body[i : i + 2] for i in range(0, len(body), 2)]
    body = "".join(pair for pair in pairs if rng.random() >= 0.15)
    return f"{body if me in body else me + body}？"
