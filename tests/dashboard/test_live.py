"""The dashboard of a real crawl of the simulated web, in a real browser: what is seen there
happens, and what is done there is seen in the log of the web."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from lycosa.simweb.serve import SimWeb
from lycosa.simweb.spec import WorldSpec
from support import chromium
from support.browser import SECONDS, Seen, browser, opened
from support.program import Crawl, wait_for
from support.program import started as programs

DELAY = 1.0
HEARD = 4.0  # seconds in which every engine has heard of a change, on a busy machine
LOOK = 5.0  # seconds in which a domain would be visited some times
expect.set_options(timeout=SECONDS * 1000)
pytestmark = [
    pytest.mark.skipif(not chromium.found(), reason=chromium.ABSENT),
    pytest.mark.timeout(300),
]


@dataclass
class Live:
    """A crawl that runs, with its page."""

    web: SimWeb
    crawl: Crawl
    seen: Seen
    port: int
    quiet: list[tuple[str, float, float]] = field(default_factory=list)  # domain, from, to
    busy: list[tuple[str, float, float]] = field(default_factory=list)

    @property
    def page(self) -> Page:
        return self.seen.page

    def watch(self, domain: str, into: list[tuple[str, float, float]]) -> None:
        """Wait for a while in which a domain, or with '' every one, is left alone or visited."""
        time.sleep(HEARD)
        begun = time.monotonic()
        time.sleep(LOOK)
        into.append((domain, begun, time.monotonic()))

    def requests(self, domain: str, begun: float, ended: float) -> int:
        return sum(
            begun <= entry.start <= ended and domain in ("", entry.domain)
            for entry in self.web.log()
        )


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    root = tmp_path_factory.mktemp("live")
    spec = WorldSpec(domains=30, pages=150, https=0.0, plain=True, links=30, page_bytes=3000)
    with SimWeb(spec, root / "log") as web, browser() as started:
        flags = ("--engines", "1", "--ip-delay", "0", "--max-queued-per-domain", "40")
        crawl = Crawl(web, root, DELAY, "--dashboard", *flags)
        process = crawl.start()
        programs.remove(process)  # it lives for all tests of this file
        try:
            pattern = re.compile(r"dashboard: (http://127\.0\.0\.1:(\d+)/#token=\S+)")
            wait_for(lambda: crawl.log.exists() and pattern.search(crawl.log.read_text()))
            wait_for(lambda: crawl.pages() > 10)
            told = pattern.search(crawl.log.read_text())
            assert told
            made = Live(web, crawl, opened(started, told[1]), int(told[2]))
            yield made
            made.seen.check(made.port)
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 3
            expect(made.page.locator("#state")).to_have_text(re.compile("stopped|not connected"))
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    for domain, begun, ended in made.quiet:
        assert made.requests(domain, begun, ended) == 0, domain
    for domain, begun, ended in made.busy:
        assert made.requests(domain, begun, ended) > 0, domain
    crawl.check_polite()


def figure(page: Page) -> int:
    text = page.locator('#tiles [data-key="Pages"] dd').inner_text()
    return int(text.replace(",", ""))


def test_figures_grow_by_themselves(live: Live) -> None:
    page = live.page
    expect(page.locator("#state")).to_have_text("running")
    expect(page.locator("#limit")).to_contain_text("limited by")
    first = figure(page)
    wait_for(lambda: figure(page) > first, 30)
    wait_for(lambda: live.crawl.pages() >= first)


def test_charts_of_a_running_crawl_draw_and_grow(live: Live) -> None:
    speed = live.page.locator("#speed")
    expect(speed).to_have_attribute("data-points", re.compile(r"\d+"))
    first = int(speed.get_attribute("data-points") or 0)
    wait_for(lambda: int(speed.get_attribute("data-points") or 0) > first, 30)
    expect(live.page.locator("#band .strip span").first).to_be_visible()
    expect(live.page.locator("#polite")).to_contain_text("Violations0")
    expect(live.page.locator("#latest .page").first).to_be_visible()
    expect(live.page.locator("#nodes")).to_contain_text("in flight")


def test_every_part_is_filled_from_what_the_supervisor_writes(live: Live) -> None:
    page = live.page
    for part, told in (
        ("#languages", "English"),
        ("#types", "text/html"),
        ("#labels", "content"),
        ("#sizes", "KiB"),
        ("#disk", "text"),
        ("#durations", "first byte"),
    ):
        expect(page.locator(part)).to_contain_text(told)
    expect(page.locator("#latest .page")).to_have_count(10)
    expect(page.locator("#latest .preview").first).not_to_be_empty()
    expect(page.locator("#nodes tbody tr")).to_have_count(1)
    drop = page.locator('#drops [data-key="queue-cap"]')
    drop.locator("summary").click()
    expect(drop.locator(".examples li")).to_have_count(10)
    drop.locator(".examples button").first.click()
    expect(drop.locator(".why").first).not_to_be_empty()
    for order in ("Most queued", "Slowest", "Most pages"):
        page.get_by_label(order).check(force=True)
        expect(page.locator("#domains .entry")).to_have_count(20)


def test_search_and_why_answer_while_it_runs(live: Live) -> None:
    page, name = live.page, next(iter(live.web.seeds()))
    page.locator("#query").fill(name)
    page.locator("#query").press("Enter")
    expect(page.locator("#panel")).to_contain_text("What became of its URLs")
    page.keyboard.press("Escape")
    page.locator("#outcomes summary").first.click()
    page.locator("#outcomes .examples button").first.click()
    expect(page.locator("#outcomes .why").first).to_contain_text("robots.txt")


def test_an_exclusion_is_obeyed_and_taken_back(live: Live) -> None:
    page, panel, name = live.page, live.page.locator("#panel"), list(live.web.seeds())[1]
    page.get_by_role("button", name="Steer").click()
    panel.get_by_label("Exclude").fill(name)
    panel.get_by_role("button", name="What would it take out?").click()
    expect(panel).to_contain_text(re.compile(rf"{re.escape(name)}: [\d,]+ queued URL"))
    panel.get_by_role("button", name=re.compile(r"^Exclude [\d,]+ URL")).click()
    expect(panel.locator(".exclusions")).to_contain_text(name)
    live.watch(name, live.quiet)
    panel.get_by_role("button", name=f"Take back {name}").click()
    expect(panel.locator(".exclusions")).to_contain_text("Nothing is excluded")
    live.watch(name, live.busy)
    page.keyboard.press("Escape")


def test_a_pause_is_obeyed_and_ended(live: Live) -> None:
    page = live.page
    page.get_by_role("button", name="Pause", exact=True).click()
    expect(page.locator("#state")).to_have_text("paused")
    expect(page.locator("#limit")).to_contain_text("paused")
    expect(page.locator("#end")).to_contain_text("It is paused")
    live.watch("", live.quiet)
    page.get_by_role("button", name="Go on", exact=True).click()
    expect(page.locator("#state")).to_have_text("running")
    live.watch("", live.busy)


def test_seeds_are_added_and_the_delay_is_changed(live: Live) -> None:
    page, panel = live.page, live.page.locator("#panel")
    page.get_by_role("button", name="Steer").click()
    panel.get_by_label("Add seeds").fill(f"{next(iter(live.web.seeds()))}\nno seed at all")
    panel.get_by_role("button", name="Add seeds").click()
    expect(panel).to_contain_text("1 refused")
    panel.locator("#set-delay").fill("2")
    panel.locator("#set-delay").press("Enter")
    expect(panel).to_contain_text(re.compile("delay is 2.* now"))
    # 30 domains at one visit in 2 s each.
    expect(page.locator('#tiles [data-key="Speed now"] .sub')).to_contain_text("allows 15.0")
    page.keyboard.press("Escape")


def test_nothing_of_it_was_left_behind(live: Live) -> None:
    assert not list(Path(live.crawl.data).glob("*.new"))
