import json

from hindsight.replay.shape import MOST, body
from hindsight.types import ToolCall
from tests.replay.told import EVIL, HOSTILE, lived, turns


def test_each_memory_stands_once_and_all_numbers_refer_to_something():
    found = body(lived(), [("user", "ann")])
    assert json.loads(json.dumps(found)) == found
    texts = [(one["text"], one["kind"], one["from"]) for one in found["notes"]]
    assert len(set(map(repr, texts))) == len(texts)
    hits = [hit for step in found["steps"] for recall in step["recalls"] for hit in recall["hits"]]
    assert {hit["note"] for hit in hits} <= set(range(len(texts)))
    assert {name for hit in hits for name, _ in hit["why"]} == set(range(len(found["names"])))
    assert "similarity" in found["names"] and found["sessions"] == ["2024-01-01", "2024-01-02", "2024-01-03"]


def test_what_is_not_known_is_not_there():
    step = body(lived(), [])["steps"][10]
    assert (
        "utility" not in step["recalls"][0]["hits"][0]
        and "calls" not in step
        and "cited" not in step["recalls"][0]["hits"][0]
    )


def test_no_text_steers_the_page_and_long_ones_say_that_they_were_cut():
    given = turns(HOSTILE, ("x" * (MOST + 5), "ok"))
    found = body(lived(given, k=1), [("user", "\u202eann\ud800")])
    whole = json.dumps(found, ensure_ascii=False)
    assert not [c for c in whole if c in "\u202e\x1b\ud800"]
    assert found["facts"] == [["user", "ann�"]] and found["steps"][0]["text"] == EVIL
    assert found["steps"][6]["text"].endswith("x… (5 characters more)")
    assert found["steps"][5]["text"] == "a\n" * 60


def test_tool_calls():
    given = turns(("Book it.", "Done."))
    call = ToolCall("c", "book\u202e", {"at": "noon", "n": [1, {"x": EVIL}]}, None, "failure")
    given[1] = type(given[1])(1, "s0", "assistant", "assistant", "Done.", None, (call,))
    (found,) = body(lived(given), [])["steps"][1]["calls"]
    assert found == {
        "name": "book",
        "arguments": f"at: noon, n: {json.dumps([1, {'x': EVIL}])}",
        "result": None,
        "outcome": "failure",
    }
