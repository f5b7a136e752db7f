import io
import json
import re

import pytest

from hindsight.report import (
    amount,
    braces,
    cautions,
    chance,
    difference,
    figure,
    headline_of,
    measures_of,
    signed,
    verdict,
    visible,
)
from hindsight.report.table import show

# The example of DESIGN.md with a second system, and nothing beyond its schema.
SCHEMA = json.loads("""{
 "suite": "locomo", "unit": "turn", "n": 1536, "skipped": {"no evidence": 4}, "data_sha256": "9f2c", "seeds": [0, 1, 2, 3, 4],
 "systems": {"bm25": {"recall@10": {"mean": 0.6, "low": 0.58, "high": 0.62}, "ms_per_query": {"p50": 1.2, "p95": 2.0}},
             "utility": {"recall@10": {"mean": 0.8125, "low": 0.79, "high": 0.83}}},
 "by": {"multi-hop": {"bm25": {"recall@10": {"mean": 0.4}}}},
 "comparisons": [{"a": "utility", "b": "bm25", "measure": "recall@10", "difference": 0.2125, "low": 0.19, "high": 0.23,
                  "cluster": "dialogue", "p": 0.001}]}""")

GOLDEN = """\
suite locomo; unit turn; n 1,536 questions; left out 4: no evidence 4; seeds 0, 1, 2, 3, 4; data sha256 9f2c

| system  |         recall@10 | ms p50 | ms p95 | bytes | tokens |
|---------|-------------------|--------|--------|-------|--------|
| bm25    | .600 {.580, .620} |   1.20 |   2.00 |     – |      – |
| utility | .812 {.790, .830} |      – |      – |     – |      – |

utility minus bm25: recall@10 +.212 {.190, .230}, cluster dialogue, p = .0010
"""

FULL = SCHEMA | {
    "clusters": 10, "cluster": "user", "pool": {"min": 4, "median": 8.0, "max": 5882}, "saturated": {"recall@10": 0.25},
    "systems": SCHEMA["systems"] | {"cues": {"recall@10": {"mean": 0.9, "low": None, "high": None}, "bytes_per_memory": 1843,
                                             "seen": "made by people who saw [the] questions"}},
}  # fmt: skip


def text_of(metrics):
    stream = io.StringIO()
    show(metrics, stream)
    return stream.getvalue()


def test_golden_outside_a_terminal():
    assert text_of(SCHEMA) == GOLDEN


def test_everything_a_reader_must_know_is_there():
    text = text_of(FULL)
    assert "pool 4 / 8 / 5,882 memories (min / median / max)" in text
    assert "* recall@10 is saturated: k reaches the whole pool in 25% of questions" in text
    assert "| recall@10* |" not in text and "recall@10* |" in text
    assert "* 10 clusters: a 95 % interval of so few holds the truth about 90 % of the time" in text
    assert "cues, seen: made by people who saw [the] questions" in text
    assert ".900 {–}" in text and "1,843" in text


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_terminal_is_never_wider_than_it_is_and_drops_no_measure(monkeypatch, width):
    names = [f"recall@{k}" for k in (1, 3, 5, 10, 20)] + ["ndcg@10", "mrr"]
    cell = {"mean": 0.5, "low": 0.4, "high": 0.6}
    metrics = SCHEMA | {"systems": {"utility_shuffled": dict.fromkeys(names, cell)}, "comparisons": []}
    for name, value in {"FORCE_COLOR": "1", "TERM": "xterm-256color", "COLUMNS": str(width)}.items():
        monkeypatch.setenv(name, value)
    text = re.sub(r"\x1b\[[0-9;]*m", "", text_of(metrics))
    assert max(len(line) for line in text.splitlines()) <= width
    assert all(name in text for name in ("recall@1 ", "recall@20", "nDCG@10", "MRR", "ms p95")) and "…" not in text
    assert text.index("nDCG@10") < text.index("recall@20")


@pytest.mark.parametrize(
    "written,wanted",
    [
        (figure(0.6449), ".645"), (figure(1.0), "1.000"), (figure(-0.0321), "-.032"), (figure(None), "–"), (figure(12.5), "12.500"),
        (signed(0.032), "+.032"), (signed(-0.5), "-.500"), (signed(0.0), "+.000"), (braces(0.021, 0.041), "{.021, .041}"),
        (braces(None, None), "{–}"), (chance(0.00001), "p < .0001"), (chance(0.0012), "p = .0012"), (chance(1.0), "p = 1"),
        (chance(None), "p unknown"), (amount(1843.2), "1,843"), (amount(12.34), "12.3"), (amount(0.4), "0.40"), (amount(None), "–"),
    ],
)  # fmt: skip
def test_numbers(written, wanted):
    assert written == wanted


def test_verdict_needs_interval_and_p():
    one = {"low": 0.01, "high": 0.02, "p": 0.01}
    assert verdict(one) == "above" and verdict(one | {"low": -0.02, "high": -0.01}) == "below"
    assert [verdict(one | change) for change in ({"p": 0.2}, {"low": -0.01}, {"low": None, "high": None})] == [
        "not apart"
    ] * 3


def test_text_of_others_cannot_steer_a_terminal():
    assert visible("a\x1b[31mred\r\n\u202eb\ud800") == "a\ufffd[31mred b\ufffd"
    assert visible("今天 很好 مرحبا") == "今天 很好 مرحبا"
    text = text_of(SCHEMA | {"suite": "x\x1b]0;owned\x07", "systems": {"own\x1b[2J": SCHEMA["systems"]["bm25"]}})
    assert "\x1b" not in text and "\x07" not in text


def test_fewer_clusters_fewer_claims():
    assert cautions(SCHEMA) == [] and cautions(SCHEMA | {"clusters": 200}) == []
    assert "no interval" in cautions(SCHEMA | {"clusters": 1})[0]
    assert "less than 90 %" in cautions(SCHEMA | {"clusters": 5})[0]


def test_headline_and_order():
    assert headline_of(SCHEMA) == "recall@10" and measures_of(SCHEMA | {"measures": ["mrr", "recall@10"]}) == ["recall@10"]
    assert difference(SCHEMA["comparisons"][0] | {"clusters": 10}).endswith("cluster dialogue (10), p = .0010")
