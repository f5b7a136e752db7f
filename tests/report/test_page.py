import json
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight.measure.table import Unit, summarise
from hindsight.report.page import MOST_QUESTIONS, page, write

MEASURES = ["recall@10", "ndcg@10"]
VOID = {"meta", "br", "input", "link", "img"}
EVIL = '"><script>alert(1)</script><img src=x onerror=alert(1)>'


def rows(n=12, text="What did she say?", system="utility", kind="single-hop"):
    return [
        {"query_id": f"q{i}", "user_id": f"u{i % 4}", "kind": kind if i % 3 else "multi-hop", "system": name, "seed": seed,
         "text": f"{text} {i}", "ms": 1.5, "pool": 30, "recall@10": (i % 4) / 4, "ndcg@10": min(1, (i % 4) / 4 + up)}
        for name, up, seeds in (("prior", 0.0, 1), (system, 0.1, 2))
        for seed in range(seeds) for i in range(n)
    ]  # fmt: skip


def metrics(given, system="utility", **more):
    about = Unit("locomo", "turn", "ab" * 32, {"no evidence": 4}, config={"k": 10})
    return summarise(given, about, MEASURES, [(system, "prior")], rounds=200) | more


class Outline(HTMLParser):
    """Checks that tags close in order, and keeps tags, attributes and text."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.attributes, self.text = [], [], [], []
        self.feed(html)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, (tag, self.getpos())

    def handle_data(self, data):
        self.text.append(data)


def test_the_numbers_of_metrics_json_are_on_the_page():
    given = rows()
    body = metrics(given)
    outline = Outline(page(body, given))
    text = " ".join(" ".join(outline.text).split())
    for system in body["systems"].values():
        assert f"{system['ndcg@10']['mean']:.3f}".lstrip("0") in text
    assert "utility is" in text and "12 questions" in text and "4: no evidence 4" in text and "ab" * 32 in text
    assert text.count("What did she say?") == 12
    assert "utility is better on 12 and worse on 0; equal on 0, not drawn." in text
    assert 'data-measure="recall@10" hidden' in page(body, given) and 'data-measure="ndcg@10">' in page(body, given)


def test_nothing_is_fetched():
    html = page(metrics(rows()), rows())
    names = {name for name, _ in Outline(html).attributes}
    assert not names & {"src", "href", "srcset", "xlink:href", "action", "data"}
    assert not re.search(r"url\(|@import|https?://|fetch\(|XMLHttpRequest|import\(", html)
    assert "default-src 'none'" in html


def test_same_input_same_page_and_a_whole_file(tmp_path):
    body = metrics(rows())
    assert page(body, rows()) == page(body, rows())
    write(tmp_path / "report.html", json.loads(json.dumps(body)), rows())
    assert (tmp_path / "report.html").read_text() == page(body, rows())


@pytest.mark.parametrize("where", ["text", "system", "kind", "suite", "config", "skipped", "note", "calibration"])
def test_all_text_is_escaped(where):
    given = rows(**({where: EVIL} if where in ("text", "system", "kind") else {}))
    body = metrics(given, EVIL if where == "system" else "utility")
    bins = [{"predicted": 0.1, "observed": 0.2, "n": 5}]
    body |= {"suite": {"suite": EVIL}, "config": {"config": {EVIL: EVIL}}, "skipped": {"skipped": {EVIL: 1}},
             "calibration": {"calibration": {EVIL: {"bins": bins, "brier": 0.1, "ece": 0.1}}}}.get(where, {})  # fmt: skip
    if where == "note":
        body["systems"]["prior"]["seen"] = EVIL
    outline = Outline(page(body, given))
    assert outline.tags.count("script") == 1 and "img" not in outline.tags
    assert not any(name.startswith("on") for name, _ in outline.attributes)
    assert where == "config" or EVIL in "".join(outline.text)


@settings(max_examples=12, deadline=None)
@given(st.text(max_size=40))
def test_any_text_makes_a_page_with_the_same_tags(text):
    wanted = Outline(page(metrics(rows(3)), rows(3))).tags
    given = rows(3, text=text)
    assert Outline(page(metrics(given), given)).tags == wanted


def test_bare_schema_one_user_and_no_questions():
    bare = {
        "suite": "own", "unit": "turn", "n": 3, "skipped": {}, "data_sha256": "x", "seeds": [0],
        "systems": {"bm25": {"mrr": {"mean": 0.0}}}, "by": {"multi-hop": {"bm25": {"mrr": {"mean": 0.0}}}}, "comparisons": [],
    }  # fmt: skip
    text = "".join(Outline(page(bare)).text)
    assert "Every question" not in text and "left out" in text
    alone = [row | {"user_id": "u"} for row in rows()]
    assert "utility is not told apart from prior" in " ".join("".join(Outline(page(metrics(alone), alone)).text).split())


def test_reliability_is_drawn_where_it_is_known():
    bins = [{"predicted": 0.1, "observed": 0.05, "n": 90}, {"predicted": 0.4, "observed": 0.4, "n": 10}]
    kept = [{"wanted": 0.8, "threshold": 0.4, "n": 10, "precision": 0.6, "recall": None}]
    body = metrics(rows(), calibration={"gold": {"bins": bins, "brier": 0.08, "ece": 0.045, "n": 100, "thresholds": kept}})
    html = page(body, rows())
    assert "<td>80%</td><td>.400</td><td>10</td><td>.600</td><td>–</td>" in html
    assert "predicted .100, observed .050, n = 90" in html and "ECE .045" in html
    assert "Can the probability" not in page(metrics(rows()), rows())


def test_of_many_questions_those_that_differ_most_are_shown_and_the_page_says_so():
    n = MOST_QUESTIONS + 10
    given = [row | {"ndcg@10": 0.5 if row["query_id"] == "q7" and row["system"] == "prior" else 0.0} for row in rows(n)]
    html = page(metrics(given), given)
    assert f"{MOST_QUESTIONS:,} of {n:,}" in html and html.count("<tr data-kind") == MOST_QUESTIONS
    assert html.index("<code>q7</code>") < html.index("<code>q1</code>")


def test_intervals_stay_inside_their_plot():
    html = page(metrics(rows()), rows())
    places = [float(x) for x in re.findall(r'(?:x1|x2|cx|width|x)="(-?[\d.]+)%"', html)]
    assert places and min(places) >= 0 and max(places) <= 100
