"""Any OpenAI-compatible endpoint (a vendor's, vLLM, llama.cpp, Ollama): one question in, one checked reply out, and every call counted.

The reply is asked for by JSON schema (https://platform.openai.com/docs/guides/structured-outputs) and checked by pydantic all the same:
many servers take the schema and ignore it. The key is read from an environment variable when a call is made and stands in no file.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from hindsight.types import ConfigError, DataError

if TYPE_CHECKING:
    import httpx

Reply = TypeVar("Reply", bound=BaseModel)
LONGEST_WAIT = 60.0  # seconds before another try, also where the server asks for more
_LATER = frozenset({408, 409, 429})  # and all of 500: the server may do better soon


@dataclass
class Spent:
    """``bad``: replies that were cut off, no JSON, or not what was asked for; ``refused``: by the model itself. ``unanswered``:
    questions that were given up for either."""

    calls: int = 0
    retries: int = 0
    refused: int = 0
    bad: int = 0
    unanswered: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass(frozen=True)
class Endpoint:
    """``url``: up to and with ``/v1``. ``key``: name of the environment variable that holds the key, "" where none is wanted.
    ``timeout``, ``wait``: seconds of a try, and before the second one (each further wait doubles, times .5 to 1.5 by chance)."""

    url: str
    model: str
    key: str = ""
    timeout: float = 60.0
    tries: int = 5
    wait: float = 1.0
    seed: int = 0

    def build(self) -> Client:
        """Raises ConfigError, all problems at once."""
        wrong = {
            f"url={self.url!r}: wanted http:// or https://": not self.url.startswith(("http://", "https://")),
            "model is missing: give the name that the endpoint knows": not self.model,
            f"tries={self.tries}: wanted 1 or more": self.tries < 1,
            f"key={self.key}: no such environment variable, or it is empty": bool(self.key) and not os.environ.get(self.key),
        }
        if problems := [problem for problem, holds in wrong.items() if holds]:
            raise ConfigError(problems)
        return Client(self)


class Client:
    """Several threads may ask at once. ``spent`` counts what all of them did."""

    def __init__(self, endpoint: Endpoint) -> None:
        try:
            import httpx
        except ImportError as error:
            raise ConfigError(["an endpoint needs httpx: pip install 'hindsight-scorer[judge]'"]) from error
        self.endpoint, self.spent, self._lock = endpoint, Spent(), Lock()
        self._http = httpx.Client(timeout=endpoint.timeout)

    def ask(
        self, system: str, user: str, shape: type[Reply], check: Callable[[Reply], str] = lambda reply: ""
    ) -> Reply | None:
        """A reply of this shape in which ``check`` finds no fault ("" is none). None: refused, or still bad after all tries.

        Raises DataError where the endpoint turns the question away (401, 404, ...), or cannot be had after all tries: then
        nothing that comes later would fare better.
        """
        rng = random.Random(f"{self.endpoint.seed}:{user}")
        problem: object = ""  # of the last try
        for number in range(self.endpoint.tries):
            if number:
                self._count(retries=1)
            found = self._once(system, user, shape)
            if isinstance(found, _Refusal):
                problem = found
                break
            if isinstance(found, BaseModel) and not (fault := check(found)):
                return found
            self._count(bad=int(isinstance(found, BaseModel | ValidationError)))
            problem = fault if isinstance(found, BaseModel) else found  # pyright: ignore[reportPossiblyUnboundVariable]
            if number + 1 < self.endpoint.tries:
                asked = found.seconds if isinstance(found, _Unavailable) else 0.0
                time.sleep(min(LONGEST_WAIT, max(asked, self.endpoint.wait * 2**number * rng.uniform(0.5, 1.5))))
        if isinstance(problem, _Unavailable):
            raise DataError(
                self.endpoint.url, problem.why, f"an answer within {self.endpoint.tries} tries; run it again to go on"
            )
        self._count(unanswered=1)
        return None

    def _once(self, system: str, user: str, shape: type[Reply]) -> Reply | ValidationError | _Unavailable | _Refusal:
        import httpx

        key = os.environ.get(self.endpoint.key, "") if self.endpoint.key else ""
        self._count(calls=1)
        try:
            answer = self._http.post(
                self.endpoint.url.rstrip("/") + "/chat/completions",
                headers={"Authorization": f"Bearer {key}"} if key else {},
                json=self._question(system, user, shape),
            )
        except httpx.TransportError as error:  # timeouts too
            return _Unavailable(type(error).__name__)
        if answer.status_code in _LATER or answer.status_code >= 500:
            return _Unavailable(f"HTTP {answer.status_code}", _seconds(answer))
        if answer.status_code != 200:
            raise DataError(self.endpoint.url, f"HTTP {answer.status_code}: {answer.text[:200]}", "200")
        return self._read(answer, shape)

    def _question(self, system: str, user: str, shape: type[BaseModel]) -> dict[str, Any]:
        schema = {"name": shape.__name__, "strict": True, "schema": shape.model_json_schema()}
        return {
            "model": self.endpoint.model,
            "messages": [{"role": "system", "content": system}, {"role": "user", "content": user}],
            "temperature": 0,
            "seed": self.endpoint.seed,
            "response_format": {"type": "json_schema", "json_schema": schema},
        }

    def _read(self, answer: httpx.Response, shape: type[Reply]) -> Reply | ValidationError | _Refusal:
        try:
            whole = _Completion.model_validate_json(answer.content)
            used = whole.usage or _Usage()
            self._count(prompt_tokens=used.prompt_tokens, completion_tokens=used.completion_tokens)
            choice = whole.choices[0]
            if choice.message.refusal or choice.finish_reason == "content_filter":
                self._count(refused=1)
                return _Refusal()
            return shape.model_validate_json(choice.message.content or "")
        except ValidationError as error:  # what was cut off is no whole JSON
            return error

    def _count(self, **more: int) -> None:
        with self._lock:
            self.spent = Spent(**{name: value + more.get(name, 0) for name, value in asdict(self.spent).items()})


@dataclass(frozen=True, slots=True)
class _Unavailable:
    why: str
    seconds: float = 0.0


class _Refusal: ...


class _Usage(BaseModel):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Message(BaseModel):
    content: str | None = None
    refusal: str | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _Completion(BaseModel):
    choices: tuple[_Choice, ...]
    usage: _Usage | None = None

    def model_post_init(self, _: Any) -> None:
        if not self.choices:
            raise ValueError("no choice")


def _seconds(answer: httpx.Response) -> float:
    """What a server asks us to wait; a date or nonsense is not heeded."""
    try:
        return max(0.0, float(answer.headers.get("retry-after", "")))
    except ValueError:
        return 0.0
