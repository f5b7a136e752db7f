import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight.labeler.pseudo import questions, statement_question, third_person
from hindsight.text import is_content, words

WHS = {"What", "When", "Where", "Who", "How", "Which", "Why"}
WHS_HAN = ("什么", "哪里", "谁", "怎么", "哪个", "为什么")
TOLD = "My neighbour Petra bought a blue kayak at the market in Lisbon yesterday."
TOLD_HAN = "我上周在北京买了一把蓝色的雨伞。"


def asked(told, seeds=200, me="Ana", you="Bo"):
    return [statement_question(told, me, you, random.Random(seed)) for seed in range(seeds)]


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("I'm late, I've my own key and I'll call", "Ana is late, Ana has Ana's own key and Ana will call"),
        ("My cat bit me; I hurt myself", "Ana's cat bit Ana; Ana hurt Ana"),
        ("Are you sure that you're free? Do you ski?", "is Bo sure that Bo is free? does Bo ski?"),
        ("Have you your coat, or is it mine?", "has Bo Bo's coat, or is it Ana's?"),
        ("You’ve said I’d win", "Bo has said Ana would win"),  # typographic
        ("Imagine a mystery: the young army in Ithaca", "Imagine a mystery: the young army in Ithaca"),
        ("我喜欢你的猫", "小明喜欢小红的猫"),
    ],
)
def test_third_person(said, wanted):
    me, you = ("小明", "小红") if "猫" in said else ("Ana", "Bo")
    assert third_person(said, me, you) == wanted


def test_a_name_is_put_in_as_it_is():
    assert third_person("I know you", r"A\1", r"\g<0>") == r"A\1 know \g<0>"


def test_all_question_sentences_and_nothing_else():
    assert questions("I ski. Do you ski? Fine! And where is my map?", "Ana", "Bo") == "does Bo ski? And where is Ana's map?"
    assert questions("我喜欢茶。你去哪里？我的钥匙呢？好。", "小明", "小红") == "小红去哪里？ 小明的钥匙呢？"
    assert questions("I ski. You do not.", "Ana", "Bo") == questions("", "Ana", "Bo") == ""


def test_a_statement_loses_a_span_and_some_words():
    whole = words(third_person(TOLD.rstrip("."), "Ana", "Bo"))
    content = {word for word in whole if is_content(word) and "Ana" not in word}
    found = asked(TOLD)
    missing = dict.fromkeys(content, 0)
    for text in found:
        wh, *rest = words(text)
        assert wh in WHS and text.endswith("?") and "Ana" in text
        kept = rest[1:] if rest[0] == "did" else rest
        assert [word for word in whole if word in kept] == [word for word in kept if word != "Ana"]  # in order, none added
        for word in content - set(kept):
            missing[word] += 1
        assert content - set(kept)  # there is always an answer
    assert all(0 < times < len(found) for times in missing.values())  # any word may be it
    assert 0.6 < sum(" did " in text for text in found) / len(found) < 0.8
    assert {text.split()[0] for text in found} == WHS


def test_fillers_go_and_the_speaker_is_named():
    for text in asked("Well, really the gallery in Madrid opened again so early, wow."):
        assert not {"well", "really", "so", "wow"} & {word.lower() for word in words(text)}
        assert words(text)[words(text)[1] == "did" :][1] == "Ana"


def test_a_chinese_statement_loses_letters():
    found = asked(TOLD_HAN, me="小明", you="小红")
    whole = TOLD_HAN.replace("我", "小明").rstrip("。")
    for text in found:
        assert text.endswith("？") and "小明" in text and "我" not in text
        assert set(text) - set("".join(WHS_HAN)) <= {*whole, "？", "候", "时"}
    assert sum(bool(set(whole) - set(text)) for text in found) > 0.95 * len(found)  # it may be the name, which is put back
    assert sum(any(wh in text for wh in WHS_HAN) for text in found) > 0.6 * len(found)
    assert len(set(found)) > 100


@pytest.mark.parametrize(
    "told", ["", "Yes, I did.", "What about the blue kayak in Lisbon?", "Ok!", "好的。", "你喜欢蓝色的雨伞吗？"]
)
def test_nothing_is_asked_where_little_is_told(told):
    assert set(asked(told, 20)) == {""}


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=80) | st.text("我你在北京买伞。？! I'my.", max_size=60), st.integers(0, 9))
def test_any_text_gives_a_question_or_none_and_a_seed_the_same(told, seed):
    one, two = (statement_question(told, "Ana", "Bo", random.Random(seed)) for _ in range(2))
    assert one == two
    assert one == "" or (one.endswith(("?", "？")) and "Ana" in one)
    assert all(part.endswith(("?", "？")) for part in questions(told, "Ana", "Bo").split("\n")[-1:] if part)
