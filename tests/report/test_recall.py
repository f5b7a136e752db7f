import io

import pytest

from hindsight.report.recall import show
from hindsight.types import DataError, Hit, Memory, Query

QUERY = Query("q", "u", "d", "Where did I park?", 40, goal="leave the airport")


def memory(memory_id, text, born=10, **more):
    return Memory(memory_id, "u", "d", "s", "turn", "Ann", "user", text, text, born, (born,), **more)


def text_of(hits, memories, query=QUERY):
    stream = io.StringIO()
    show(query, hits, {one.memory_id: one for one in memories}, stream)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines())


def test_golden():
    hit = Hit("q", "m1", 1.5, 0.61, 0.82, {"text relevance": 2.0, "outcome feedback": -1.0, "bias": 0.5})
    assert text_of(
        [hit, Hit("q", "m2", 0.2)], [memory("m1", "Level 3, row B.", outcome="success"), memory("m2", "停车场")]
    ) == (
        """\
? Where did I park?  (turn 40)
  goal: leave the airport
  1  utility .820  score 1.500  similarity .610  Ann, 30 turns ago, turn,
success
     Level 3, row B.
     text relevance                   │██████████████ +2.000
     outcome feedback          ███████│               -1.000
     bias                             │████           +.500
     = logit                                          +1.500
  2  score .200  Ann, 30 turns ago, turn
     停车场"""
    )


def test_markup_and_control_characters_are_only_text():
    text = text_of([Hit("q", "m1", 1.0)], [memory("m1", "[bold]see[/bold] :smile: \x1b[2J")])
    assert "[bold]see[/bold] :smile: \ufffd[2J" in text and "\x1b" not in text


def test_long_memories_are_cut_and_say_so():
    text = text_of([Hit("q", "m1", 1.0)], [memory("m1", "word " * 500)])
    assert len(text) < 600 and text.endswith("…")


def test_nothing_recalled_is_said():
    assert "nothing is worth recalling" in text_of([], [])


def test_a_hit_without_its_memory_is_an_error():
    with pytest.raises(DataError, match="m9"):
        text_of([Hit("q", "m9", 1.0)], [])
