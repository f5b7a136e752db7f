from dataclasses import replace
from datetime import date

import numpy as np
import pytest

from hindsight.encoder.hashing import HashingEncoder
from hindsight.features import matrix
from hindsight.features.asked import spans
from hindsight.features.moment import Moment, zscore
from hindsight.features.timeline import Timeline, day_of
from hindsight.miner.turns import Turns
from hindsight.types import Query, Turn
from tests.system.stream import query, turns

ENCODER = HashingEncoder(32)
ASKED = date(2023, 5, 31)  # a Wednesday


def past_of(stream) -> Timeline:
    past = Timeline(ENCODER)
    past.observe(stream, Turns().mine(stream, "u", ""))
    return past


def column(stream, name: str, text: str, time: str | None = None) -> list[float]:
    past = past_of(stream)
    asked = Query("q", "u", "", text, len(stream), time=time)
    return matrix.compute(Moment(past, asked, np.arange(len(past))), (name,))[:, 0].tolist()


def said(*texts: str, days: tuple[str, ...] = ()) -> list[Turn]:
    names = ("Ann", "Bob")
    times = days or ("",) * len(texts)
    return [Turn(i, "s", names[i % 2], "user", text, time or None) for i, (text, time) in enumerate(zip(texts, times))]


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("What happened on 7 May 2023?", "2023-05-07", "2023-05-07"),
        ("What happened on May 7th, 2023?", "2023-05-07", "2023-05-07"),
        ("What happened on 2023-05-07?", "2023-05-07", "2023-05-07"),
        ("Where was I in February 2024?", "2024-02-01", "2024-02-29"),
        ("Where was I in April?", "2023-04-01", "2023-04-30"),
        ("Where was I in 2022?", "2022-01-01", "2022-12-31"),
        ("What did I do yesterday?", "2023-05-30", "2023-05-30"),
        ("What did I do last week?", "2023-05-22", "2023-05-28"),
        ("What did I do last month?", "2023-04-01", "2023-04-30"),
        ("What did I do last Monday?", "2023-05-29", "2023-05-29"),
        ("What did I do last Wednesday?", "2023-05-24", "2023-05-24"),
        ("What did I buy two weeks ago?", "2023-05-14", "2023-05-20"),
        ("What did I buy 3 days ago?", "2023-05-28", "2023-05-28"),
    ],
)
def test_spans(text, first, last):
    assert [tuple(date.fromordinal(day).isoformat() for day in span) for span in spans(text, ASKED, None)] == [(first, last)]


@pytest.mark.parametrize("text", ["May I ask you?", "What may it be?", "On 31 February 2023?", "Room 2023-99-99", "Where?"])
def test_no_span(text):
    assert [one for one in spans(text, None, None) if one[0] == one[1]] == []


def test_relative_days_need_the_day_of_the_question():
    assert spans("What did I do yesterday?", None, ASKED) == []
    assert len(spans("What did I do in April?", None, ASKED)) == 1 and spans("What did I do in April?", None, None) == []


def test_day_of():
    assert day_of("2023-05-31T10:00:00") == ASKED.toordinal()
    assert all(np.isnan(day_of(time)) for time in (None, "", "yesterday", "2023-13-01"))


def test_a_memory_near_the_day_asked_for():
    days = ("2023-05-01", "2023-05-07", "2023-05-08", "", "2023-05-20", "2023-05-07")
    found = column(said(*["hello there"] * 6, days=days), "date_span", "What happened on 7 May 2023?")
    assert found[1] == found[5] == max(found) > found[2] > found[4] > 0 and found[3] == 0 and found[0] < found[4]
    assert column(said("a b", "c d"), "date_span", "What happened on 7 May 2023?") == [0, 0]
    assert column(said("a b", days=("2023-05-07",)), "date_span", "What happened?") == [0]


@pytest.mark.parametrize(
    ("asked", "right"),
    [
        ("How long did Ann stay?", "about three weeks"),
        ("When did Ann leave?", "the day was yesterday"),
        ("How many dogs?", "we have 4 of them"),
        ("Where is it?", "it is in Lisbon"),
        ("Why did she go?", "went because of rain"),
        ("What does she like?", "she enjoys tea"),
    ],
)
def test_an_answer_of_the_right_kind(asked, right):
    stream = said("hello there", "so and so", right, "some words")
    found = column(stream, "answer_type", asked)
    assert found[2] == max(found) > 0 and found.count(0) == 3
    assert found[2] == pytest.approx(-np.log(1 / 4))
    assert column(stream, "answer_type", "Tell it.") == [0] * 4


def test_a_rare_cue_weighs_more():
    few = column(said("I swim", *["rain"] * 9), "first_person", "Who swims?")
    many = column(said(*["I swim"] * 5, *["rain"] * 5), "first_person", "Who swims?")
    assert few[0] == pytest.approx(np.log(10)) and many[0] == pytest.approx(np.log(2)) and few[1] == 0


def test_a_question_lends_its_match_to_the_answer_of_the_person_asked_about():
    stream = said(*["rain"] * 8, "What zebra food did you buy?", "Some hay.", "What zebra food did you buy?", "Some hay.")
    found = column(stream, "answers_question", "What zebra food did Bob buy?")
    assert found[9] > 0 and found[11] > 0 and sum(map(bool, found)) == 2
    assert column(stream, "answers_question", "What zebra food did Ann buy?")[9] == 0
    assert not any(column(stream, "answers_question", "What zebra food?"))


def test_the_wide_window_by_a_loop():
    past = past_of(turns(60))
    moment = Moment(past, query("When did the piano lesson cost a ticket?", 60), np.array([0, 1, 5, 6, 7, 30, 58, 59]))
    session, length = past.session.view, past.length.view

    def around(row, counts):
        total = 0.0
        for step, share in ((0, 1), (-1, 1), (1, 1), (-2, 0.5), (2, 0.5)):
            other = row + step
            if 0 <= other < 60 and session[other] == session[row]:
                total += share * counts[other]
        return total

    mean = np.mean([around(row, length) for row in range(60)])
    for place, row in enumerate(moment.rows.tolist()):
        wanted = 0.0
        for term in moment.query_terms:
            rows, counts = past.postings.get(term)
            spread = np.zeros(60)
            spread[rows] = counts
            count = around(row, spread)
            wanted += past.postings.idf(term) * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * around(row, length) / mean))
        assert moment.bm25_wide[place] == pytest.approx(wanted, abs=1e-4)


def test_cosine_counts_where_turns_are_long():
    short, long = said("red piano", "blue"), said("red piano " * 60, "blue " * 90)
    assert column(short, "cosine_long", "piano") == [0, 0]
    past = past_of(long)
    moment = Moment(past, query("piano", 2), np.arange(2))
    assert np.allclose(column(long, "cosine_long", "piano"), zscore(moment.cosine_query))


def test_later_turns_change_nothing():
    stream = [replace(t, time=f"2023-05-{1 + t.position % 28:02d}") for t in turns(40)]
    names = ("first_person", "answer_type", "date_span", "answers_question", "bm25_wide", "cosine_long")
    asked = query("When did I see the museum in May 2023?", 30)
    rows = np.arange(30)
    early = matrix.compute(Moment(past_of(stream[:30]), asked, rows), names)
    assert np.abs(early).sum() > 0
    poisoned = [*stream[:30], *(replace(t, text="I POISON museum?") for t in stream[30:])]
    assert np.array_equal(early, matrix.compute(Moment(past_of(poisoned[:30]), asked, rows), names))
