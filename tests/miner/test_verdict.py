"""What a tool's result and a reply say of the outcome."""

import pytest

from hindsight.miner.verdict import reply_outcome, result_outcome, tool_outcome
from hindsight.types import ToolCall


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("error: missing header foo.h", "failure"),
        ("0 errors, build ok", "success"),
        ("no errors", "success"),
        ('{"ok": false, "reason": "Maple is taken"}', "failure"),
        ('{"status": "confirmed", "error": null}', "success"),
        ('{"error": "no such room"}', "failure"),
        ("exit code 2", "failure"),
        ("exit code 0", "success"),
        ("Traceback (most recent call last):\n  ...", "failure"),
        ("[3, 4, 5]", "unknown"),
        ("", "unknown"),
        ("A page on how to read an error message. " * 20, "unknown"),
        ("预订成功", "success"),
        ("操作失败", "failure"),
    ],
)
def test_results(text: str, wanted: str) -> None:
    assert result_outcome(text) == wanted


def test_the_word_of_the_log_comes_first() -> None:
    assert tool_outcome(ToolCall("1", "sh", {}, "0 errors", "failure")) == "failure"
    assert tool_outcome(ToolCall("1", "sh", {}, None)) == "unknown"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Your table has been booked.", "success"),
        ("I've successfully purchased the tickets.", "success"),
        ("Sorry, I was unable to book the table. Shall I try 8 pm?", "failure"),
        ("Unfortunately the payment failed.", "failure"),
        ("Would you like to have it booked?", "unknown"),
        ("Please confirm that the table is booked for two.", "unknown"),
        ("It will be sent tomorrow.", "unknown"),
        ("It has not been booked yet.", "unknown"),
        ("There are three hotels.", "unknown"),
        ("已为您预订成功。", "success"),
        ("抱歉，预订失败了。", "failure"),
    ],
)
def test_replies(text: str, wanted: str) -> None:
    assert reply_outcome(text) == wanted
