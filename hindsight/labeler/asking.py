"""Questions that read like real ones, made of statements: the word that asks fits what is missing, the verb its helper.

"I painted a sunrise in 2022" by Melanie gives "When did Melanie paint a sunrise?" or "What did Melanie paint in 2022?". In a chat with
an assistant it is the user who asks: "What did I paint in 2022?", "What did you recommend?". Light rules over pronoun subjects, no
parser; a sentence that they do not fit is asked about: "What did Melanie say about ...?". Real questions share few words with their
answer, so what is beside the point is often left out.
"""

from __future__ import annotations

import random
import re

from hindsight.labeler.clause import OBJECT, SPANS, TIME, Told, read_clause
from hindsight.labeler.pseudo import questions as third_person_questions
from hindsight.labeler.pseudo import run_question, statement_question, third_person
from hindsight.text import SPACELESS, is_content, is_question, script, sentences, words

BARE = ("User", "Assistant")  # how a chat with an assistant names its two, who then say I and you

_LEAD = re.compile(
    r"^\W*(?:(?:well|so|and|but|hey|oh|yeah|yes|no|thanks|wow|also|anyway|honestly|ok|okay|hi|hello)\b[,.! ]*)+", re.I
)
_BREAK = re.compile(r" (?=(?:in|at|on|with|for|from|to|by|and|about|into|as|after|before|during|through|because)\b)")
_APART = re.compile(
    r"[^\w\s'/.-]+|\b(?:I|[Mm]e|[Mm]y|[Yy]our?|[Ww]e|[Oo]ur|[Uu]s|[Ii]t|[Hh]e|[Ss]he|[Tt]hey|[Tt]hem|is|are|was|were|have|has|had)\b|'\w+|\*"
)
_ABOUT_ASSISTANT = (
    "What did you tell me about {topic}?",
    "What did you suggest for {topic}?",
    "What was it you said about {topic}?",
)
_ABOUT_USER = ("What did I say about {topic}?", "What did I tell you about {topic}?", "Which {topic} did I mention?")
_ABOUT_NAMED = (
    "What did {me} say about {topic}?",
    "What does {me} think of {topic}?",
    "What happened with {me} and {topic}?",
)


def fitting_question(text: str, me: str, you: str, rng: random.Random) -> str:
    """A question that a statement of this turn answers; "" where little is told. ``me`` speaks, ``you`` listens."""
    told = [s for s in sentences(text) if not is_question(s)]
    if (written := script(text)) in SPACELESS:
        return _han(run_question(told, *(("我", "你") if me in BARE else (me, you)), rng), me)
    if written != "latin":  # the rules below are English
        return statement_question(text, me, you, rng)
    told = [s for s in told if sum(map(is_content, words(s))) >= 3]
    if not told:
        return ""
    told = [_LEAD.sub("", s.replace("’", "'")).rstrip(".! ") for s in rng.sample(told, min(4, len(told)))]
    for clause in filter(None, map(read_clause, told)):
        if rng.random() < 0.85 and (asked := _ask(clause, me, you, rng)):
            return asked
    return _about(told[0], me, rng)


def fitting_questions(text: str, me: str, you: str) -> str:
    """The question sentences of a turn, as the user of a chat with an assistant would ask them, else in third person; "" if none."""
    if me not in BARE:
        return third_person_questions(text, me, you)
    return _others(" ".join(filter(is_question, sentences(text))), me, you, "").strip()


def _ask(clause: Told, me: str, you: str, rng: random.Random) -> str:
    """A question for one of the things that the clause says, or "" where it says too little."""
    subject = _person(clause.subject, me, you)
    if not subject:
        return ""
    rest, lead = clause.rest, clause.lead
    found: list[tuple[str, str, str]] = []  # (opening, what is left of the rest, what stands behind it)
    for opening, pattern in SPANS:
        if match := pattern.search(rest):
            left = f"{rest[: match.start()]} {rest[match.end() :]}"
            if opening == "How many":
                found.append((f"How many {match[1]}", left, ""))
            elif opening == "Who":
                found.append((opening, left, match[1]))
            else:
                found.append((opening, left, ""))
        elif opening == "When" and pattern.search(lead):
            found.append((opening, rest, ""))
    if match := OBJECT.search(rest):
        head = match[1].split()
        left = f"{rest[: match.start(1)]} {rest[match.end(1) :]}".strip()
        if sum(map(is_content, head)) and clause.verb not in ("go", "be"):
            kind = rng.random()
            if len(head) > 1 and kind < 0.25 and head[-1].islower():
                found.append((f"{rng.choice(('What', 'Which', 'What kind of'))} {head[-1]}", left, ""))
            else:
                found.append(("What", left, ""))
    if not found:
        return ""
    typed = [one for one in found if not one[0].startswith(("What", "Which"))]
    opening, left, behind = rng.choice(typed if typed and rng.random() < 0.7 else found)
    if (opening != "When" and rng.random() < 0.5) or opening == "When":
        left = TIME.sub(" ", left)  # a time beside the point
    left = _spare(_others(left, me, you, clause.subject), rng)
    helper = _agree(clause.helper, subject)
    asked = " ".join(f"{opening} {helper} {subject} {clause.verb} {left} {behind}".split())
    asked = re.sub(
        r"(?: (?:in|at|on|with|for|from|to|of|by|and|a|an|the|about|my|'s))+$",
        lambda m: f" {behind}" if behind else "",
        asked,
    )
    enough = [w for w in words(asked) if is_content(w) and w not in (me, you, subject)]
    return f"{asked}?" if len(enough) >= 2 else ""


def _han(asked: str, me: str) -> str:
    """As the user asks it: what the assistant told of itself is told of "you"."""
    return asked.translate(str.maketrans("我你", "你我")) if me == BARE[1] else asked


def _spare(rest: str, rng: random.Random) -> str:
    """Without adverbs, and without some of the phrases and words that a question need not repeat."""
    phrases = [p for i, p in enumerate(_BREAK.split(rest)) if i == 0 or rng.random() < 0.6]
    kept = [w for w in " ".join(phrases).split() if not w.endswith("ly") and (not is_content(w) or rng.random() < 0.88)]
    return " ".join(kept[:12]).strip(" ,'")


def _about(sentence: str, me: str, rng: random.Random) -> str:
    """What is said of a few words in a row, where no clause can be asked for."""
    runs = [run.split() for run in _APART.split(sentence)]
    runs = [run for run in runs if sum(map(is_content, run)) >= 2]
    if not runs:
        return ""
    run = rng.choice(runs)
    places = [i for i, word in enumerate(run) if is_content(word)]
    start = rng.randrange(len(places) - 1)
    end = min(len(places) - 1, start + rng.choice((1, 2, 3)))
    topic = " ".join(run[places[start] : places[end] + 1][:7])
    frames = _ABOUT_ASSISTANT if me == BARE[1] else _ABOUT_USER if me == BARE[0] else _ABOUT_NAMED
    return rng.choice(frames).format(me=me, topic=topic)


def _person(subject: str, me: str, you: str) -> str:
    """As the asker names it; "" for one whom a question cannot name (he, she, they)."""
    lower = subject.lower()
    if lower in ("he", "she", "they"):
        return ""
    if me == BARE[0]:
        return subject if subject == "I" else subject[0].lower() + subject[1:]
    if me == BARE[1]:
        return {"i": "you", "we": "we", "you": "I"}.get(lower, re.sub(r"^(?:[Mm]y|[Oo]ur)\b", "your", subject))
    if lower in ("i", "we"):
        return me
    return you if lower == "you" else re.sub(r"^(?:[Mm]y|[Oo]ur)\b", lambda _: f"{me}'s", subject)


def _others(text: str, me: str, you: str, subject: str) -> str:
    """Pronouns inside the question, as the asker says them."""
    if me == BARE[0]:
        return text
    if me == BARE[1]:
        swap = {"i": "you", "me": "you", "my": "your", "mine": "yours", "you": "me", "your": "my", "yours": "mine"}
        return re.sub(r"\b(I|me|my|mine|you|your|yours)\b", lambda m: swap[m[0].lower()], text, flags=re.I)
    if subject == "I":
        text = re.sub(r"\b(?:my|our)\b", "their", text)
    return third_person(text, me, you)


def _agree(helper: str, subject: str) -> str:
    if subject == "I":
        return {"is": "am", "does": "do", "has": "have"}.get(helper, helper)
    if subject in ("you", "we"):
        return {"is": "are", "does": "do", "has": "have", "was": "were"}.get(helper, helper)
    return helper
