import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight.text import normalise, terms
from hindsight.values import is_weak, keys, leaves, named, says, stated, surfaces


def test_leaves_of_nested_arguments_in_order():
    nested = {"to": {"city": "  LISBON ", "when": ["2019-03-08", ("17:30", None)]}, "seats": 2, "ok": True, "fare": 85.5}
    assert list(leaves(nested)) == ["lisbon", "2019-03-08", "17:30", "2", "true", "85.5"]
    assert list(leaves(None)) == list(leaves({})) == list(leaves([[]])) == []
    assert list(leaves("ＫＸ　６８３")) == ["kx 683"]


@pytest.mark.parametrize("value", ["", " ", "true", False, None, "None", "null", "dontcare", 7, "12", 0])
def test_weak_values_have_no_surface(value):
    assert surfaces(value) == ()
    assert all(map(is_weak, leaves(value)))


@pytest.mark.parametrize("value", ["120", 1.5, "a", "茶", "yes", "12 may", "-1"])
def test_others_stand_for_themselves(value):
    assert surfaces(value) == (str(value),)


@pytest.mark.parametrize(
    ("value", "spoken"),
    [
        ("2019-03-01", ("march 1", "1st", "3月1日", "3月1号")),
        ("2019-03-02", ("march 2", "2nd", "3月2日", "3月2号")),
        ("2019-03-03", ("march 3", "3rd", "3月3日", "3月3号")),
        ("2019-12-11", ("december 11", "11th", "12月11日", "12月11号")),
        ("2019-12-12", ("december 12", "12th", "12月12日", "12月12号")),
        ("2019-12-13", ("december 13", "13th", "12月13日", "12月13号")),
        ("2019-01-21", ("january 21", "21st", "1月21日", "1月21号")),
        ("2019-13-01", ()),  # no date
        ("00:00", ("12:00 am", "12:00am", "12 am", "12am", "12点")),
        ("12:05", ("12:05 pm", "12:05pm")),
        ("09:30", ("9:30 am", "9:30am")),
        ("17:00", ("5:00 pm", "5:00pm", "5 pm", "5pm", "5点")),
    ],
)
def test_dates_and_clock_times_as_they_are_said(value, spoken):
    assert surfaces(value) == (value, *spoken)


def test_of_several_leaves_each_form_once():
    assert surfaces(["Lisbon", {"again": "lisbon", "seats": 2}, "17:30"]) == ("lisbon", "17:30", "5:30 pm", "5:30pm")


VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12) | st.dates().map(str) | st.times().map(str),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=60, deadline=None)
@given(VALUE)
def test_every_form_is_normal_and_told_once_and_no_strong_value_is_lost(value):
    forms = surfaces(value)
    assert all(form and form == normalise(form) for form in forms)
    assert len(set(forms)) == len(forms)
    assert {leaf for leaf in leaves(value) if not is_weak(leaf)} <= set(forms)


@pytest.mark.parametrize(
    ("text", "forms"),
    [
        ("at 10 in the morning", {"10:00"}),
        ("5:30pm or 6 p.m.", {"17:30", "18:00"}),
        ("5:30", {"05:30", "17:30"}),
        ("09:30 and 17:05", {"09:30", "17:05"}),
        ("quarter past eleven in the evening", {"23:15"}),
        ("12 am, 12 pm, midnight", {"00:00", "12:00"}),
        ("quarter to 1 in the afternoon", {"12:45"}),
        ("晚上八点半，早上9点15分", {"20:30", "09:15"}),
        ("march 1st, the 2nd of april, 2019-03-08, on the 4th", {"03-01", "04-02", "03-08", "-04"}),
        ("3月8号周日", {"03-08", "sunday"}),
        ("a table for 2, room 12, 7 nights, 3:1, 99:99", set()),
        ("march", set()),
    ],
)
def test_times_and_dates_have_one_form(text, forms):
    assert stated(text) == forms


def test_names_of_a_text_whole_and_once():
    text = "Please confirm: 3 tickets to Esscalation Music Festival in New York on March 1st at 5:30 pm. Call 415-561-4900 in New York."
    found = ["03-01", "17:30", "esscalation music festival", "new york", "415-561-4900"]
    assert [name for name, _ in named(text)] == found
    found = [("bay of pigs", True), ("1275 central boulevard", False), ("end", False), ("1275", False)]
    assert named("Bay of Pigs, at 1275 Central Boulevard. The End. I'd go.") == found
    assert named("") == named("nothing here.") == []


CLOCKS = st.times().map(lambda t: t.strftime("%H:%M"))
STRINGS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20) | st.sampled_from(
    ["new york", "la paz", "the who", "茶"]
)


@settings(max_examples=200, deadline=None)
@given(st.dates().map(str) | CLOCKS | STRINGS, STRINGS)
def test_who_says_a_value_holds_one_of_its_keys(value, around):
    """Else the index would miss it."""
    value = normalise(value)
    found = keys(value) if value else ()
    for form in surfaces(value)[:3]:
        text = normalise(f"{around} {form} .")
        if says(text, value) and found:
            assert set(found) & set(terms(text))
