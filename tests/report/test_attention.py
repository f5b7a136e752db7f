import xml.etree.ElementTree as tree

import pytest

from hindsight.report.attention import AFTER, BEFORE, picture
from hindsight.types import DataError


def test_a_bar_for_each_memory_before_and_after():
    text = picture(["User: <b>Rex</b> & co", "x" * 99], [0.9, 0.1], [0.1, 0.2], [0.4, 0.05], "What is & was?")
    root = tree.fromstring(text)
    bars = [(one.get("fill"), float(one.get("width", ""))) for one in root.findall(".//{*}rect")][1:]
    assert [colour for colour, _ in bars] == [BEFORE, AFTER] * 2
    widths = [width for _, width in bars]
    assert widths == pytest.approx([95, 380, 190, 47.5])
    said = " ".join("".join(one.itertext()) for one in root.findall(".//{*}text"))
    assert "User: <b>Rex</b> & co (.900)" in said and "x" * 57 + "…" in said and ".300 without, .450 with" in said


def test_bad_input():
    with pytest.raises(DataError):
        picture([], [], [], [], "t")
    with pytest.raises(DataError):
        picture(["a"], [0.5], [0.1], [0.1, 0.2], "t")
