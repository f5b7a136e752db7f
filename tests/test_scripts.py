"""What reads text works in every script: words, sentences, questions, names, values and lengths."""

import random

import pytest

from hindsight.encoder.hashing import HashingEncoder
from hindsight.features import cues
from hindsight.features.replay import moment
from hindsight.features.timeline import Timeline
from hindsight.labeler.asking import fitting_question
from hindsight.labeler.pseudo import questions, statement_question
from hindsight.miner.turns import Turns
from hindsight.miner.wording import clip
from hindsight.text import is_content, is_question, length, script, sentences, terms, words
from hindsight.types import Query, Turn
from hindsight.values import is_weak, says

# script -> a statement, a question, a word that stands in both (inflected where the language does so), who speaks
TEXTS = {
    "latin": ("We booked two quiet rooms near the harbour.", "Which rooms did we book?", "rooms", "Ana"),
    "han": ("我们在港口附近预订了两间安静的房间。", "房间在哪里？", "房间", "小明"),
    "kana": ("港の近くにしずかな部屋を二つ予約しました。", "部屋はどこですか？", "部屋", "ゆき"),
    "thai": ("เราจองห้องพักเงียบๆสองห้องใกล้ท่าเรือแล้ว", "ห้องพักอยู่ที่ไหน?", "ห้องพัก", "สมชาย"),
    "hangul": ("우리는 항구 근처에 조용한 객실을 두 개 예약했습니다.", "객실은 어디에 있나요?", "객실", "민준"),
    "cyrillic": ("Мы забронировали два тихих номера возле гавани.", "Где находятся номера?", "номер", "Иван"),
    "arabic": ("حجزنا غرفتين هادئتين في المدينة قرب الميناء.", "أين تقع المدينة؟", "مدينة", "سامي"),
    "devanagari": ("हमने बंदरगाह के पास होटल में दो शांत कमरे बुक किए।", "होटल कहाँ है?", "होटल", "मोदी"),
}
SPACED = ("latin", "hangul", "cyrillic", "arabic", "devanagari")


@pytest.mark.parametrize("name", TEXTS)
def test_a_word_of_the_question_is_found_in_the_statement(name):
    told, asked, word, _ = TEXTS[name]
    assert script(told) == script(asked) == name
    shared = set(terms(told)) & set(terms(asked))
    assert set(terms(word)) <= shared
    assert not any(not any(letter.isalnum() for letter in term) for term in shared)  # neither 。 nor a lone vowel sign


def test_vowel_signs_and_accents_do_not_cut_words():
    assert words("हिन्दी में कमरे चाहिए") == ["हिन्दी", "में", "कमरे", "चाहिए"]
    assert words("كِتَابٌ جميل") == ["كِتَابٌ", "جميل"]
    assert words("می‌خواهم") == ["می‌خواهم"]  # a joiner, not a space
    assert words("cafe\u0301 x̂y") == ["café", "x̂y"]
    assert all(map(is_content, ["होटल", "객실", "故宫", "ห้อง", "отель"]))


def test_inflected_words_meet():
    assert terms("отеля") == terms("отели") and terms("المدينة") == terms("مدينة") and terms("कमरे") == terms("कमरा")
    assert terms("hotels") == terms("hotel")


def test_punctuation_is_no_term():
    assert terms("酒店。北京《故宫》、免费") == ("酒店", "北京", "故宫", "免费")
    assert terms("ホテル・東京「予約」") == ("ホテ", "テル", "東京", "予約")


@pytest.mark.parametrize("name", TEXTS)
def test_sentences_and_questions(name):
    told, asked, _, speaker = TEXTS[name]
    both = f"{told} {asked}" if name != "han" else told + asked
    assert is_question(asked) and not is_question(told)
    assert sentences(both)[-1] == asked or name == "thai"  # which marks no end of a sentence
    assert cues.flags(asked)[cues.COLUMN["ends_question"]] and not cues.flags(told)[cues.COLUMN["has_question"]]
    if name != "thai":
        assert asked[4:] in questions(both, speaker, "x")


@pytest.mark.parametrize("ask", [statement_question, fitting_question])
@pytest.mark.parametrize("name", TEXTS)
def test_a_statement_becomes_a_question_of_its_own_script(name, ask):
    told, _, _, speaker = TEXTS[name]
    found = [ask(told, speaker, "x", random.Random(seed)) for seed in range(40)]
    assert all(one.endswith(("?", "？")) and speaker in one for one in found)
    assert len(set(found)) > 10 and told not in found
    assert {script(one.replace(speaker, "")) for one in found} == {name}


@pytest.mark.parametrize("ask", [statement_question, fitting_question])
def test_a_letter_of_another_script_stops_no_question(ask):
    english = "My neighbour Petra bought a blue kayak (独木舟) at the market in Lisbon yesterday."
    chinese = "我上周在北京用 Trip 买了一张去上海的火车票。"
    for told, me in ((english, "Ana"), (chinese, "小明")):
        assert all(ask(told, me, "Bo", random.Random(seed)) for seed in range(30))
    assert {script(ask(english, "Ana", "Bo", random.Random(seed))) for seed in range(30)} == {"latin"}


@pytest.mark.parametrize("name", TEXTS)
def test_a_speaker_is_found_in_a_query(name):
    speaker = TEXTS[name][3]
    asked = {"han": f"{speaker}喜欢什么？", "kana": f"{speaker}は何が好き？", "thai": f"{speaker}ชอบอะไร?"}.get(
        name, f"{speaker} x?"
    )
    assert cues.asked_about(asked, (speaker, "Petra")) == speaker
    if name in SPACED:
        assert cues.asked_about(f"{speaker}a x?", (speaker, "Petra")) is None


@pytest.mark.parametrize("name", TEXTS)
def test_lengths_are_alike_across_scripts(name):
    told = TEXTS[name][0]
    assert 6 <= length(told) <= 14
    longer = " ".join([told] * 20)
    cut = clip(longer, 45)
    assert longer.startswith(cut) and 20 <= length(cut) <= 46


def test_names_in_other_alphabets():
    assert cues.entities("Мы были в Москва и Αθήνα вчера") >= {"москва", "αθήνα"}
    assert cues.entities("We saw Lisbon and Москва") >= {"lisbon", "москва"}


def test_short_values_without_spaces():
    assert is_weak("是") and is_weak("2人") and not is_weak("茶") and not is_weak("故宫") and not is_weak("100元")
    assert says("门票50元", "50元") and not says("门票4.50元", "50元") and not says("人均150元", "50元")
    assert says("住在汉庭酒店(望京店)吧", "汉庭酒店(望京店)")


@pytest.mark.parametrize("name", TEXTS)
def test_a_query_finds_its_memory(name):
    """End to end on one user's past: lexical features rank the statement first."""
    told, asked, _, speaker = TEXTS[name]
    past = Timeline(HashingEncoder())
    others = [text for other, (text, *_) in TEXTS.items() if other != name]
    turns = [Turn(n, "s", speaker, "user", text) for n, text in enumerate([*others[:3], told, *others[3:]])]
    past.observe(turns, Turns().mine(turns, "u", "d"))
    known = moment(past, Query("q", "u", "d", asked, len(turns)))
    assert int(known.bm25_query.argmax()) == 3 and int(known.maxsim_query[0].argmax()) == 3
    assert 6 <= past.words.view[3] <= 14
