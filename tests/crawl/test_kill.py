"""kill -9 at random moments, of the whole group, the supervisor, or an engine: nothing is lost."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from pathlib import Path
from urllib.parse import urljoin

import pytest

from lycosa.simweb.reqlog import Entry
from lycosa.simweb.serve import SimWeb
from lycosa.simweb.spec import WorldSpec
from support.program import SERVER_LAG, Crawl, wait_for

IN_FLIGHT = 200
UNCOMMITTED = 2.5  # seconds: the two that are allowed, and what a loaded machine takes to react


def kill(crawl: Crawl, process: subprocess.Popen[bytes], how: str, chance: random.Random) -> None:
    engines = crawl.engines(process)
    crawl.kills.append(time.monotonic())
    if how == "engine" and engines:
        os.kill(chance.choice(engines), signal.SIGKILL)
        return
    if how == "supervisor":
        process.kill()
    else:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def unlucky_crawl(spec: WorldSpec, root: Path, seed: int, kills: int, every: float) -> Crawl:
    """Crawl to the end through `kills` kills."""
    print(f"seed {seed}")
    chance = random.Random(seed)
    with SimWeb(spec, root / "log") as web:
        crawl = Crawl(web, root, spec.delay, "--max-workers", str(IN_FLIGHT))
        process = crawl.start()
        for _ in range(kills):
            time.sleep(chance.uniform(0.2, every))
            if process.poll() is not None:
                break
            how = chance.choice(["group", "supervisor", "engine"])
            kill(crawl, process, how, chance)
            if process.poll() is not None:
                # A kill before the crawl existed leaves nothing to resume.
                process = crawl.start(resume=(crawl.data / "crawl.sqlite").exists())
        assert process.wait(600) == 0, crawl.log.read_text()[-3000:]
        # Everything was committed and is finished: going on changes nothing.
        before = crawl.kept()
        assert crawl.run(resume=True) == 0
        assert crawl.kept() == before
        return crawl


def check(crawl: Crawl) -> None:
    crawl.check_complete()
    report = crawl.check_polite()
    print(report.text())
    check_refetches(crawl, report.pages)


def check_refetches(crawl: Crawl, pages: int) -> None:
    """Fetched again: what was in flight at a kill, and what came in the two seconds before it.

    A request that a dead crawler had sent may wait in the server's socket before it is logged. A
    redirect to a page that is done is followed where the engine can't know that it is.
    """
    before: dict[str, Entry] = {}
    last: dict[str, Entry] = {}  # by domain
    late = []
    for entry in sorted(crawl.web.log(), key=lambda entry: entry.start):
        earlier, previous = before.get(entry.url), last.get(entry.domain)
        led = previous is not None and urljoin(previous.url, previous.location) == entry.url
        if earlier is not None and not led and not earlier.url.endswith("/robots.txt"):
            begin, end = earlier.start - SERVER_LAG, earlier.end + UNCOMMITTED
            if not any(begin <= at <= end for at in crawl.kills):
                late.append((entry.url, [round(at - earlier.end, 1) for at in crawl.kills]))
        if entry.status == 200:
            before[entry.url] = entry
        last[entry.domain] = entry
    print(f"{len(late)} of {pages} pages were fetched again without need")
    assert len(late) <= pages / 1000, late[:20]


def test_six_kills_lose_nothing(tmp_path: Path) -> None:
    spec = WorldSpec(seed=5, domains=80, pages=8, delay=0.4)
    check(unlucky_crawl(spec, tmp_path, seed=17, kills=6, every=2.0))


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_twenty_kills_of_two_thousand_domains(tmp_path: Path) -> None:
    spec = WorldSpec(seed=11, domains=2000, pages=20, delay=0.5)
    seed = int(os.environ.pop("LYCOSA_SEED", "29"))  # not for the crawl, which would refuse it
    check(unlucky_crawl(spec, tmp_path, seed=seed, kills=20, every=6.0))


def test_an_engine_that_dies_is_replaced(tmp_path: Path) -> None:
    spec = WorldSpec(seed=6, domains=40, pages=5, delay=0.3).only("robots-allow")
    with SimWeb(spec, tmp_path / "log") as web:
        crawl = Crawl(web, tmp_path, 0.3)
        process = crawl.start()
        ledgers = crawl.data.glob
        wait_for(lambda: sum(f.read_bytes().count(b"\n") for f in ledgers("visits/*")) > 150, 60)
        os.kill(crawl.engines(process)[0], signal.SIGKILL)
        assert process.wait(120) == 0, crawl.log.read_text()
        crawl.check_complete()
        crawl.check_polite()
    assert "an engine died and is replaced" in crawl.log.read_text()
