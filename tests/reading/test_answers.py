import pytest

from hindsight.reading.answers import contains, exact, f1, holds, leaked, normalised

TWO = (("Biscuit", "a red van"),)
DATE = (("last Friday",), ("2024-03-01",))


@pytest.mark.parametrize(
    "text, wanted",
    [("The  Mac-mini, under a desk!", "macmini under desk"), ("ＦＯＯ（北京）", "foo 北 京"), ("", ""), ("an", "")],
)
def test_normalised(text, wanted):
    assert normalised(text) == wanted


@pytest.mark.parametrize(
    "reply, needed, said, whole, share",
    [
        ("It is Biscuit and the red van.", TWO, True, False, 6 / 9),
        ("Biscuit and a red van", TWO, True, True, 6 / 7),
        ("Biscuits and a red van", TWO, False, False, 4 / 7),
        ("It was 2024-03-01", DATE, True, False, 0.5),
        ("last friday!", DATE, True, True, 1.0),
        ("", DATE, False, False, 0.0),
        ("anything", (), False, False, 0.0),
    ],
)
def test_a_reply_against_gold(reply, needed, said, whole, share):
    assert contains(reply, needed) is said and exact(reply, needed) is whole
    assert f1(reply, needed) == pytest.approx(share)


def test_whole_words_and_han():
    assert holds("我养了一只猫。", "一只猫") and not holds("I run a shop", "run a sh") and not holds("x", "...")
    assert leaked("It is Otto, not Rex", ("Otto", "Rex", "Moose")) == ("Otto", "Rex")
