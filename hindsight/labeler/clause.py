"""A sentence as a question needs it: who does what, with the verb in its base form and its helper, and what of it can be asked for.

Light rules over pronoun subjects ("I painted ...", "my sister bought ..."), no parser; base forms by lemminflect's tables.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

_NUMBER = r"(?:\d[\d,.]*|two|three|four|five|six|seven|eight|nine|ten|twelve|twenty|several|a few|a couple of)"
_UNIT = r"(?:minute|hour|day|night|week|weekend|month|year|decade)"
_MONTH = r"(?:January|February|March|April|June|July|August|September|October|November|December|May(?= \d)|(?<=in )May)"
_DAY = r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day"
_NAME = rf"(?!{_MONTH}|{_DAY})[A-Z]"
_NAMES = rf"{_NAME}[\w'&-]*(?: (?:of |the |& )?[A-Z][\w'&-]*)*"
_KIN = (
    r"(?:mom|mum|mother|dad|father|sister|brother|wife|husband|partner|friends?|son|daughter|kids|boss|colleagues?|neighbou?r"
    r"|family|aunt|uncle|cousin|grand(?:ma|pa)|teacher|manager)"
)
_LONG = rf"\bfor (?:about |over |almost |nearly |the (?:last|past) )?(?:an? |{_NUMBER} ){_UNIT}s?\b|\bsince (?:19|20)\d\d\b"
_TIME = (
    rf"\b(?:(?:[Oo]n|[Ii]n|[Aa]t|[Bb]y|[Uu]ntil|[Dd]uring|[Aa]round|[Ff]or|[Ss]ince) )?(?:the )?(?:(?:early|late|mid)[ -])?"
    rf"(?:(?:[Ll]ast|[Nn]ext|[Tt]his|[Tt]he past) (?:{_UNIT}s?|{_DAY}|{_MONTH}|summer|winter|spring|fall|autumn)"
    rf"|[Yy]esterday|[Tt]oday|[Tt]onight|[Tt]omorrow|[Rr]ecently|(?:an? |{_NUMBER} ){_UNIT}s? ago|(?:the )?other day"
    rf"|(?:\d{{1,2}}(?:st|nd|rd|th)?(?: of)? )?{_MONTH}(?: \d{{1,2}}(?:st|nd|rd|th)?\b)?(?:,? (?:19|20)\d\d)?|{_DAY}|(?:19|20)\d\d"
    rf"|\d{{1,2}}(?::\d\d)? ?[ap]\.?m\b\.?)(?: (?:morning|afternoon|evening|night))?"
)
TIME = re.compile(_TIME)
# The word that asks, and what it asks for. Group 1 stays: behind "How many", or at the end of "Who".
SPANS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("How long", re.compile(_LONG, re.I)),
    ("When", TIME),
    ("How much", re.compile(r"(?:[$€£¥] ?\d[\d,.]*(?: ?[kKmM])?|\b\d[\d,.]* ?(?:dollars|euros|pounds|bucks|%|percent\b))")),
    ("How many", re.compile(rf"\b{_NUMBER} ((?:\w+ )?(?!{_UNIT}s\b)[a-z]+s)\b")),
    ("Why", re.compile(r",? ?\b(?:because|so that|due to|in order to)\b.*$", re.I)),
    (
        "Who",
        re.compile(rf"\b(with|from|by|for|to) (?:(?:my|our) (?:\w+ )?{_KIN}\b(?: [A-Z]\w+)?|{_NAME}[a-z]+\b(?! [A-Z]))"),
    ),
    ("Where", re.compile(rf"\b(?:in|at|near|to|from) (?:the )?{_NAMES}")),
)
# What the verb is about: up to four words before the next preposition.
OBJECT = re.compile(
    r"^(?:(?:to|about|on|with|for|into|of|that) )?((?:(?:an?|the|my|our|some|any|this|that|these|those|her|his|their|new|more) )?"
    r"(?:(?!(?:in|at|on|with|for|from|to|of|by|and|but|or|about|into|as|that|when|while|after|before|because|so|which|who|if)\b)"
    r"[\w'/-]+ ?){1,4})"
)
_BE = {"am": "is", "are": "is", "is": "is", "was": "was", "were": "was", "'m": "is", "'re": "is", "'s": "is"}
_MODAL = {name: name for name in ("will", "can", "could", "would", "should", "might", "must")} | {"'ll": "will"}
_HAVE = ("have", "has", "had", "'ve")
_HELPERS = "|".join(name for name in (*_BE, *_MODAL, *_HAVE, "did", "do") if name[0] != "'")
_ADVERBS = r"(?:(?:really|just|also|always|never|finally|actually|already|still|even|often|only|not|ever|soon|\w+ly) )*"
_CLAUSE = re.compile(
    r"(?:^|(?<=[ ,;]))(I|[Ww]e|[Yy]ou|[Hh]e|[Ss]he|[Tt]hey|(?:[Mm]y|[Oo]ur) (?:\w+ )?\w+)"
    rf"(?:('m|'re|'s|'ve|'d|'ll)| ({_HELPERS}))?(n't)?(?: {_ADVERBS}([a-z]+))?\b"
)
_INFINITIVE = re.compile(r"^(?:to|about) [a-z]+\b")
_END = re.compile(
    r"[;:!?()\n\"“”*`]| - | – |—|,(?! (?:19|20)\d\d)|,? (?:but|and (?:I|we|it|he|she|they|you|then)|so (?!that\b)(?:I|we|it)"
    r"|which|where|although|though|if|when|while)\b"
)


@dataclass(frozen=True, slots=True)
class Told:
    """A clause: who does what. ``helper`` is what a question puts before its subject; ``lead`` what stood before the clause."""

    subject: str
    helper: str
    verb: str
    rest: str
    lead: str = ""


def read_clause(sentence: str) -> Told | None:
    """The first clause whose subject is a pronoun or "my ...", with its verb in the form that a question wants."""
    for found in _CLAUSE.finditer(sentence):
        subject, short, helper, verb = found[1], found[2], found[3], found[5] or ""
        if found[4] or verb == "don":
            continue  # what is denied is rarely asked for
        rest = sentence[found.end() :]
        cut = _END.search(rest)
        rest = (rest[: cut.start()] if cut else rest).strip(" ,.'")
        lead = sentence[: found.start()].strip(" ,")
        helper = short or helper or ""
        helper, verb, rest = _forms(helper, verb, rest)
        if helper and (more := _INFINITIVE.match(rest)) and (_base(more[0].split()[1]) or more[0].endswith("ing")):
            verb, rest = f"{verb} {more[0]}", rest[more.end() :].strip()  # trying to optimise, thinking about adopting
        if helper:
            return Told(subject, helper, verb, rest, lead if len(lead.split()) <= 6 else "")
    return None


def _forms(helper: str, verb: str, rest: str) -> tuple[str, str, str]:
    """(what stands before the subject, verb, rest); no helper where there is no verb."""
    if helper == "'d":
        helper = "had" if verb.endswith(("ed", "en")) or verb in ("been", "gone") else "would"
    if helper in _BE:
        return _BE[helper], verb, rest
    if helper in _MODAL:
        return (_MODAL[helper], verb, rest) if verb else ("", "", "")
    if helper in _HAVE:
        past = "had" if helper == "had" else "has"
        if _is_form(verb, "VBN") and verb not in ("a", "an", "the", "set", "put"):
            return past, verb, rest
        return ("did" if helper == "had" else "does"), "have", f"{verb} {rest}".strip()
    if helper in ("did", "do"):
        return ("did" if helper == "did" else "does"), verb, rest
    base = _base(verb)
    if not base:
        return "", "", ""
    past = verb in ("read", "put", "cut", "set", "hit") or (verb != base and not verb.endswith("s"))
    return "did" if past else "does", base, rest


@lru_cache(maxsize=4096)
def _base(verb: str) -> str:
    """painted -> paint; "" for what is no verb's finite form."""
    from lemminflect import getAllLemmas

    found = getAllLemmas(verb)
    if not verb or "VERB" not in found or verb.endswith("ing") or ("ADV" in found and verb not in ("do", "like", "own")):
        return ""
    return str(found["VERB"][0])


@lru_cache(maxsize=4096)
def _is_form(verb: str, tag: str) -> bool:
    from lemminflect import getInflection

    base = _base(verb)
    return bool(base) and (verb in getInflection(base, tag) or verb in ("got", "been"))
