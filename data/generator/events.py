"""How each event of a fact is said and answered."""

from __future__ import annotations

from collections.abc import Sequence

from data.generator.script import Fact, lists
from data.generator.threads import Event
from data.generator.writer import Part, Place, Writer

REACTED, BROKEN, WRONG = 0.5, 0.15, 0.12
SHORTEST = 30  # turns that a stream must have before a query of it is worth judging
NEAR = 0.6  # questions that share words with the turn that told; the others share hardly any


class Teller:
    """Speaks for a user's facts. A fact's slots: value, old, other, person, rel (whose the other one is)."""

    def __init__(self, writer: Writer) -> None:
        self.writer, self.rng, self.language = writer, writer.rng, writer.persona.language

    def parts(self, event: Event) -> tuple[Part, Part]:
        """What the user tells and what is replied, where an event only tells. Draws the value, if it is a new one."""
        fact, writer = event.fact, self.writer
        assert fact is not None
        slot = f"{fact.name}.value"
        if event.what == "noise":
            text = writer.shared.choose(fact.get("noise"), self.rng)
            said, reply = text.split(" => ")
            return Part([said], fact.name), Part([reply], fact.name)
        if event.what == "tell":
            writer.put(slot, fact.get("value"), never=[writer.values.get(f"{fact.name}.other", "")])
            return self._worded(fact, "tell", "near"), Part(fact.get("ack"), fact.name)
        if event.what == "other":
            self._other(fact)
            return Part(fact.get("other"), fact.name), Part(
                fact.get("other_ack") or lists(self.language, "noted"), fact.name
            )
        old = writer.values[slot]
        writer.values[f"{fact.name}.old"] = old
        if event.what == "fix":
            writer.values[f"{fact.name}.fixed"] = "yes"
        writer.put(slot, fact.get("value"), never=[old, writer.values.get(f"{fact.name}.other", "")])
        told = self._worded(fact, event.what, f"{event.what}_near")
        return told, Part(fact.get("update_ack") or fact.get("ack"), fact.name)

    def _worded(self, fact: Fact, key: str, near: str) -> Part:
        """One way of telling; keeps the question that goes with it, in nearly the same words."""
        text = self.writer.shared.choose(fact.get(key), self.rng)
        self.writer.worded[fact.name] = fact.get(near)[fact.get(key).index(text)]
        return Part([text], fact.name)

    def _other(self, fact: Fact) -> None:
        writer = self.writer
        wanted = fact.get("who")
        people = [pair for pair in writer.persona.people if not wanted or pair[0] in wanted] or list(writer.persona.people)
        relation, name = self.rng.choice(people)
        writer.put(f"{fact.name}.person", [name])
        writer.put(f"{fact.name}.rel", [relation])
        writer.put(f"{fact.name}.other", fact.get("value"), never=[writer.values.get(f"{fact.name}.value", "")])

    def too_soon(self, event: Event) -> bool:
        """An act whose value has just been said."""
        return event.what == "act" and self.writer.recent([f"{event.fact.name}.value"])  # pyright: ignore

    def exchange(self, event: Event) -> None:
        """Events that look back, or take something back."""
        fact, writer = event.fact, self.writer
        assert fact is not None
        said = {"ask": "ask", "abstain": "ask"}.get(event.what, event.what)
        value, other = f"{fact.name}.value", f"{fact.name}.other"
        if event.what == "fix":
            told, reply = self.parts(event)
            writer.user(told)
            writer.assistant(reply)
            return
        if event.what == "retract":
            self._retract(fact)
            return
        needs = {"ask": [value], "act": [value], "ask_other": [other], "ask_both": [value, other],
                 "ask_gone": [f"{fact.name}.gone"], "abstain": []}[event.what]  # fmt: skip
        if any(slot not in writer.carriers for slot in needs):
            return
        relevant = [writer.carriers[slot] for slot in needs]
        if event.what == "act":
            said, _, done = writer.shared.choose(fact.get("act"), self.rng).partition(" => ")
            turn = writer.user(Part([said], fact.name))
            self._perform(fact, Part([done] if done else fact.get("done"), fact.name))
            self.judge("act", "", turn, needs, relevant)
            return
        near = event.what == "ask" and self.rng.random() < NEAR
        turn = writer.user(Part([writer.worded[fact.name]] if near else fact.get(said), fact.name))
        reply = Part(fact.get({"ask": "answer", "abstain": "abstain"}.get(event.what, "answer" + event.what[3:])), fact.name)
        if event.what == "ask" and self._wrong(fact, reply):
            return
        writer.assistant(reply)
        self.judge("ask", self._type(event, fact), turn, needs, relevant)

    def _retract(self, fact: Fact) -> None:
        """``text => phrase``: the phrase in the text is what a later answer must know."""
        writer = self.writer
        text, phrase = writer.shared.choose(fact.get("retract"), self.rng).split(" => ")
        writer.put(f"{fact.name}.gone", [phrase.strip()])
        writer.user(Part([text.replace(phrase.strip(), "{gone}")], fact.name))
        writer.assistant(Part(fact.get("retract_ack") or lists(self.language, "dropped"), fact.name))

    def _type(self, event: Event, fact: Fact) -> str:
        if event.what == "abstain":
            return "abstain"
        if event.what != "ask":
            return {"ask_other": "lookalike", "ask_both": "multi", "ask_gone": "retraction"}[event.what]
        if f"{fact.name}.fixed" in self.writer.values:
            return "retraction"
        if f"{fact.name}.old" in self.writer.values:
            return "update"
        if fact.get("type"):
            return fact.get("type")[0]
        return "lookalike" if f"{fact.name}.other" in self.writer.carriers else "single"

    def _wrong(self, fact: Fact, reply: Part) -> bool:
        """Now and then the assistant takes the outdated or the other person's value and is corrected; that is no gold."""
        writer, slot = self.writer, f"{fact.name}.value"
        source = next((f"{fact.name}.{name}" for name in ("old", "other") if f"{fact.name}.{name}" in writer.values), "")
        if not source or self.rng.random() > WRONG:
            return False
        right = writer.values[slot]
        writer.values[slot] = writer.values[source]
        writer.assistant(reply)
        writer.values[slot] = right
        writer.user(Part(lists(self.language, "corrections_" + source.rpartition(".")[2]), fact.name))
        writer.assistant(Part(lists(self.language, "apologies")), reply)
        return True

    def _perform(self, fact: Fact, done: Part) -> None:
        """The assistant does it; one call in seven fails for reasons of the tool's own, and is repeated."""
        writer, call = self.writer, fact.get("call")
        if call and self.rng.random() < BROKEN:
            fault, regret = writer.shared.choose(lists(self.language, "failures"), self.rng).split(" => ")
            writer.assistant(Part([regret]), calls=call[:1], scope=fact.name, broken=fault.strip())
            writer.user(Part(lists(self.language, "retries")))
        writer.assistant(done, calls=call[:1], scope=fact.name)

    def judge(self, regime: str, kind: str, turn: int, slots: Sequence[str], relevant: Sequence[Place]) -> None:
        """Gold for the turn just answered, and perhaps a reaction before the user's next words."""
        writer = self.writer
        if writer.past(turn) < SHORTEST:
            return
        answers = [writer.values[slot] for slot in slots]
        if regime == "ask":
            answers += [writer.also[slot] for slot in slots if slot in writer.also]
        else:
            given = [str(v) for call in writer.turns[turn + 1].get("calls", ()) for v in call["arguments"].values()]
            kind = "call" if any(answers[0] in text for text in given) else "reply"
        writer.judge(regime, kind, turn, answers, relevant)
        if self.rng.random() < REACTED:
            writer.prefix = writer.phrase(Part(lists(self.language, "reactions"))).plain
