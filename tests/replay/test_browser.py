"""The page in a real browser without a window: it is walked by keys, fetches nothing, complains of nothing, and runs nothing that
somebody said. Skipped where no Chromium is installed (Debian: ``apt-get install chromium``)."""

import shutil
import time

import pytest

from hindsight.replay.shape import body
from hindsight.replay.story import Story
from hindsight.report.replay_page import write
from tests.replay.told import EVIL, HOSTILE, lived, turns

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


@pytest.fixture(scope="module")
def chromium():
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip(f"no browser: none of {', '.join(BROWSERS)} is on PATH")
    drive = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: it comes with the extra dev")
    with drive.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found)
        yield browser
        browser.close()


@pytest.fixture
def opened(chromium, tmp_path):
    """(body, hash) -> the page of it. At the end: one request alone was made, that of the file, and nothing was said on the console."""
    contexts, asked, told = [], [], []

    def make(found, at="", width=1280):
        write(tmp_path / "page.html", found)
        context = chromium.new_context(viewport={"width": width, "height": 800})
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: told.append(message.text))
        page.on("pageerror", lambda error: told.append(str(error)))
        page.on("dialog", lambda dialog: told.append(dialog.message))
        page.goto(f"file://{tmp_path}/page.html{at}")
        return page

    yield make
    for context in contexts:
        context.close()
    assert told == []
    assert [url.partition("#")[0] for url in asked] == [f"file://{tmp_path}/page.html"] * len(contexts)


def shaped(story: Story | None = None) -> dict:
    return body(story or lived(), [("user", "ann"), ("system", "bionic")])


def heading(page):
    return page.text_content("#where").split(" session")[0]


def parts(page):
    return page.eval_on_selector_all("#step h3", "all => all.map(one => one.textContent)")


def test_keys_buttons_and_slider_walk_through_the_turns(opened):
    page = opened(shaped())
    assert (heading(page), page.text_content("#place")) == ("Turn 0", "1 of 16 turns")
    assert page.is_disabled("#back")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert heading(page) == "Turn 2" and page.text_content(".said") == "I live in Oslo." and page.url.endswith("#turn=2")
    page.keyboard.press("ArrowLeft")
    page.click("#next")
    page.click("#back")
    assert heading(page) == "Turn 1" and page.url.endswith("#turn=1")
    page.focus("#slider")
    page.keyboard.press("ArrowRight")
    assert heading(page) == "Turn 2"  # one turn, not two
    page.keyboard.press("End")
    assert heading(page) == "Turn 15" and page.is_disabled("#next")
    page.click("#timeline button[data-number='10']")
    page.keyboard.press("ArrowUp")
    assert heading(page) == "Turn 9" and page.evaluate("document.activeElement.dataset.number") == "9"
    assert page.get_attribute("#timeline [aria-current]", "data-number") == "9"
    assert page.evaluate("document.querySelectorAll('#timeline button[tabindex=\"0\"]').length") == 1


def test_a_turn_shows_what_was_recalled_why_and_what_became_of_the_memory(opened):
    found = shaped()
    page = opened(found, "#turn=10")
    assert heading(page) == "Turn 10" and parts(page) == ["Said", "Recalled before it 3", "Written 1"]
    hit = found["steps"][10]["recalls"][0]["hits"][0]
    shown = page.eval_on_selector_all(
        ".hit:first-child .why li", "all => all.map(one => [...one.children].map(c => c.textContent))"
    )
    assert [row[0] for row in shown] == [*(found["names"][name] for name, _ in hit["why"]), "together"]
    assert sum(float(row[2]) for row in shown[:-1]) == pytest.approx(hit["score"], abs=0.003)
    assert float(shown[-1][2]) == pytest.approx(hit["score"], abs=0.001)
    page.goto(page.url.replace("#turn=10", "#turn=9"))
    assert parts(page) == ["Said", "Written 3", "Superseded 2"]
    pair = page.eval_on_selector_all(".superseded:first-child .note", "all => all.map(one => one.textContent)")
    assert pair == ["user: dentist: dr. hale", "user: dentist: dr. brand"]
    page.click(".superseded .old .visit")
    assert heading(page) == "Turn 0"
    page.goto(page.url.replace("#turn=0", "#turn=14"))
    assert "Archived, no longer recalled 1" in parts(page) and "why: withdrawn" in page.text_content("#step")


def test_bars_point_to_the_side_of_their_sign(opened):
    found = shaped()
    hit = found["steps"][10]["recalls"][0]["hits"][0]
    hit["why"] = [[0, 2.0], [1, -1.0], [2, 0.0]]
    page = opened(found, "#turn=10")
    middle, plus, minus, none = page.evaluate(
        """() => { const rows = [...document.querySelectorAll(".hit:first-child .track")].map(track => {
             const t = track.getBoundingClientRect(), b = track.firstChild.getBoundingClientRect();
             return [b.left - (t.left + t.width / 2), b.right - (t.left + t.width / 2), t.width / 2]; });
             return [rows[0][2], rows[0].slice(0, 2), rows[1].slice(0, 2), rows[2].slice(0, 2)]; }"""
    )
    assert plus == pytest.approx([0, middle], abs=1) and minus == pytest.approx([-middle / 2, 0], abs=1)
    assert none == pytest.approx([0, 0], abs=1)


def test_filters(opened):
    page = opened(shaped())
    page.select_option("#only", "lost")
    assert page.text_content("#place") == "1 of 2 turns" and heading(page) == "Turn 9"
    page.keyboard.press("Tab")  # out of the list: its arrow keys are its own
    page.click("#next")
    assert heading(page) == "Turn 14" and page.is_disabled("#next")
    page.select_option("#only", "recalled")
    page.fill("#find", "DENTIST")
    assert page.text_content("#place").endswith(" of 3 turns")
    page.fill("#find", "no such words")
    assert page.text_content("#place") == "no such turn"
    page.fill("#find", "电话")
    assert heading(page) == "Turn 4"
    page.evaluate("location.hash = '#turn=7'")  # not among those: all are shown again
    page.wait_for_function("document.getElementById('where').textContent.startsWith('Turn 7')")
    assert page.text_content("#place") == "8 of 16 turns"


@pytest.mark.parametrize("at", ["#turn=99", "#turn=-1", "#turn=", "#turn=1e3", f"#{EVIL}"])
def test_a_hash_that_names_no_turn_opens_the_first(opened, at):
    assert heading(opened(shaped(), at)) == "Turn 0"


@pytest.mark.parametrize("width", [1280, 380])
def test_hostile_text_is_inert_and_breaks_no_layout(opened, width):
    found = body(lived(turns(HOSTILE, HOSTILE)), [("user", EVIL)], [EVIL])
    page = opened(found, width=width)
    for number in range(12):
        if number:
            page.click("#next")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), number
        assert page.text_content(".said") == found["steps"][number]["text"]
    assert page.evaluate("window.evil") is None and page.evaluate("document.images.length") == 0
    assert page.evaluate("document.scripts.length") == 2


def test_the_pages_policy_stops_a_script_that_is_not_its_own(chromium, tmp_path):
    write(tmp_path / "page.html", shaped())
    page = chromium.new_page()
    told = []
    page.on("console", lambda message: told.append(message.text))
    page.goto(f"file://{tmp_path}/page.html")
    page.evaluate("html => document.body.append(document.createRange().createContextualFragment(html))", EVIL)
    page.wait_for_timeout(100)
    assert page.evaluate("window.evil") is None and "Content Security Policy" in " ".join(told)
    page.close()


def test_two_thousand_turns_stay_quick(opened):
    """Far below what a person would notice; the bounds leave room for a busy machine."""
    one = shaped()
    steps = [one["steps"][10 + n % 2] | {"at": n, "session": n // 20} for n in range(2000)]
    began = time.perf_counter()
    page = opened(one | {"steps": steps, "ended": 2000, "sessions": [""] * 100}, "#turn=1500")
    assert heading(page) == "Turn 1500"
    assert time.perf_counter() - began < 10
    took = page.evaluate(
        """() => { const begun = performance.now(); for (let n = 0; n < 100; n++)
             document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight", bubbles: true}));
             document.body.offsetHeight; return (performance.now() - begun) / 100; }"""
    )
    assert heading(page) == "Turn 1600" and took < 100  # milliseconds a step
