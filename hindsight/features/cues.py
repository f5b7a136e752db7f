"""What a text shows on its face, by regular expressions: English and Chinese. All are cheap and read one text alone."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from hindsight.text import SPACELESS, STOP_WORDS, script
from hindsight.types import Floats

_I = re.IGNORECASE
CUES: dict[str, re.Pattern[str]] = {
    "has_question": re.compile(r"[?？؟]"),
    "ends_question": re.compile(r"[?？؟]\W*$"),
    "number": re.compile(r"\d|\b(one|two|three|four|five|six|seven|eight|nine|ten)\b|[一二两三四五六七八九十]", _I),
    "digit": re.compile(r"\d"),
    "date": re.compile(
        r"\b(\d{1,2}(st|nd|rd|th)|january|february|march|april|may|june|july|august|september|october|november|december"
        r"|monday|tuesday|wednesday|thursday|friday|saturday|sunday|today|tomorrow|next week|day after)\b"
        r"|周[一二三四五六日天]|星期|月\d{1,2}[日号]|明天|后天|今天|下周",
        _I,
    ),
    "clock": re.compile(
        r"\b(\d{1,2}(:\d\d)? ?([ap]\.?m\b)|\d{1,2}:\d\d|noon|morning|evening|afternoon|o'clock|half past|quarter)"
        r"|[上下]午|早上|晚上|[\d一二两三四五六七八九十]点",
        _I,
    ),
    "money": re.compile(r"[$€£¥]|\d ?(元|块)"),
    "acknowledges": re.compile(
        r"^\W*(yes|yeah|yep|sure|ok|okay|no|nope|thanks|thank you|that's|great|perfect|good|sounds|cool|alright)\b|^(好|行|对|谢)",
        _I,
    ),
    "accepts": re.compile(
        r"^\W*(yes|yeah|yep|sure|ok|okay|great|perfect|good|sounds|that (is|works|would)|that's|fine|i like|correct|right|awesome)\b"
        r"|^(好|行|对|可以|没问题|谢)",
        _I,
    ),
    "refuses": re.compile(
        r"^\W*(no|nope|not)\b|\b(anything else|something else|another|any other|other (options|ones)|instead|don't like|different|else)\b"
        r"|^不|换一|别的|其他",
        _I,
    ),
    "requests": re.compile(
        r"\b(would like|i'd like|want|need|can you|could you|find|book|looking|search|help me|please|reserve|get me|show me|interested|check)\b"
        r"|请|帮我|我想|我要|需要|查一下",
        _I,
    ),
    "offers": re.compile(
        r"\b(how about|i found|i have|there (is|are)|located|would you like|what about|one (is|option))\b|为您找到|推荐|怎么样",
        _I,
    ),
    "confirms": re.compile(r"\b(confirm|correct|is that right|to be clear|confirming)\b|确认|对吗|是吗", _I),
    "closes": re.compile(
        r"\b(anything else|something else|have a (good|great|nice)|good ?bye|more i can|else i can|that's all|that is all|that will be all)\b"
        r"|再见|就这样|还有.{0,4}需要",
        _I,
    ),
    "refers_back": re.compile(r"\b(there|that|same|it|them|those|this|earlier|again|then)\b|那|这|上次|之前|同样|还是", _I),
    "asks_what": re.compile(
        r"\b(what|where|when|who|whom|whose|which|why|how)('s|s|'re)?\b|什么|哪|谁|几[个点号次岁天时]|多少|多久|怎么|为啥|啥",
        _I,
    ),
    "asks_to": re.compile(
        r"\b(can|could|would|will) (you|u)\b|\b(do you have|is there any|are there any|any other)\b"
        r"|\b(let me|let's|go ahead|give me|send|draft|order|call)\b"
        r"|请|帮|给|发|订|写|安排",
        _I,
    ),
    "recalls": re.compile(
        r"\b(did|was|were|had|remind|remember|said|told|mentioned|ago|back then|last (time|week|month|year|summer|winter|spring|fall))\b"
        r"|之前|上次|说过|告诉过|记得|那次|来着|提过|提到",
        _I,
    ),
    "first_person": re.compile(r"\b(i|i'm|i've|i'd|i'll|my|me|mine)\b|我", _I),
    "when": re.compile(
        r"\b(january|february|march|april|may|june|july|august|september|october|november|december"
        r"|monday|tuesday|wednesday|thursday|friday|saturday|sunday|today|tonight|yesterday|tomorrow|ago|recently|weekend"
        r"|(last|next|this|past) (week|month|year|night|summer|winter|spring|fall|autumn)|(19|20)\d\d|\d{1,2}(st|nd|rd|th))\b"
        r"|周[一二三四五六日天]|星期|月\d{1,2}[日号]|昨天|今天|明天|后天|上周|下周|上个月|去年|今年",
        _I,
    ),
    "duration": re.compile(
        r"\b(\d+|an?|one|two|three|four|five|six|seven|eight|nine|ten|few|several|couple of|many)[ -]"
        r"(second|minute|hour|day|week|month|year|decade)s?\b|\bsince (19|20)\d\d\b"
        r"|[一二两三四五六七八九十几\d]+(分钟|个?小时|天|个?星期|周|个月|年)",
        _I,
    ),
    "because": re.compile(r"\b(because|since|so that|due to|in order to|reason|inspired|motivated)\b|因为|为了|所以", _I),
    "changes": re.compile(
        r"\b(now|instead|actually|correction|rather|from (now|here) on|these days|nowadays|as of|after all|no (longer|more)"
        r"|not? .{0,30}(any ?more|but)|used to|(has|have|had|'s|'ve|is|are|was|got|i|we) (just )?(changed|moved|moving|shifted|switched"
        r"|switching|replaced|swapped|sold|expired)"
        r"|(change|move|switch|swap|make|update) (it|that|this|my|the|us|them|over)|mistake|i meant|wrong|mixed up|in future"
        r"|gave up|given up|new (one|number|address|plan|day|date|time))\b|\b(isn't|aren't|wasn't|not) .{0,60}[,;] (it's|but|it is)\b"
        r"|改|换|挪到|现在|不再|不是|更正|说错|记混|搞错|弄错|其实|原来|今后|以后都|从今|打这",
        _I,
    ),
    "retracts": re.compile(
        r"\b(cancel\w*|forget (it|that|this|what|about|the|my|everything)|never ?mind|scrap|disregard|ignore"
        r"|(call|called|is|it's|that's|all) off"
        r"|don't (need|want|bother|book|buy|order|use)|no more|no longer (need|want)|changed? my mind|drop (it|that|the)"
        r"|gave up|given up|take (it|that) back|not (going|coming|doing|taking|buying).{0,30}(any ?more|after all)|withdr[ae]w\w*|undo)\b"
        r"|取消|不用了|算了|作废|撤回|放弃|不要了|当我没说|别(再|订|买|管|提|去|做|发|用|叫)|不(去|买|订|做|学)了",
        _I,
    ),
    "likes": re.compile(r"\b(love|like|enjoy|prefer|favou?rite|adore|fan of|hate)[sd]?\b|喜欢|最爱|讨厌", _I),
}
NAMES = tuple(CUES)
COLUMN = {name: place for place, name in enumerate(NAMES)}
VALUES = ("date", "clock", "money", "number")  # kinds of values

# A capitalised word that does not open a sentence is a name in English; digits, Latin runs inside Han text and quoted
# strings stand for themselves in any script.
_PROPER = re.compile(r"(?<![.!?]\s)(?<!^)\b(?!I\b|I'm\b|I'd\b|I'll\b|I've\b)(?:[A-Z][A-Za-z]+|[А-ЯЁ][а-яё]+|[Α-Ω][α-ωά-ώ]+)")
_DIGITS = re.compile(r"\d+:\d+|\d(?:st|nd|rd|th)|\d{2,}(?:st|nd|rd|th)?")
_LATIN_IN_HAN = re.compile(r"(?<=[\u4e00-\u9fff])[A-Za-z][A-Za-z0-9]+|[《「“]([^》」”]{2,20})[》」”]")
_FIRST = re.compile(r"\b(i|i'm|i've|i'd|i'll|my|me|mine|myself)\b|我", _I)
_SECOND = re.compile(
    r"\b(you said|you told|remind me|you suggested|you recommended|you mentioned|your)\b|你说过|你推荐|你告诉", _I
)


def flags(text: str) -> Floats:
    """(cues,) of 0 and 1, in the order of ``NAMES``."""
    return np.array([bool(pattern.search(text)) for pattern in CUES.values()], np.float32)


def entities(text: str) -> frozenset[str]:
    """Names and numbers in one utterance, lower-cased. The speaker's label must not be in the text."""
    found = {word.lower() for word in _PROPER.findall(text)} | set(_DIGITS.findall(text.lower()))
    return frozenset(found | {match.group(1) or match.group(0).lower() for match in _LATIN_IN_HAN.finditer(text)})


def query_names(text: str) -> frozenset[str]:
    """Capitalised words of a question, also its first, unless a stop word."""
    return frozenset(word.lower() for word in re.findall(r"\b[A-Z][a-z]+", text) if word.lower() not in STOP_WORDS)


def asked_about(text: str, speakers: Sequence[str]) -> str | None:
    """The speaker whose words a query asks for: the one named in it; in a chat with an assistant, I / my ask for the
    user's and "you said" for the assistant's. None where it is open."""
    lower = text.lower()
    named = [s for s in speakers if s and re.search(_whole(s.lower()), lower)]
    if len(named) == 1:
        return named[0]
    plain = {s.lower(): s for s in speakers}
    if named or "assistant" not in plain:
        return None
    if _SECOND.search(text):
        return plain["assistant"]
    return plain.get("user") if _FIRST.search(text) else None


def _whole(name: str) -> str:
    """Where a name stands as a word of its own; beside it in scripts without spaces there is no edge."""
    edges = ["" if script(letter) in SPACELESS else r"\w" for letter in (name[0], name[-1])]
    return f"(?<!{edges[0]})" * bool(edges[0]) + re.escape(name) + f"(?!{edges[1]})" * bool(edges[1])
