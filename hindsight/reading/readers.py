"""Who reads a question with its memories and answers: a language model on this machine, or an endpoint's.

Both are shown the same lines under the same budget (reading/conditions.py, inject/prompt.py). An endpoint's tokeniser is not known, so
its budget is counted in pieces of four letters; what it really read it tells itself.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pydantic import BaseModel

from hindsight.inject.prompt import chat
from hindsight.lm.endpoint import Client
from hindsight.lm.local import LocalModel
from hindsight.reading.conditions import fitting, messages, parse, request, shown_line
from hindsight.reading.judge import id_of, key_of
from hindsight.reading.reader import Reader
from hindsight.reading.recalled import Recalled
from hindsight.reading.work import key_of as key_of_request

LETTERS = 4  # a piece


@dataclass(frozen=True)
class Sheet:
    """What is read: ``whole`` is the prompt. ``tokens``: of it, as far as they are known beforehand; ``shown``: memories in it."""

    key: str
    tokens: int
    shown: int
    whole: Any


@dataclass(frozen=True)
class Answered:
    """``tokens``: of the prompt. ``ms``: from the prompt to the reply's end, this one alone."""

    reply: str
    tokens: int
    ms: float


class Answerer(Protocol):
    """``name``: which model answers, with a hash of all that decides a reply."""

    @property
    def name(self) -> str: ...

    @property
    def window(self) -> int:
        """Tokens that a prompt and its reply may have together."""
        ...

    def sheet(self, question: str, recalled: Recalled, budget: int) -> Sheet: ...

    def answer(self, sheet: Sheet) -> Answered: ...


class LocalAnswerer:
    """``new``: tokens of a reply at most. ``window`` 0: the model's own."""

    def __init__(self, model: LocalModel, new: int, window: int, chat: bool) -> None:
        tokenizer, network = model.loaded
        if not chat:
            tokenizer.chat_template = None
        self.reader, self.fingerprint = Reader(tokenizer, network, new), model.fingerprint
        positions = getattr(network.config, "max_position_embeddings", None) or 2048
        self.window = min(window or positions, positions)
        self.name = id_of("local", model.fingerprint, new, chat)

    def sheet(self, question: str, recalled: Recalled, budget: int) -> Sheet:
        words = self.reader.tokenizer
        fits = fitting(words, question, recalled, budget)
        one = request(parse("plain"), words, question, fits, budget, lambda memory: False)
        return Sheet(key_of_request(self.name, self.reader, one, ()), len(one.prompt.ids), len(one.prompt.shown), one)

    def answer(self, sheet: Sheet) -> Answered:
        began = time.perf_counter()
        (read,) = self.reader.read([sheet.whole], [()])
        return Answered(read.reply, sheet.tokens, (time.perf_counter() - began) * 1000)


class Short(BaseModel):
    """What an endpoint is asked for."""

    answer: str


class EndpointAnswerer:
    """One question at a time, so that its latency is its own. ``new`` is told in words: a JSON reply that is cut off is none."""

    def __init__(self, client: Client, new: int, window: int) -> None:
        self.client, self.window = client, window
        self.name = id_of("endpoint", client.endpoint.model, client.endpoint.seed, new)

    def sheet(self, question: str, recalled: Recalled, budget: int) -> Sheet:
        fits = fitting(Pieces(), question, recalled, budget)
        order = sorted(range(len(fits.memories)), key=lambda n: fits.memories[n].sources)
        lines = [shown_line(place, fits.memories[n]) for place, n in enumerate(order, 1)]
        told = chat(messages(question), lines)
        tokens = sum(len(Pieces()(message["content"])["input_ids"]) for message in told)
        return Sheet(key_of(self.name, *(message["content"] for message in told)), tokens, len(lines), told)

    def answer(self, sheet: Sheet) -> Answered:
        """ "" where no valid reply came: counted by the client, and wrong."""
        system, user = (message["content"] for message in sheet.whole)
        before, began = self.client.spent.prompt_tokens, time.perf_counter()
        found = self.client.ask(system, user, Short)
        spent = (time.perf_counter() - began) * 1000
        tokens = self.client.spent.prompt_tokens - before
        return Answered("" if found is None else found.answer, tokens or sheet.tokens, spent)


class Pieces:
    """Counts like a tokeniser where there is none."""

    bos_token_id: int | None = None
    chat_template: str | None = None

    def __call__(self, text: str, **_: Any) -> dict[str, Sequence[int]]:
        return {"input_ids": range(-(-len(text) // LETTERS))}
