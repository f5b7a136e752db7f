import json
import re

import pytest

from hindsight.replay.shape import body
from hindsight.report.replay_page import embedded, page, write
from tests.replay.told import EVIL, HOSTILE, lived, turns
from tests.report.test_page import Outline


@pytest.fixture(scope="module")
def hostile():
    return body(lived(turns(HOSTILE, HOSTILE)), [("user", EVIL), ("log", "a & b")], [EVIL])


def test_the_data_comes_out_as_it_went_in(hostile):
    html = page(hostile)
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', html)[1]
    assert json.loads(found) == hostile
    assert found.isascii() and not set("<>&") & set(found)


def test_all_text_is_inert(hostile):
    outline = Outline(page(hostile))
    assert outline.tags.count("script") == 2 and "img" not in outline.tags
    assert not any(name.startswith("on") for name, _ in outline.attributes)
    assert outline.tags == Outline(page(body(lived(), [("user", "ann"), ("log", "b")], ["c"]))).tags


def test_nothing_is_fetched_and_only_the_pages_own_script_may_run(hostile):
    html = page(hostile)
    names = {name for name, _ in Outline(html).attributes}
    assert not names & {"src", "href", "srcset", "action", "data", "style"}
    assert not re.search(r"url\(|@import|https?://|fetch\(|XMLHttpRequest|import\(|innerHTML|insertAdjacent|eval\(", html)
    policy = re.search(r'Content-Security-Policy" content="(.*?)"', html)[1]
    assert re.fullmatch(r"default-src 'none'; script-src 'sha256-\S{44}'; style-src 'sha256-\S{44}'", policy)


@pytest.mark.parametrize(
    "text", ["</script>", "<!--<script>", "\u2028\u2029", "\ud800", "]]>", "&lt;", "\\u003c/script>", '"']
)
def test_embedded_json_round_trips(text):
    found = embedded({text: [text]})
    assert json.loads(found) == {text: [text]} and found.isascii() and "<" not in found


def test_same_input_same_page(hostile, tmp_path):
    write(tmp_path / "a.html", hostile)
    assert (tmp_path / "a.html").read_text("utf-8") == page(json.loads(json.dumps(hostile)))
