import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight.labeler.asking import fitting_question, fitting_questions
from hindsight.labeler.clause import TIME, Told, read_clause
from hindsight.text import is_content, words

NAMED, USER, ASSISTANT = ("Ana", "Bo"), ("User", "Assistant"), ("Assistant", "User")


def asked(told, people=NAMED, seeds=60):
    return {fitting_question(told, *people, random.Random(seed)) for seed in range(seeds)}


@pytest.mark.parametrize(
    ("sentence", "wanted"),
    [
        ("I painted a sunrise in 2022", Told("I", "did", "paint", "a sunrise in 2022")),
        ("Last week we went to Paris, and it rained", Told("we", "did", "go", "to Paris", "Last week")),
        ("I've been to Rome twice", Told("I", "has", "been", "to Rome twice")),
        ("I have three dogs", Told("I", "does", "have", "three dogs")),
        ("We were at the lake but it was cold", Told("We", "was", "at", "the lake")),
        ("I'm trying to fix the boiler", Told("I", "is", "trying to fix", "the boiler")),
        ("I'd love to visit Paris", Told("I", "would", "love to visit", "Paris")),
        ("My friend Petra bought a kayak", Told("My friend Petra", "did", "buy", "a kayak")),
        ("I don't eat fish", None),
        ("Draft the note for the caterer", None),
    ],
)
def test_a_clause_is_read(sentence, wanted):
    assert read_clause(sentence) == wanted


@pytest.mark.parametrize(
    ("told", "people", "question"),
    [
        ("I painted a sunrise in 2022.", NAMED, "When did Ana paint a sunrise?"),
        ("I painted a sunrise in 2022.", USER, "When did I paint a sunrise?"),
        ("I've been going to pottery class for three years.", NAMED, "How long has Ana been going to pottery class?"),
        ("My friend Petra bought a kayak in Lisbon.", NAMED, "Where did Ana's friend Petra buy a kayak?"),
        ("I'm thinking about adopting because I want a family.", NAMED, "Why is Ana thinking about adopting?"),
        ("I have three dogs and a cat.", USER, "How many dogs do I have?"),
        ("I went to the beach house with my sister.", NAMED, "Who did Ana go to the beach house with?"),
        ("I paid 218 euros for the cheap bed.", USER, "How much did I pay for the cheap bed?"),
        ("You should visit the ramen place in Shibuya.", ASSISTANT, "Where should I visit the ramen place?"),
        ("I recommend trusted publishing for PyPI.", ASSISTANT, "What do you recommend for PyPI?"),
    ],
)
def test_the_word_that_asks_fits_what_is_missing(told, people, question):
    assert question in asked(told, people)


def test_a_time_that_is_the_answer_is_never_in_the_question():
    told = "Yesterday I met Nora at the old harbour on 3 May 2023 at 5 pm."
    when = [one for one in asked(told, seeds=300) if one.startswith("When")]
    assert when and not any(TIME.search(one.removeprefix("When")) for one in when)


def test_a_question_shares_fewer_words_than_are_told():
    told = "We carefully carried the heavy wooden table from the kitchen into the narrow garden with Marek."
    whole = {word.lower() for word in words(told) if is_content(word)}
    shared = [len(whole & {word.lower() for word in words(one)}) / len(whole) for one in asked(told)]
    assert max(shared) < 1 and sum(shared) / len(shared) < 0.7


def test_what_has_no_clause_is_asked_about():
    found = asked("Fresh basil from the balcony again.")
    assert all(re.match(r"What (did|does|happened)", one) and "Ana" in one for one in found)
    assert {one.split()[0] for one in asked("Fresh basil from the balcony again.", ASSISTANT)} == {"What"}


def test_an_assistants_question_is_the_users_own():
    assert fitting_questions("Noted. What is your address?", *ASSISTANT) == "What is my address?"
    assert fitting_questions("Where did I park? Thanks.", *USER) == "Where did I park?"
    assert fitting_questions("Where did you park?", *NAMED) == "Where did Bo park?"
    assert fitting_questions("Fine.", *USER) == ""


def test_a_chinese_statement_is_the_users_own():
    found = asked("我上周在北京买了一把蓝色的雨伞。", USER)
    assert all(one.endswith("？") and "User" not in one for one in found) and any("我" in one for one in found)
    assert any("你" in one for one in asked("我推荐你去北京看蓝色的雨伞。", ASSISTANT))


@pytest.mark.parametrize("told", ["", "Yes.", "Do you like the blue kayak in Lisbon?", "Ok, fine!", "好的。"])
def test_nothing_is_asked_where_little_is_told(told):
    assert asked(told, seeds=5) == {""}


@settings(max_examples=80, deadline=None)
@given(
    st.text(max_size=80) | st.text("I'm went to my 2022 Mayx,. and because?", max_size=80),
    st.sampled_from([NAMED, USER, ASSISTANT]),
)
def test_any_text_gives_a_question_or_none_and_a_seed_the_same(told, people):
    one, two = (fitting_question(told, *people, random.Random(3)) for _ in range(2))
    assert one == two and (one == "" or one.endswith(("?", "？")))
