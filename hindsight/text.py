"""The one normaliser and tokeniser: index, query, labels and dedupe all use it, so that they always agree.

Words are lower-cased, English stop words dropped, stems taken (Snowball, by PyStemmer: of English for Latin script, and of the
language that most write in Cyrillic, Arabic, Devanagari, Greek or Tamil script). Scripts written without spaces (Han, kana,
Thai, Lao, Burmese, Khmer) become overlapping character pairs, the usual choice for retrieval without a segmenter; so do Korean
words, whose particles are written onto them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from functools import lru_cache

import Stemmer

# script -> its letters, as ranges of a regular expression. Punctuation (。「」・) is no letter.
LETTERS: dict[str, str] = {
    "han": "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff",
    "kana": "\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff",
    "thai": "\u0e01-\u0e3a\u0e40-\u0e4e\u0e50-\u0e59",
    "lao, burmese, khmer": "\u0e81-\u0eff\u1000-\u1049\u1050-\u109f\u1780-\u17d3\u17e0-\u17e9",
    "hangul": "\uac00-\ud7af",
    "cyrillic": "\u0400-\u052f",
    "arabic": "\u0620-\u06ff\u0750-\u077f",
    "devanagari": "\u0900-\u0963\u0966-\u097f",
    "greek": "\u0370-\u03ff",
    "tamil": "\u0b80-\u0bff",
    "latin": "A-Za-z\u00c0-\u024f",
}
_LETTER = {script: re.compile(f"[{ranges}]") for script, ranges in LETTERS.items()}
SPACELESS = ("han", "kana", "thai", "lao, burmese, khmer")
_RUN = "".join(LETTERS[script] for script in (*SPACELESS, "hangul"))
# Vowel signs and accents of scripts with spaces are part of their words, though no letters by themselves; joiners too.
_MARKS = "\u200c\u200d" + "".join(
    chr(c) for c in range(0x300, 0xE00) if unicodedata.category(chr(c))[0] == "M"
)  # fmt: skip
_PLAIN = rf"[^\W_{_RUN}]+(?:[{_MARKS}]+[^\W_{_RUN}]*)*"
_WORD = re.compile(rf"[{_RUN}]+|{_PLAIN}(?:['’\-]{_PLAIN})*")
SPACELESS_START = re.compile(rf"[{_RUN}]")
_SENTENCE_END = re.compile(r"(?<=[.!?؟۔।])\s+|(?<=[。！？])")
QUESTION_MARKS = ("?", "？", "؟")
_ENGLISH = Stemmer.Stemmer("english")
_STEMMERS = {
    script: Stemmer.Stemmer(language)
    for script, language in {
        "cyrillic": "russian", "arabic": "arabic", "devanagari": "hindi", "greek": "greek", "tamil": "tamil"
    }.items()
}  # fmt: skip

# Function words, question words, auxiliaries and chat fillers. With question words and auxiliaries kept, BM25 loses .02
# nDCG@10 on LoCoMo; the list has no content words, so nothing that a person could ask for is lost.
STOP_WORDS = frozenset(
    """a an the and or but if so of to in on at for with from by about as is are was were be been am do does did have has
    had i you he she it we they me my your his her its our their this that these those there here not no yes yeah really
    just very too also can could would should will what when where who how why which wow hey thanks thank great good
    awesome cool nice glad love like got get im ive its thats dont oh well lol sounds""".split()
)


def normalise(text: str) -> str:
    """NFKC, lower case, white space joined: two texts that a reader would call the same become equal."""
    return " ".join(unicodedata.normalize("NFKC", text).lower().split())


def words(text: str) -> list[str]:
    """Surface words in order, in their own case; a run without spaces is one word."""
    return _WORD.findall(unicodedata.normalize("NFKC", text))


def sentences(text: str) -> list[str]:
    return [part.strip() for part in _SENTENCE_END.split(text) if part and part.strip()]


def is_question(sentence: str) -> bool:
    """By its mark, in any script."""
    return sentence.rstrip().endswith(QUESTION_MARKS)


def script(text: str) -> str:
    """The script of most of its letters, "latin" where there are none; "kana" is Japanese, which is mostly Han.

    >>> [script(text) for text in ("hotel 北", "酒店 wifi", "ホテルの予約", "호텔", "отель", "โรงแรม", "42")]
    ['latin', 'han', 'kana', 'hangul', 'cyrillic', 'thai', 'latin']
    """
    if text.isascii():
        return "latin"
    counts = {name: len(letters.findall(text)) for name, letters in _LETTER.items()}
    if counts["kana"] and counts["kana"] * 5 >= counts["han"]:
        counts["kana"] += counts.pop("han")
    counts |= {name: 2 * counts[name] for name in ("han", "kana") if name in counts}  # each says as much as two of others
    most = max(counts, key=lambda name: counts[name])
    return most if counts[most] else "latin"


def length(text: str) -> float:
    """In words: of a script without spaces two letters count as one, of Thai and its neighbours four.

    >>> length("a quiet room"), length("我要订酒店"), length("wifi 免费")
    (3.0, 2.5, 2.0)
    """
    if text.isascii():
        return float(len(text.split()))
    letters = [len(_LETTER[script].findall(text)) / (2 if script in ("han", "kana") else 4) for script in SPACELESS]
    return sum(letters) + sum(script(word) not in SPACELESS for word in words(text))


def tokens_about(text: str) -> int:
    """Tokens of a text where no tokenizer says: four letters each in a script with spaces, two otherwise.

    >>> tokens_about("I moved to Lisbon."), tokens_about("我要订酒店"), tokens_about("")
    (4, 2, 1)
    """
    return max(1, round(max(len(text) / 4, length(text))))


def is_content(word: str) -> bool:
    """A word that carries meaning of its own: not a stop word, longer than two letters or without spaces or a number."""
    lower = word.lower()
    return lower not in STOP_WORDS and (len(word) > 2 or word.isdigit() or bool(SPACELESS_START.match(word)))


@lru_cache(maxsize=65536)
def _terms_of_word(word: str) -> tuple[str, ...]:
    lower = word.lower().replace("’", "'")
    if SPACELESS_START.match(lower):
        return (lower,) if len(lower) == 1 else tuple(lower[i : i + 2] for i in range(len(lower) - 1))
    if lower in STOP_WORDS:
        return ()
    return (str(_STEMMERS.get(script(lower), _ENGLISH).stemWord(lower)),)


def without(text: str, known: Collection[str]) -> str:
    """A text without the words whose terms are known; of a run without spaces what known pairs do not cover. The rest stays as it is.

    >>> without("We met Nora, in Lisbon!", terms("Where is Nora?"))
    'We met , in Lisbon!'
    """

    def left(found: re.Match[str]) -> str:
        word = found[0]
        own = _terms_of_word(word)
        if len(own) < 2:
            return "" if own and own[0] in known else word
        kept = {at for place, pair in enumerate(own) if pair not in known for at in (place, place + 1)}
        return "".join(letter if place in kept else " " for place, letter in enumerate(word))

    return _WORD.sub(left, unicodedata.normalize("NFKC", text))


@lru_cache(maxsize=65536)
def terms(text: str) -> tuple[str, ...]:
    """Index terms in order, repeats kept. Cached: the same turn is read by many stages."""
    return tuple(term for word in words(text) for term in _terms_of_word(word))
