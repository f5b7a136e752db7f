from dataclasses import replace

import pytest
from pydantic import BaseModel, ConfigDict

pytest.importorskip("httpx")
from hindsight.lm.endpoint import Endpoint, Spent
from hindsight.types import ConfigError, DataError
from tests.lm.standin import standin

GOOD = {"colour": "blue", "share": 0.5}


class Told(BaseModel):
    model_config = ConfigDict(extra="forbid")
    colour: str
    share: float


def script(*answers):
    """One after another, the last one for ever."""
    left = list(answers)
    return lambda body: left.pop(0) if len(left) > 1 else left[0]


def client(url, **settings):
    return replace(Endpoint(url, "tiny", wait=0.001, timeout=5), **settings).build()


def ask(answer, check=lambda reply: "", **settings):
    with standin(answer) as server:
        own = client(server.url, **settings)
        return own.ask("Be brief.", "Which?", Told, check), own.spent, server


def test_what_is_asked_and_what_comes_back(monkeypatch):
    monkeypatch.setenv("A_KEY", "s3cret")
    told, spent, server = ask(script(GOOD), key="A_KEY")
    assert told == Told(colour="blue", share=0.5)
    assert spent == Spent(calls=1, prompt_tokens=7, completion_tokens=3)
    (body,) = server.asked
    assert body["path"] == "/v1/chat/completions" and body["model"] == "tiny" and body["temperature"] == 0
    assert [m["role"] for m in body["messages"]] == ["system", "user"]
    schema = body["response_format"]["json_schema"]
    assert schema["strict"] is True and schema["schema"]["additionalProperties"] is False
    assert server.headers[0]["authorization"] == "Bearer s3cret"


@pytest.mark.parametrize(
    "bad", ["", "not JSON", '{"colour": "bl', {"colour": "blue"}, {**GOOD, "more": 1}, {"choices": []}, []]
)
def test_a_bad_reply_is_asked_for_again(bad):
    told, spent, _ = ask(script(str(bad) if bad == [] else bad, GOOD))
    assert told is not None and (spent.calls, spent.retries, spent.bad) == (2, 1, 1)


def test_a_reply_that_stays_bad_is_none():
    told, spent, _ = ask(script({"colour": 3}), tries=3)
    assert told is None and (spent.calls, spent.retries, spent.bad, spent.unanswered) == (3, 2, 3, 1)
    told, spent, _ = ask(script(GOOD), lambda reply: "not blue, please", tries=2)
    assert told is None and spent.bad == 2


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_server_is_asked_again_and_at_last_given_up(status):
    told, spent, _ = ask(script(status, status, GOOD))
    assert told is not None and (spent.calls, spent.retries, spent.bad) == (3, 2, 0)
    with pytest.raises(DataError, match=f"HTTP {status}"):
        ask(script(status), tries=2)


def test_a_slow_server_too():
    told, spent, _ = ask(script(0.5, GOOD), timeout=0.1)
    assert told is not None and spent.retries == 1
    with pytest.raises(DataError, match="Timeout"):
        ask(script(0.3), timeout=0.05, tries=2)
    with pytest.raises(DataError, match="ConnectError"):
        client("http://127.0.0.1:9/v1", tries=1).ask("", "", Told)


def test_a_question_turned_away_is_an_error_at_once():
    with standin(script(401)) as server:
        with pytest.raises(DataError, match="HTTP 401"):
            client(server.url).ask("", "", Told)
        assert len(server.asked) == 1


@pytest.mark.parametrize(
    "choice",
    [{"message": {"content": None, "refusal": "No."}}, {"message": {"content": "{}"}, "finish_reason": "content_filter"}],
)
def test_a_refusal_is_none_and_is_not_asked_again(choice):
    told, spent, _ = ask(script({"choices": [choice]}))
    assert told is None and (spent.calls, spent.refused, spent.bad, spent.unanswered) == (1, 1, 0, 1)


def test_waits_double_by_a_seeded_chance_and_are_bounded(monkeypatch):
    def waits(**settings):
        slept = []
        monkeypatch.setattr("hindsight.lm.endpoint.time.sleep", slept.append)
        ask(script({}), tries=8, wait=1.0, **settings)
        return slept

    first = waits()
    assert len(first) == 7 and first == waits() != waits(seed=1)
    assert all(0.5 * 2**n <= one <= 1.5 * 2**n or one == 60 for n, one in enumerate(first)) and max(first) <= 60


def test_all_problems_at_once(monkeypatch):
    monkeypatch.delenv("NO_KEY", raising=False)
    with pytest.raises(ConfigError) as raised:
        Endpoint("localhost", "", "NO_KEY", tries=0).build()
    assert len(raised.value.problems) == 4
