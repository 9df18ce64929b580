"""The page in a real browser, over a crawl with a known history."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from lycosa.dashboard.report import bundle
from support import chromium, made_crawl
from support.browser import SECONDS, Seen, browser, opened
from support.dashboards import TOKEN, Served
from support.made_history import Told, made_lines, made_now, write_history
from support.program import wait_for

SCRIPT = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
expect.set_options(timeout=SECONDS * 1000)
pytestmark = pytest.mark.skipif(not chromium.found(), reason=chromium.ABSENT)


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("shown") / "data"
    made_crawl.make(root, pages=120)
    return root


@pytest.fixture(scope="module", autouse=True)
def told(crawl: Path) -> Iterator[Told]:
    lines = made_lines(time.time())
    now = made_now(lines[-1])
    write_history(crawl, lines, now)
    with Told(crawl, now) as made:
        yield made


@pytest.fixture(scope="module")
def served(crawl: Path) -> Iterator[Served]:
    with Served([crawl]) as made:
        yield made


@pytest.fixture(scope="module")
def started() -> Iterator[Browser]:
    with browser() as made:
        yield made


@pytest.fixture
def seen(served: Served, started: Browser) -> Iterator[Seen]:
    found = opened(started, f"{served.address}#token={TOKEN}")
    expect(found.page.locator("#limit")).to_contain_text("limited by politeness")
    yield found
    found.check(served.port)
    found.page.close()


def drawn(page: Page, name: str) -> int:
    """How many points of a chart are drawn, and that something of it is to be seen."""
    box = page.locator(name)
    expect(box).to_have_attribute("data-points", re.compile(r"\d+"))
    picture: int = box.locator("canvas").evaluate("canvas => canvas.toDataURL().length")
    assert picture > 5000  # an empty one has about 1,500 characters
    return int(box.get_attribute("data-points") or 0)


def test_the_first_look_tells_state_speed_and_limit(seen: Seen) -> None:
    page = seen.page
    expect(page.locator("#state")).to_have_text("running")
    expect(page.locator("#limit-text")).to_contain_text("domains / 70 s")
    expect(page.locator("#tiles")).to_contain_text("Speed now")
    expect(page.locator("#band .strip span").first).to_be_visible()
    expect(page.locator("#band .legend")).to_contain_text("politeness")
    expect(page.locator("#polite")).to_contain_text("Violations0")
    assert "token" not in page.url  # the secret is out of the address at once


def test_charts_draw_and_follow_the_range(seen: Seen) -> None:
    page = seen.page
    # A new figure may come between two looks.
    wait_for(lambda: drawn(page, "#done") == drawn(page, "#speed"))
    hour = drawn(page, "#speed")
    assert drawn(page, "#outcomes-chart") > 10
    page.get_by_label("All", exact=True).check(force=True)
    expect(page.locator("#speed")).not_to_have_attribute("data-points", str(hour))
    assert drawn(page, "#speed") > hour
    expect(page.locator("#band .legend")).to_contain_text("DNS")


def test_figures_change_by_themselves(seen: Seen, told: Told) -> None:
    page, line = seen.page, made_lines(time.time())[-1]
    for pages in (4_111_111, 4_222_222):
        now = made_now({**line, "pages": pages, "limit": "DNS",
                        "limit_text": "DNS: 9 of 10 fetches wait for a name server"})  # fmt: skip
        told.tell(now)
        expect(page.locator("#tiles")).to_contain_text(f"{pages:,}")
        expect(page.locator("#limit")).to_contain_text("limited by DNS")
    told.tell(made_now(line))
    expect(page.locator("#limit")).to_contain_text("politeness")


def test_an_outcome_opens_examples_and_an_example_opens_why(seen: Seen) -> None:
    page = seen.page
    page.locator("#outcomes summary").first.click()
    expect(page.locator("#outcomes details[open] .examples li")).to_have_count(10)
    page.locator("#outcomes .examples button").first.click()
    expect(page.locator("#outcomes .why")).to_contain_text("fingerprint")
    page.locator("#drops summary").first.click()
    expect(page.locator("#drops details[open] .examples li")).to_have_count(10)


def test_search_finds_domains_and_urls_and_says_what_to_do(seen: Seen) -> None:
    page, panel = seen.page, seen.page.locator("#panel")
    for typed, told in (
        ("d3.test", "What became of its URLs"),
        ("https://d3.test/3", "it was fetched and its text kept"),
        ("d3.tset", "did you mean d3.test"),
    ):
        page.locator("#query").fill(typed)
        page.locator("#query").press("Enter")
        expect(panel).to_contain_text(told)
        page.keyboard.press("Escape")
    # A word that is answered with status 400 is a word on the console, and no fault of the page.
    assert all("400" in word for word in seen.said)
    seen.said.clear()


def test_the_domains_have_orders_and_pages_of_their_own(seen: Seen) -> None:
    page = seen.page
    page.get_by_label("Longest Crawl-delay").check(force=True)
    expect(page.locator("#domains .entry").first).to_contain_text("1:00 h")
    page.locator("#domains button").first.click()
    expect(page.locator("#panel")).to_contain_text("robots.txt")
    page.locator("#panel-close").click()
    expect(page.locator("#panel")).to_be_hidden()


def test_the_controls_say_how_much_before_they_do_it(seen: Seen) -> None:
    page, panel = seen.page, seen.page.locator("#panel")
    page.get_by_role("button", name="Steer").click()
    act = panel.get_by_role("button", name="Exclude", exact=True)
    expect(act).to_be_disabled()
    panel.get_by_label("Exclude").fill("d1.test")
    panel.get_by_role("button", name="What would it take out?").click()
    expect(panel).to_contain_text("This would take out d1.test")
    panel.get_by_role("button", name=re.compile("^Exclude 0 URLs")).click()
    expect(panel.locator(".exclusions")).to_contain_text("d1.test")
    panel.get_by_role("button", name="Take back d1.test").click()
    expect(panel.locator(".exclusions")).to_contain_text("Nothing is excluded")


def test_without_the_token_a_control_asks_for_it(served: Served, started: Browser) -> None:
    seen = opened(started, served.address)
    page, panel = seen.page, seen.page.locator("#panel")
    page.get_by_role("button", name="Steer").click()
    expect(panel).to_contain_text("dashboard-token")
    panel.get_by_label("Token").fill(TOKEN)
    panel.get_by_label("Token").press("Enter")
    page.get_by_role("button", name="Steer").click(force=True) if panel.is_hidden() else None
    expect(panel).to_contain_text("Steer this crawl")
    seen.check(served.port)
    page.close()


def test_the_keyboard_alone_suffices(seen: Seen) -> None:
    """Search, open an outcome, an example and its answer, choose a range, open the controls: no
    mouse."""
    page = seen.page
    page.keyboard.press("/")
    page.keyboard.type("d2.test")
    page.keyboard.press("Enter")
    expect(page.locator("#panel")).to_contain_text("What became of its URLs")
    page.keyboard.press("Escape")
    tab_to(page, "#range input:checked")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#range input:checked")).to_have_value("21600")
    tab_to(page, "#outcomes summary")
    page.keyboard.press("Enter")
    tab_to(page, "#outcomes .examples button")
    page.keyboard.press("Enter")
    expect(page.locator("#outcomes .why").first).to_contain_text("fingerprint")
    tab_to(page, "#domains button")
    page.keyboard.press("Enter")
    expect(page.locator("#panel")).to_be_visible()
    page.keyboard.press("Escape")
    tab_to(page, "#steer", back=True)
    page.keyboard.press("Enter")
    tab_to(page, "#patterns")
    page.keyboard.type("d9.test")
    tab_to(page, "#panel .control button")
    page.keyboard.press("Enter")
    expect(page.locator("#panel")).to_contain_text("This would take out d9.test")


def tab_to(page: Page, wanted: str, back: bool = False) -> None:
    for _ in range(400):
        page.keyboard.press("Shift+Tab" if back else "Tab")
        if page.evaluate("wanted => document.activeElement.matches(wanted)", wanted):
            return
    raise AssertionError(f"{wanted} can't be reached by the keyboard")


def test_what_strangers_wrote_is_text(crawl: Path, started: Browser, tmp_path: Path) -> None:
    root = tmp_path / "data"
    made_crawl.make(root, pages=20)
    lines = made_lines(time.time())
    nasty = {"url": f"https://d0.test/{SCRIPT}", "title": SCRIPT + "\x1b[2J\u202e",
             "at": time.time(), "label": SCRIPT, "language": "en", "chars": 1,
             "preview": SCRIPT}  # fmt: skip
    now = made_now(lines[-1], latest=[nasty])
    now["outcomes"] = {SCRIPT: 5, "ok": 3}
    now["top"]["pages"] = [[SCRIPT, 3]]
    write_history(root, lines, now)
    with Served([root]) as served:
        seen = opened(started, served.address)
        expect(seen.page.locator("#latest .title")).to_have_text(SCRIPT + "\\x1b[2J\\u202e")
        expect(seen.page.locator("#outcomes .name").first).to_have_text(SCRIPT)
        expect(seen.page.locator("#domains button").first).to_have_text(SCRIPT)
        assert seen.page.title() != "owned"
        assert seen.page.locator("main img").count() == 0
        seen.check(served.port)
        seen.page.close()


@pytest.mark.parametrize(("scheme", "width"), [("dark", 1280), ("light", 390), ("dark", 360)])
def test_nothing_is_wider_than_the_screen(
    served: Served, started: Browser, scheme: str, width: int
) -> None:
    seen = opened(started, served.address, scheme, width)
    page = seen.page
    expect(page.locator("#limit")).to_contain_text("politeness")
    drawn(page, "#outcomes-chart")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("document.documentElement.dataset.theme") == scheme
    page.locator("#theme").click()
    other = "light" if scheme == "dark" else "dark"
    assert page.evaluate("document.documentElement.dataset.theme") == other
    seen.check(served.port)
    page.close()


def test_a_dashboard_that_ends_is_said_and_found_again(crawl: Path, started: Browser) -> None:
    with Served([crawl]) as served:
        seen = opened(started, served.address)
        expect(seen.page.locator("#limit")).to_contain_text("politeness")
    expect(seen.page.locator("#notice")).to_contain_text("lycosa dashboard")
    expect(seen.page.locator("#state")).to_have_text("not connected")
    seen.page.close()


def test_a_report_is_one_file_that_asks_nobody(
    crawl: Path, started: Browser, tmp_path: Path
) -> None:
    file = tmp_path / "report.html"
    with file.open("wb") as out:
        words = ["report", "--data-dir", str(crawl)]
        subprocess.run([sys.executable, "-m", "lycosa", *words], stdout=out, check=True)
    assert str(crawl) not in file.read_text("utf-8")
    seen = opened(started, file.as_uri())
    page = seen.page
    expect(page.locator("#limit")).to_contain_text("politeness")
    drawn(page, "#speed")
    expect(page.locator("#steer")).to_be_hidden()
    page.locator("#outcomes summary").first.click()
    page.locator("#outcomes .examples button").first.click()
    expect(page.locator("#outcomes .why")).to_contain_text("fingerprint")
    page.locator("#query").fill("d1.test")
    page.locator("#query").press("Enter")
    expect(page.locator("#panel")).to_contain_text("What became of its URLs")
    assert seen.said == []
    assert seen.asked == [file.as_uri()]
    page.close()


def test_names_at_the_top_of_the_modules_are_all_different() -> None:
    found = re.findall(r"^(?:async )?(?:function|const|let|class) (\w+)", bundle(), re.M)
    assert len(found) > 100
    assert sorted(set(found)) == sorted(found)
    assert not re.search(r"^(import|export)\b", bundle(), re.M)
