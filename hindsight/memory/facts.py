"""What a person states about themselves and theirs, by rules, in English and Chinese: rather missed than wrong.

A sentence states a fact where it says plainly of what it is ("my dentist is Dr. Hale", "I moved to Bergen", "我住在苏州"). Questions,
conditions, wishes, reported speech and negations state none; a hedge makes a guess of it. ``about`` begins with whose it is: ``user``,
or the person who is named ("my sister lives in Oslo" is of ``sister``, never of the user).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from hindsight.features.cues import CUES
from hindsight.text import is_question, normalise, sentences, terms

Kind = Literal["fact", "preference", "guess"]
Change = Literal["", "vague", "explicit", "withdrawn"]
LONGEST = 10  # words of a value


@dataclass(frozen=True, slots=True)
class Fact:
    """``about``: ``whose/what``. ``value``: normalised. ``change``: how it says that something else held before; withdrawn: it holds no
    more, and nothing else is said to."""

    about: str
    value: str
    kind: Kind = "fact"
    change: Change = ""


_KIN = (
    "mother|mom|mum|father|dad|sister|brother|wife|husband|partner|girlfriend|boyfriend|son|daughter|aunt|uncle|cousin|niece|nephew"
    "|grandmother|grandma|grandfather|grandpa|boss|manager|colleague|roommate|flatmate|neighbou?r|landlord|friend|teacher|tutor|coach"
)
_KIN_ZH = (
    "妈妈|母亲|爸爸|父亲|姐姐|妹妹|哥哥|弟弟|老婆|妻子|老公|丈夫|爱人|儿子|女儿|阿姨|叔叔|表姐|表哥|表弟|表妹"
    "|老板|经理|同事|室友|邻居|房东|朋友|老师|闺蜜"
)
_NAME = r"[A-Z][\w’'-]+"
# What makes a sentence say nothing for certain, or nothing of its speaker's own.
_IDLE = re.compile(
    r"\b(if|unless|whether|suppose|imagine|pretend|would|could|should|wish|hope|hoping|used to|want to|going to|might have|as if"
    r"|said|says|told me|asked|claims?|heard|read that|for example|e\.g|not sure)\b|[\"“”]"
    r"|如果|要是|假如|假设|希望|想要|想去|打算|听说|据说|比如|例如|会不会|是不是|不确定|[「“”]",
    re.I,
)
_HEDGE = re.compile(r"\b(i think|i guess|i believe|maybe|perhaps|probably|possibly|might|may be|not certain|roughly|something like)\b"
                    r"|可能|大概|也许|好像|应该是|估计|说不定", re.I)  # fmt: skip
_VAGUE = re.compile(
    r"\b(lately|these days|recently|more and more|starting to|leaning towards?|thinking of|considering)\b|最近|越来越|考虑",
    re.I,
)
_GONE = re.compile(
    r"\b(no longer|not .{0,30}any ?more|stopped|quit|gave up|cancel(?:led)?)\b|n['’]t .{0,30}any ?more\b|不再|取消|戒了|不.{1,8}了",
    re.I,
)
_BECAME = re.compile(r"\b(changed to|has become|became)\b", re.I)
_NOT = re.compile(r"^(?:not|no longer|never|n't)\b|^不|^没", re.I)
_VALUE = r"(?P<value>(?:[^,;.!?，。；！？]|[.,](?=\S))+)"
_IS = r"(?:is|are|was changed to|changed to|will be|is now|has become|became)"
_WHOSE = rf"(?:(?P<kin>{_KIN})(?:,? (?:{_NAME}))?(?:'s|’s) )?"

# (what, pattern). The verb's own noun is the attribute; (?P<what>) is one that the sentence names itself.
_ENGLISH: tuple[tuple[str, str], ...] = (
    ("", rf"\bmy {_WHOSE}(?P<what>(?:[a-z-]+ ){{0,3}}[a-z-]+) {_IS} (?:now |called |named )?{_VALUE}"),
    ("home", rf"\b(?:i|my (?P<kin>{_KIN})) (?:now |currently |still )?(?:lives?|living) (?:now )?in {_VALUE}"),
    ("home", rf"\b(?:i|my (?P<kin>{_KIN})) (?:don't|doesn't|do not|does not|no longer) lives? in (?P<value>[^,;.!?]+ any ?more)"),
    ("home", rf"\b(?:i|my (?P<kin>{_KIN})|i've|i have) (?:just |recently |finally )?moved (?:over |back |out )?to {_VALUE}"),
    ("work", rf"\b(?:i|my (?P<kin>{_KIN})) (?:now |currently |still )?works? (?:at|for) {_VALUE}"),
    ("job", rf"\b(?:i|my (?P<kin>{_KIN})) (?:now |currently |still )?works? as (?:an? )?{_VALUE}"),
    ("allergy", rf"\b(?:i'm|i am|my (?P<kin>{_KIN}) is) (?:badly |severely |very )?allergic to {_VALUE}"),
    ("name", rf"\b(?:call me|i'm called|i am called) {_VALUE}"),
    ("car", rf"\b(?:i|my (?P<kin>{_KIN})) (?:now |currently )?drives? (?:an? )?{_VALUE}"),
)  # fmt: skip
_CHINESE: tuple[tuple[str, str], ...] = (
    ("", rf"我(?:的|(?P<kin>{_KIN_ZH})的?)(?P<what>[\u4e00-\u9fff]{{1,6}}?)(?:现在|已经)?(?:是|叫|改成了?|换成了?|变成了?)(?:了)?{_VALUE}"),
    ("home", rf"我的?(?P<kin>{_KIN_ZH})?(?:现在|目前|还是)?(?:住在|搬到了?|搬去了?){_VALUE}"),
    ("work", rf"我的?(?P<kin>{_KIN_ZH})?(?:现在|目前)?在(?P<value>(?!家|哪|这|那)[^,;.!?，。；！？]{{2,16}}?)(?:上班|工作)"),
    ("allergy", rf"我的?(?P<kin>{_KIN_ZH})?对(?P<value>[^,;.!?，。；！？]{{1,12}}?)过敏"),
    ("name", r"(?:^|[，。！,])我(?:叫|的名字是)(?P<value>[^,;.!?，。；！？给帮来去把快个]{2,8})(?=$|[,.!，。！])"),
)  # fmt: skip
_LIKING: tuple[tuple[str, str], ...] = (
    ("likes", rf"\bi (?:really |absolutely |still )?(?:love|like|enjoy|adore) {_VALUE}"),
    ("dislikes", rf"\bi (?:really |absolutely )?(?:hate|dislike|can't stand|don't like|do not like|avoid) {_VALUE}"),
    ("prefers", rf"\b(?:i|i'd) (?:always |usually |really )?prefer {_VALUE}"),
    ("likes", rf"我(?:很|最|特别|一直)?(?:喜欢|爱){_VALUE}"),
    ("dislikes", rf"我(?:很|最|特别)?(?:讨厌|不喜欢|受不了|不爱){_VALUE}"),
)
_RULES = [(what, re.compile(pattern, re.I), False) for what, pattern in (*_ENGLISH, *_CHINESE)]
_RULES += [(what, re.compile(pattern, re.I), True) for what, pattern in _LIKING]
# "my point is", "my only problem is": of the talk, or of a feeling, and nothing that lasts
_NO_ATTRIBUTE = re.compile(
    r"\b(point|problem|question|issue|guess|hope|plan|idea|concern|worry|things?|turn|fault|mistake|bad|day|week|weekend|morning"
    r"|evening|life|feeling|mood|head|brain|eyes|goal|advice|take|opinion|view|impression|understanding|thinking|thought|answer|reply"
    r"|message|one|best|last|next)$|^(问题|意思|想法|看法|目标|计划|建议|担心|感觉|错|天)$",
    re.I,
)
_NO_VALUE = re.compile(
    r"^(?:(?:so|too|very|really|quite|just|also|still|always|a bit|kind of|sort of|getting|being|doing|coming|going|trying|that|what"
    r"|how|why|when|where|it|this|there|here|all|about|like|in|on|at|for|from|with|to|driving|killing|making|good|great|fine|bad|ok"
    r"|okay|happy|sad|tired|sick|busy|ready|done|late|early|nice|amazing|awful|terrible|broken)\b)"
    r"|^(很|太|真|什么|怎么|这样|那样|好|坏)",
    re.I,
)
# A named attribute is believed where it is one that lasts, or where its value is a name or a number: "my hands are wet" is neither.
_LASTING = re.compile(
    r"\b(address|allergi|birthday|anniversari|favourit|favorit|colou?r|size|password|passcod|code|pin|number|email|e-mail|phone|name"
    r"|nicknam|diet|budget|deadlin|usernam|handl|blood type|breed|major|hometown|nation|languag|currenc|timezon|time zone|seat|plate"
    r"|rent|salari|shift)\b"
    r"|(名字|生日|地址|电话|手机|号码|邮箱|密码|口味|颜色|尺码|航班|座位|预算|工资|血型|专业|老家|车牌|门牌|房号)$"
)
_SPECIFIC = re.compile(r"\d|@|(?:^|\s)[A-Z][\w’'-]+|《")
_TAIL = re.compile(
    r"\s+(?:now|instead|from now on|these days|again|actually|though|by the way|anyway|(?:last|this) (?:week|month|year)|yesterday|today"
    r"|last (?:summer|winter|spring|autumn|fall)|any ?more|(?:as of|since|because|and|but|so|which|when|until|where|if) .*)$"
    r"|(?:了|啦|吧|呢|啊|哦|而且.*|但是.*|因为.*|所以.*)$",
    re.I,
)
_SAME = {"mom": "mother", "mum": "mother", "dad": "father", "neighbour": "neighbor", "grandma": "grandmother", "grandpa": "grandfather",
         "母亲": "妈妈", "父亲": "爸爸", "妻子": "老婆", "丈夫": "老公"}  # fmt: skip


def facts_of(text: str) -> list[Fact]:
    """In the order in which they are said; none twice. ``text``: what one person says, without their name in front.

    >>> facts_of("By the way, my dentist is Dr. Hale. Do you think my sister is right?")
    [Fact(about='user/dentist', value='dr. hale', kind='fact', change='')]
    """
    found = dict.fromkeys(fact for sentence in sentences(_whole_titles(text)) for fact in _stated(sentence))
    return list(found)


def _whole_titles(text: str) -> str:
    """``Dr.`` ends no sentence."""
    return re.sub(r"\b(Dr|Mr|Mrs|Ms|Prof|St)\. (?=[A-Z])", "\\1\u2024 ", text)


def _stated(sentence: str) -> Iterator[Fact]:
    if is_question(sentence):
        return
    taken: list[tuple[int, int]] = []
    for what, pattern, liking in _RULES:
        for found in pattern.finditer(sentence):
            before = sentence[: found.start("value")]
            if _IDLE.search(before) or any(start < found.end() and found.start() < stop for start, stop in taken):
                continue
            parts = found.groupdict()
            attribute = what or _attribute(parts["what"])
            value, hedged = _clean(parts["value"]), bool(_HEDGE.search(sentence))
            if not attribute or _IDLE.search(parts["value"].split(" because ")[0]):
                continue
            if not what and not _LASTING.search(attribute) and not _SPECIFIC.search(parts["value"]):
                continue
            whose = _whose(parts.get("kin"))
            about = f"{whose}/{attribute}"
            taken.append(found.span())
            if _GONE.search(found[0]):
                yield Fact(about, "", "preference" if liking else "fact", "withdrawn")
            elif _NOT.search(parts["value"].strip()):
                continue
            elif value:
                yield Fact(
                    about,
                    value,
                    "guess" if hedged else "preference" if liking or what == "allergy" else "fact",
                    _change(sentence, hedged),
                )


def _whose(kin: str | None) -> str:
    return "user" if not kin else _SAME.get(kin.lower(), kin.lower())


def _attribute(what: str) -> str:
    """Its terms, so that "the account numbers" and "account number" are one; "" where it is none."""
    plain = re.sub(r"^(?:new|old|current|own|main|usual|real|actual|updated|correct) ", "", normalise(what))
    if _NO_ATTRIBUTE.search(plain):
        return ""
    if re.search(rf"\b(?:{_KIN})s?$", plain) and " " not in plain:  # my sister is ...: who she is, or how
        return ""
    return " ".join(terms(plain)) if plain.isascii() else plain


def _clean(value: str) -> str:
    plain = normalise(value).replace("\u2024", ".").strip(" '’-:")
    shorter = _TAIL.sub("", plain)
    while shorter != plain:
        plain, shorter = shorter, _TAIL.sub("", shorter)
    plain = re.sub(r"^(?:the|an?) ", "", plain).strip()
    if not plain or _NO_VALUE.search(plain) or len(plain.split()) > LONGEST or len(plain) > 80:
        return ""
    return plain


def _change(sentence: str, hedged: bool) -> Change:
    if hedged or _VAGUE.search(sentence):
        return "vague" if CUES["changes"].search(sentence) or _VAGUE.search(sentence) else ""
    return "explicit" if CUES["changes"].search(sentence) or _BECAME.search(sentence) else ""
