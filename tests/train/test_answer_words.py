"""The table finds which words go together in question and answer, in any language, and needs corpora to agree."""

import pytest

from hindsight.features import answer_words
from hindsight.features.answer_words import asks, forms, read
from hindsight.train.answer_words import learn, write
from hindsight.types import DataError, Turn

COLOURS, DAYS = ("red", "green", "blue"), ("monday", "tuesday", "friday")
FARBEN = ("红色", "绿色", "蓝色")


def log(subject, n=60):
    """Three sorts of question, whose answers differ in one word; ``subject`` is of this log alone."""
    turns = []
    for i in range(n):
        said = [
            ("ann", f"What colour is it, number {i}?"),
            ("bob", f"The {subject} is {COLOURS[i % 3]} I think."),
            ("ann", "When will you come over here?"),
            ("bob", f"We meet on {DAYS[i % 3]} I think."),
            ("ann", "什么颜色？"),
            ("bob", f"是{FARBEN[i % 3]}"),
        ]
        turns += [Turn(len(turns) + j, f"s{i}", who, "user", text) for j, (who, text) in enumerate(said)]
    return turns


def test_words_of_answers_are_found_with_their_question():
    table = learn([[log("boat")], [log("car")]])
    assert table["colour"]["red"] > 0.5
    assert table["when will"]["friday"] > 0.5
    assert "friday" not in table["colour"]
    assert table["颜色"]["红色"] > 0.5


def test_a_word_that_one_corpus_alone_shows_is_left_out():
    table = learn([[log("boat")], [log("car")]])
    assert not any("boat" in row for row in table.values())
    assert any("boat" in row for row in learn([[log("boat")]]).values())


def test_the_same_logs_give_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        write(learn([[log("boat")], [log("car")]]), {"made": "here"}, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert read(tmp_path / "a") == learn([[log("boat")], [log("car")]])
    (tmp_path / "a").write_text("[]")
    with pytest.raises(DataError, match="table of answer words"):
        answer_words.read.__wrapped__(tmp_path / "a")


def test_forms_are_classes_not_values():
    assert forms("We leave at 5:30 with Tom") == (
        "we",
        "leave",
        "at",
        "#",
        "<number>",
        "##",
        "<number>",
        "with",
        "tom",
        "<Name>",
    )
    assert forms("三点见。") == ("三点", "点见")
    assert asks("how many cats") == ("how", "many", "cats", "how many", "many cats")


def test_too_little_to_learn_from_is_told():
    with pytest.raises(DataError, match="more questions"):
        learn([[log("boat", n=1)]])


def test_the_table_that_ships_knows_english_and_chinese():
    table = read()
    assert "minutes" in table["how long"]
    assert "元" in table["多少"]
