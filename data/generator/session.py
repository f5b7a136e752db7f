"""One session: a plot's exchanges in order, with the day's events between them or riding on them."""

from __future__ import annotations

from collections.abc import Sequence

from data.generator.events import Teller
from data.generator.script import Line, lists, pairs
from data.generator.threads import Event
from data.generator.writer import Part, Writer

JOINED, CROWDED, GREETED, CLOSED, ACKNOWLEDGED, OPENING, DROPPED = 0.6, 0.3, 0.45, 0.45, 0.5, 0.12, 0.35
FEWEST = 4  # exchanges a session, before the closing one
LONGEST = 24  # turns after which nobody adds small talk or a goodbye
RIDERS = ("tell", "update", "other", "noise")  # events that may ride on a turn about something else


class Session:
    def __init__(self, writer: Writer, scope: str) -> None:
        self.writer, self.rng, self.language, self.scope = writer, writer.rng, writer.persona.language, scope
        self.teller = Teller(writer)
        self.riding: list[Event] = []

    def write(self, exchanges: list[list[Line]], events: list[Event]) -> None:
        kept = [exchange for exchange in exchanges if not (exchange[-2].optional and self.rng.random() < DROPPED)]
        events = [*events, *[Event("filler", None)] * (FEWEST - len(kept) - len(events))]
        gaps = sorted(0 if self.rng.random() < OPENING else self.rng.randint(1, len(kept)) for _ in events)
        if self.rng.random() < GREETED:
            self.writer.prefix = self.writer.phrase(Part(lists(self.language, "greetings"))).plain
        for place in range(len(kept) + 1):
            for gap, event in zip(gaps, events):
                if gap == place:
                    self._meet(event, place < len(kept))
            if place < len(kept):
                self._step(kept[place])
        self._alight()
        while len(self.writer.turns) < 2 * FEWEST:
            self._pair("smalltalk")
        if len(self.writer.turns) <= LONGEST - 2 and self.rng.random() < CLOSED:
            self._pair("closings")

    def _meet(self, event: Event, more: bool) -> None:
        if event.what in RIDERS and more and self.rng.random() < (CROWDED if self.riding else JOINED):
            self.riding.append(event)
        elif event.what in RIDERS or event.fact is None:
            self._tell(event)
        else:
            self._alight()
            while self.teller.too_soon(event):
                self._pair("smalltalk")
            self.teller.exchange(event)

    def _tell(self, event: Event) -> None:
        if event.fact is None:
            self._pair("smalltalk")
            return
        told, reply = self.teller.parts(event)
        self.writer.user(told)
        self.writer.assistant(reply)

    def _alight(self) -> None:
        """What was to ride on the plot's next turn gets a turn of its own."""
        riding, self.riding = self.riding, []
        for event in riding:
            self._tell(event)

    def _pair(self, name: str) -> None:
        said, reply = self.rng.choice(pairs(self.language, name)) if name == "closings" else self._fresh(name)
        self.writer.user(Part([said]))
        self.writer.assistant(Part([reply]))

    def _fresh(self, name: str) -> tuple[str, str]:
        """The pair used least so far."""
        chosen = self.writer.shared.choose([said for said, _ in pairs(self.language, name)], self.rng)
        return next(pair for pair in pairs(self.language, name) if pair[0] == chosen)

    def _step(self, exchange: Sequence[Line]) -> None:
        """One exchange of the plot; an ask or an act among them becomes gold."""
        *changes, said, reply = exchange
        writer = self.writer
        for change in changes:
            name, _, rules = change.texts[0].partition("=")
            slot = f"{self.scope}.{name.strip()}"
            writer.put(slot, [rule.strip() for rule in rules.split(" | ")], never=[writer.values[slot]])
        slots = [f"{self.scope}.{name}" for name in said.uses]
        if said.flag:
            self._alight()
            while said.flag == "act" and writer.recent(slots):
                self._pair("smalltalk")
        texts, answers = said.texts, reply.texts
        if len(texts) == len(answers):  # written as pairs
            texts = [writer.shared.choose(texts, self.rng)]
            answers = [answers[said.texts.index(texts[0])]]
        parts, replies = [Part(texts, self.scope)], [Part(answers, self.scope)]
        riding, self.riding = self.riding, []
        for event in riding:
            told, answer = self.teller.parts(event)
            parts = [*parts, Part(lists(self.language, "asides")), told] if self.rng.random() < 0.6 else [told, *parts]
            replies += [answer] if self.rng.random() < ACKNOWLEDGED else []
        relevant = [writer.carriers[slot] for slot in slots] if said.flag else []
        turn = writer.user(*parts)
        writer.assistant(*replies, calls=reply.calls, scope=self.scope)
        if said.flag:
            self.teller.judge(said.flag, said.type, turn, slots, relevant)
