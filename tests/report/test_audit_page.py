import re
from io import StringIO

import pytest

from hindsight.audit.logs import Audit, audit_logs
from hindsight.labeler.values import Values
from hindsight.logs.native import NativeReader
from hindsight.report.audit import show_own
from hindsight.report.audit_page import page
from hindsight.report.findings import findings
from hindsight.types import Count
from tests import people
from tests.audit.test_logs import pairs, recipe
from tests.report.test_page import EVIL, Outline


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("audit")
    log = people.write_lines(folder / "log.jsonl", people.native())
    gold = people.write_lines(folder / "pairs.jsonl", pairs())
    found = audit_logs(list(NativeReader().read(log, Count())), recipe(Values(least_pool=8)), Audit(gold=gold), Count())
    return told({"labeler": "values", "data_sha256": "ab" * 32, "skipped": {"too few": 3}, "config": {"k": 1}} | found)


def told(report):
    return report | {"findings": findings(report)}


def test_the_numbers_and_the_findings_are_on_the_page(report):
    text = " ".join(" ".join(Outline(page(report)).text).split())
    assert all(line in text for line in report["findings"])
    for one in report["signals"].values():
        assert f"{100 * one['speaks']['mean']:.0f} %" in text
    assert "Against gold" in text and "too few 3" in text and "gain of the label, the true future" in text
    assert all(one["credited"] in text for one in report["examples"])


def test_without_gold_and_without_an_interval(report):
    alone = {name: one | {"apart": None} for name, one in report["signals"].items()}
    bare = told(report | {"gold": None, "signals": alone, "apart": None, "clusters": 1})
    text = "".join(Outline(page(bare)).text)
    assert "Against gold" not in text and "one cluster: no interval can be given" in text


def test_nothing_is_fetched_and_all_text_is_escaped(report):
    evil = {f"{EVIL}{name}": one for name, one in report["signals"].items()}
    shown = [one | {"asked": EVIL, "future": EVIL, "credited": EVIL} for one in report["examples"]]
    html = page(
        told(report | {"labeler": EVIL, "signals": evil, "examples": shown, "config": {EVIL: EVIL}, "skipped": {EVIL: 1}})
    )
    outline = Outline(html)
    assert "script" not in outline.tags and "img" not in outline.tags
    assert not any(name.startswith("on") or name in ("src", "href") for name, _ in outline.attributes)
    assert not re.search(r"url\(|@import|https?://", html) and "default-src 'none'" in html
    assert page(report) == page(report)


def test_marks_stay_inside_their_plot(report):
    places = [float(x) for x in re.findall(r'(?:x1|x2|cx|width|x)="(-?[\d.]+)%"', page(report))]
    assert places and min(places) >= 0 and max(places) <= 100


def test_in_a_terminal_the_last_line_is_the_verdict(report):
    show_own(report, out := StringIO())
    lines = out.getvalue().strip().splitlines()
    assert lines[-1] == f"verdict: {report['findings'][0]}"
    assert any(line.startswith("| call values ") for line in lines)
    assert any(line.startswith("| label, future shuffled ") for line in lines)
