"""The dashboard of a crawl of two nodes on PostgreSQL, in a real browser: started with the store
alone, and with the directory of one node beside it."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from lycosa.simweb.serve import SimWeb
from lycosa.simweb.spec import WorldSpec
from support import chromium, promtool
from support.browser import SECONDS, Seen, browser, opened
from support.cluster import Cluster
from support.postgres import fresh_schema
from support.program import started as programs
from support.program import wait_for

DELAY = 1.0
QUIET = 3.0  # seconds without a request tell of a pause: every domain is visited once a second
expect.set_options(timeout=SECONDS * 1000)
pytestmark = [
    pytest.mark.skipif(not chromium.found(), reason=chromium.ABSENT),
    pytest.mark.timeout(300),
]


@dataclass
class Shared:
    """A crawl of two nodes that runs, and a browser."""

    web: SimWeb
    cluster: Cluster
    browser: Browser

    def asked(self, begun: float) -> int:
        """Requests since a moment."""
        return sum(entry.start >= begun for entry in self.web.log())

    @property
    def names(self) -> set[str]:
        return {name for (name,) in self.cluster.query("SELECT DISTINCT node FROM engines") if name}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, postgres_server: str) -> Iterator[Shared]:
    root = tmp_path_factory.mktemp("shared")
    spec = WorldSpec(domains=30, pages=400, https=0.0, plain=True, links=30, page_bytes=3000)
    with (
        fresh_schema(postgres_server) as store,
        SimWeb(spec, root / "log") as web,
        browser() as started,
    ):
        cluster = Cluster(web, root, store, 2, "--ip-delay", "0", delay=DELAY)
        processes = [cluster.start(0, resume=False)]
        try:
            wait_for(lambda: cluster.pages() > 5)
            processes.append(cluster.start(1))
            for each in processes:
                programs.remove(each)  # they live for all tests of this file
            busy = "SELECT count(*) FROM engines WHERE pages > 0 AND NOT dead"
            wait_for(lambda: cluster.query(busy) == [(2,)], 60)
            yield Shared(web, cluster, started)
            for process in processes:
                process.send_signal(signal.SIGTERM)
            cluster.finish(*processes, seconds=60, code=3)
        finally:
            for process in processes:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
        report = web.check(DELAY)
        assert report.ok, report.text()
        assert "Traceback" not in cluster.logs()


@dataclass
class Watched:
    """A dashboard as a user starts it, with its page."""

    seen: Seen
    port: int

    def get(self, path: str) -> Any:
        found = self.text(path)
        return json.loads(found)

    def text(self, path: str) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=30) as reply:
            return str(reply.read().decode())


@contextmanager
def watched(shared: Shared, *words: str | Path) -> Iterator[Watched]:
    """`lycosa dashboard` with the store and these words."""
    command = [sys.executable, "-m", "lycosa", "dashboard", "--store", shared.cluster.store]
    process = subprocess.Popen(
        [*command, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        told = re.search(r"http://127\.0\.0\.1:(\d+)/#token=\S+", process.stdout.readline())
        assert told
        seen = opened(shared.browser, told[0])
        yield Watched(seen, int(told[1]))
        seen.check(int(told[1]))
        seen.page.close()
    finally:
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    assert "Traceback" not in said
    assert process.returncode == 0


@pytest.fixture(scope="module")
def stored(shared: Shared) -> Iterator[Watched]:
    """With the store alone."""
    with watched(shared) as found:
        yield found


def figure(found: Watched) -> int:
    return int(
        found.seen.page.locator('#tiles [data-key="Pages"] dd').inner_text().replace(",", "")
    )


def test_figures_of_both_nodes_are_live(shared: Shared, stored: Watched) -> None:
    page = stored.seen.page
    expect(page.locator("#state")).to_have_text("running")
    expect(page.locator("#limit")).to_contain_text("limited by")
    first = figure(stored)
    wait_for(lambda: figure(stored) > first, 20)
    assert figure(stored) <= shared.cluster.pages() + 1
    nodes = page.locator("#nodes table").first
    expect(nodes.locator("tbody tr")).to_have_count(2)
    engines = page.locator("#nodes table").nth(1)
    expect(engines.locator("tbody tr")).to_have_count(2)
    for name in shared.names:
        expect(nodes).to_contain_text(name[:8])
        expect(engines).to_contain_text(name[:8])


def test_pages_of_other_nodes_say_where_their_texts_lie(shared: Shared, stored: Watched) -> None:
    page = stored.seen.page
    places = [f"{socket.gethostname()} in {node.data}" for node in shared.cluster.nodes]
    expect(page.locator("#latest .page")).to_have_count(10)
    expect(page.locator("#latest .kept")).to_have_count(10)

    def seen() -> set[str]:
        lines = page.locator("#latest .kept").all_inner_texts()
        return {place for place in places if f"Its text is kept on {place}." in lines}

    wait_for(lambda: seen() == set(places), 30)
    page.locator("#latest .examples button").first.click()
    expect(page.locator("#latest .why").first).to_contain_text(re.compile(r"\(kept on .* in /"))


def test_the_store_alone_answers_questions(shared: Shared, stored: Watched) -> None:
    page, name = stored.seen.page, next(iter(shared.web.seeds()))
    for order in ("Most queued", "Slowest", "Most pages"):
        page.get_by_label(order).check(force=True)
        expect(page.locator("#domains .entry")).to_have_count(20)
    page.locator("#query").fill(name)
    page.locator("#query").press("Enter")
    expect(page.locator("#panel")).to_contain_text("What became of its URLs")
    page.keyboard.press("Escape")
    page.locator("#outcomes summary").first.click()
    page.locator("#outcomes .examples button").first.click()
    expect(page.locator("#outcomes .why").first).to_contain_text("robots.txt")
    told = stored.get(f"/api/domain?name={name}")
    rows = shared.cluster.query("SELECT name, count(*) FROM pages JOIN domains ON domains.id ="
                                " pages.domain_id WHERE status > 0 GROUP BY 1")  # fmt: skip
    assert 0 < told["pages"] <= dict(rows)[name] <= told["pages"] + 3, "live, though it is held"


def test_a_pause_and_fetches_reach_both_nodes(shared: Shared, stored: Watched) -> None:
    page, panel = stored.seen.page, stored.seen.page.locator("#panel")
    page.get_by_role("button", name="Pause", exact=True).click()
    expect(page.locator("#state")).to_have_text("paused")
    wait_for(
        lambda: [each["state"] for each in stored.get("/api/nodes")["nodes"]] == ["paused"] * 2
    )
    time.sleep(1.0)
    begun = time.monotonic()
    time.sleep(QUIET)
    assert shared.asked(begun) == 0
    page.get_by_role("button", name="Go on", exact=True).click()
    expect(page.locator("#state")).to_have_text("running")
    wait_for(lambda: shared.asked(begun) > 0, 20)
    page.get_by_role("button", name="Steer").click()
    panel.locator("#set-max-workers").fill("50")
    panel.locator("#set-max-workers").press("Enter")
    expect(panel).to_contain_text("max-workers is 50 now, and was 100.")
    page.keyboard.press("Escape")
    kept = shared.cluster.query("SELECT value FROM crawl WHERE key LIKE 'node:%%'")
    assert [json.loads(value)["max_workers"] for (value,) in kept] == [50, 50]


def test_the_history_of_both_nodes_is_drawn(shared: Shared, stored: Watched) -> None:
    """Nodes leave a line in the store when a minute is over."""

    def left() -> dict[str, int]:
        """Pages by node, of the busiest minute: others were paused by tests before."""
        found: dict[str, int] = {}
        for (text,) in shared.cluster.query("SELECT line FROM history WHERE seconds = 60"):
            line = json.loads(text)
            found[line["node"]] = max(line["pages"], found.get(line["node"], 0))
        return found

    wait_for(lambda: len(left()) == 2 and any(left().values()), 150)
    page = stored.seen.page
    page.reload()
    expect(page.locator("#speed")).to_have_attribute("data-points", re.compile(r"[1-9]\d*"))
    expect(page.locator("#band .strip span").first).to_be_visible()
    for part, told in (("#durations", "first byte"), ("#sizes", "KiB"), ("#disk", "text")):
        expect(page.locator(part)).to_contain_text(told)
    expect(page.locator("#latest .preview").first).not_to_be_empty()
    most = max(left().values())
    assert max(stored.get("/api/history")["pages"]) >= most > 0


def test_metrics_are_of_both_nodes(shared: Shared, stored: Watched, tmp_path: Path) -> None:
    text = stored.text("/metrics")
    for name in shared.names:
        assert f'lycosa_pages_total{{node="{name}"}}' in text
        assert f'lycosa_engines{{node="{name}"}} 1.0' in text
        assert f'lycosa_state{{node="{name}",state="running"}} 1.0' in text
    assert "lycosa_first_byte_duration_seconds_bucket" in text
    if tool := promtool.found():
        done = subprocess.run(
            [tool, "check", "metrics"], input=text, capture_output=True, text=True
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert stored.get("/healthz")["state"] == "running"
    assert stored.get("/status.json")["pages"] > 0
    assert "postgresql" not in text + stored.text("/status.json") + stored.text("/api/nodes")


def test_with_the_directory_of_one_node_its_own_pages_are_here(shared: Shared) -> None:
    here, there = (node.data for node in shared.cluster.nodes)
    with watched(shared, "--data-dir", here) as found:
        page = found.seen.page
        expect(page.locator("#nodes table").first.locator("tbody tr")).to_have_count(2)
        expect(page.locator("#latest .page")).to_have_count(10)
        wait_for(lambda: page.locator("#latest .kept").count() in range(1, 10), 30)
        kept = page.locator("#latest .kept").all_inner_texts()
        assert {str(there) in line for line in kept} == {True}
        assert {str(here) in line for line in kept} == {False}
        expect(page.locator("#durations")).to_contain_text("first byte")
        expect(page.locator("#speed")).to_have_attribute("data-points", re.compile(r"[1-9]\d*"))
        text = found.text("/metrics")
        assert all(f'lycosa_pages_total{{node="{name}"}}' in text for name in shared.names)
