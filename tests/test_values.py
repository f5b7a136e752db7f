import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight.text import normalise
from hindsight.values import is_weak, leaves, surfaces


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
