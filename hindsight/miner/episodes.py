"""One memory a goal: what the user wanted, what was done, how it came out. Written when the goal closes.

A goal opens with a request and closes with thanks, with a confirmation, with a new request that is about something else,
or with its session. Small talk opens none, and a request that nobody answered is not yet an episode.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from hindsight.miner.redact import TAG, redact
from hindsight.miner.shift import shifts
from hindsight.miner.signals import Heard, asks, cues_of, hear, topic_of
from hindsight.miner.verdict import reply_outcome, result_outcome, tool_outcome
from hindsight.miner.wording import call_text, clip, spoken
from hindsight.text import normalise, words
from hindsight.types import Memory, Outcome, ToolCall, Turn, opaque

_NAME = re.compile(r"(?<=[a-z0-9,'’] )(?!I['’])[A-Z][\w'’-]+(?: [A-Z][\w'’-]+)*|《[^》]+》|「[^」]+」|“[^”]+”")
_TAIL = 300  # letters of a reply in which it asks
_PENDING = 8  # calls that may wait for their results


@dataclass(frozen=True, slots=True)
class Part:
    """Words of an episode, the positions of the turns that they come from, and the call that they tell of."""

    text: str
    sources: tuple[int, ...]
    call: ToolCall | None = None


@dataclass(slots=True)
class Running:
    """A goal that has not closed yet.

    ``settled`` and ``failed``: the positions that the outcome and the last failure come from; ``asked``: the last reply.
    """

    first: Turn
    goal: list[Part]
    terms: set[str]
    steps: list[Part] = field(default_factory=list[Part])
    replies: list[Part] = field(default_factory=list[Part])
    feedback: list[Part] = field(default_factory=list[Part])
    outcome: Outcome = "unknown"
    settled: int | None = None
    failed: int | None = None
    asked: str = ""
    answered: bool = False

    def settle(self, outcome: Outcome, position: int) -> None:
        self.outcome, self.settled = outcome, position
        self.failed = position if outcome == "failure" else self.failed


@dataclass(frozen=True)
class Episodes:
    """``words``: of each turn that an episode quotes; ``parts``: how many it quotes of the goal, of the action, of the feedback."""

    words: int = 45
    parts: int = 6

    def build(self) -> Episodes:
        return self

    def mine(self, turns: Sequence[Turn], user_id: str, dialogue_id: str) -> list[Memory]:
        """One user's stream in order -> its episodes, by their last source. The end of ``turns`` ends the session."""
        closed: list[Running] = []
        running: Running | None = None
        session, offer, called = "", None, False
        for turn, text in spoken(turns):
            if turn.session != session:
                closed += [running] if running else []
                session, running, offer = turn.session, None, None
            if turn.role != "user":
                offer = Part(clip(text, self.words), (turn.position,)) if _offers(text) else None
                if running:
                    self._reply(running, turn, text)
                elif turn.role == "tool" and closed and closed[-1].first.session == session and not called:
                    self._tool(closed[-1], turn, text)  # no call's result: a verdict on what was done
                called = called or bool(turn.calls)
                continue
            called = False
            heard = hear(text)
            if running and _begins_anew(running, turn, heard):
                if heard.feedback and turn.speaker == running.first.speaker:
                    self._react(running, turn, Heard(heard.feedback, "", heard.cues, False))
                closed.append(running)
                running = self._open(turn, heard, None)
            elif running is None:
                running = self._open(turn, heard, offer)
            elif turn.speaker == running.first.speaker and self._react(running, turn, heard):
                closed.append(running)
                running = None
        closed += [running] if running else []
        memories = [self._write(one, user_id, dialogue_id) for one in closed if one.answered]
        return sorted(memories, key=lambda memory: memory.sources[-1])

    def _open(self, turn: Turn, heard: Heard, offer: Part | None) -> Running | None:
        """A goal: of the user's own words, or the assistant's offer where the user takes it."""
        if heard.request:
            return Running(turn, [Part(clip(heard.rest, self.words), (turn.position,))], set(topic_of(heard.rest)))
        if offer and "yes" in cues_of(heard.feedback or heard.rest):
            own = Part(clip(f"{heard.feedback} {heard.rest}".strip(), self.words), (turn.position,))
            return Running(turn, [offer, own], set(topic_of(offer.text)))
        return None

    def _reply(self, running: Running, turn: Turn, text: str) -> None:
        """What the assistant did or said, or what a tool gave back."""
        here = (turn.position,)
        for call in turn.calls:
            outcome = tool_outcome(call)
            mark = "" if outcome == "unknown" else f" ({outcome})"
            running.steps.append(Part(call_text(call) + mark, here, call))
            if outcome != "unknown":
                running.settle(outcome, turn.position)
        if turn.role == "tool":
            self._tool(running, turn, text)
        elif text:
            short = Part(clip(text, self.words), here)
            outcome = reply_outcome(text)
            if outcome == "failure" and running.outcome == "success" and "apology" not in cues_of(text):
                outcome = "unknown"  # "They are not available on Sundays": told about a goal that was reached
            if outcome != "unknown":
                running.settle(outcome, turn.position)
            running.asked = text[-_TAIL:]
            running.replies.append(short)
            if not asks(text) or outcome != "unknown":
                running.steps.append(short)
        running.answered = running.answered or bool(text or turn.calls)
        running.terms |= topic_of(clip(text, self.words))

    def _tool(self, running: Running, turn: Turn, text: str) -> None:
        """A result with a turn of its own; where a call before it holds the same text, that step draws on this turn too."""
        result = normalise(turn.text)
        for place in range(len(running.steps) - 1, max(-1, len(running.steps) - 1 - _PENDING), -1):
            step = running.steps[place]
            if step.call and step.call.result is not None and normalise(step.call.result) == result:
                outcome = tool_outcome(step.call)
                running.steps[place] = Part(step.text, (*step.sources, turn.position), step.call)
                break
        else:
            outcome = result_outcome(text)
            running.steps += [Part(f"-> {clip(text, self.words)}", (turn.position,))] if text else []
        if outcome != "unknown":
            running.settle(outcome, turn.position)

    def _react(self, running: Running, turn: Turn, heard: Heard) -> bool:
        """The user's next turn about the same goal. True: it closes the goal."""
        cues, here = heard.cues, (turn.position,)
        more = "more" in cues_of(running.asked)
        asking = asks(running.asked) and not more
        refuses = "no" in cues and bool(heard.rest) and not heard.request
        done = ("done" in cues and not (asking and "yes" in cues)) or ("no" in cues and (more or "thanks" in cues))
        if heard.rest and not (cues & {"correction", "complaint", "solved"} or refuses):
            running.goal.append(Part(clip(heard.rest, self.words), here))
            running.terms |= topic_of(heard.rest)
            if "thanks" not in cues or asking:
                return False
        elif not heard.rest and asking and not (done or cues & {"correction", "complaint", "solved", "sarcasm"}):
            return False  # "Yes, perfect." answers a question
        told = heard.feedback if heard.rest and "thanks" in cues else f"{heard.feedback} {heard.rest}".strip()
        running.feedback.append(Part(clip(told, self.words), here))
        before = running.outcome
        self._judge(running, turn.position, heard, asking)
        if heard.rest or not running.answered or cues & {"correction", "complaint"}:
            return False
        if "praise" in cues and before == "failure" and not done:
            return "solved" in cues  # "Fine, thanks" after a failure takes what was offered instead
        return done or bool(cues & {"thanks", "solved"}) or ("praise" in cues and before == "success")

    def _judge(self, running: Running, position: int, heard: Heard, asking: bool) -> None:
        """What the user's words say of the outcome. Doubt leaves it unknown."""
        cues = heard.cues
        if "sarcasm" in cues:
            running.settle("unknown", position)
        elif "complaint" in cues:
            running.settle("failure", position)
        elif "correction" in cues or ("no" in cues and heard.rest):
            if running.outcome == "success":
                running.settle("unknown", position)
        elif "solved" in cues:
            running.settle("success", position)
        elif cues & {"thanks", "praise"} and not (cues & {"anyway", "no"} or asking or not running.answered):
            running.settle("success" if running.outcome == "unknown" else running.outcome, position)

    def _write(self, running: Running, user_id: str, dialogue_id: str) -> Memory:
        goal, steps, told = (
            parts if len(parts) <= self.parts else parts[:2] + parts[2 - self.parts :]
            for parts in (running.goal, running.steps or running.replies, running.feedback)
        )
        recovered = running.outcome == "success" and running.failed is not None
        verdict = {place for place in (running.settled, running.failed if recovered else None) if place is not None}
        sources = tuple(sorted({place for part in (*goal, *steps, *told) for place in part.sources} | verdict))
        goal_text, action, feedback = (" / ".join(part.text for part in parts) for parts in (goal, steps, told))
        text = " ".join(
            f"{name}: {said}" for name, said in (("Goal", goal_text), ("Action", action), ("Feedback", feedback)) if said
        )
        first = running.first
        return Memory(
            memory_id=opaque("episode", *sources, text),
            user_id=user_id,
            dialogue_id=dialogue_id,
            session=first.session,
            kind="episode",
            speaker=first.speaker,
            role="user",
            text=text,
            window=text,
            born=sources[-1],
            sources=sources,
            goal=goal_text,
            action=action,
            feedback=feedback,
            outcome=running.outcome,
            tags=(*_tags(goal_text, steps, first.time), *[TAG] * ("[redacted " in text), *["recovered"] * recovered),
            time=first.time,
        )


def _offers(text: str) -> bool:
    return "?" in text and "offer" in cues_of(text) and "more" not in cues_of(text)


def _begins_anew(running: Running, turn: Turn, heard: Heard) -> bool:
    if not heard.request:
        return False
    if turn.speaker != running.first.speaker:
        return True
    return running.answered and shifts(heard.rest, running.terms, running.asked, running.outcome)


def _tags(goal: str, steps: Sequence[Part], time: str | None) -> tuple[str, ...]:
    """Topics and names of the user's own words, tools, short argument values, the day: never what the assistant claims."""
    calls = [step.call for step in steps if step.call]
    given = [value for call in calls for value in call.arguments.values() if isinstance(value, str) and len(value) <= 40]
    values = [value for value in given if redact(value) == value]
    topics = [
        word.lower() for word in words(goal) if word.isascii() and word.islower() and word.isalpha() and topic_of(word)
    ]
    names = [call.name for call in calls]
    day = [time[:10]] if time else []
    return tuple(dict.fromkeys([*_NAME.findall(goal)[:8], *values[:8], *topics[:6], *names[:4], *day]))
