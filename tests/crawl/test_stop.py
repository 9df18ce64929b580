"""Stopping on request: signals, 'lycosa stop', limits; and going on afterwards."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lycosa.simweb.serve import SimWeb
from lycosa.simweb.spec import WorldSpec
from support.program import Crawl, lycosa, status, wait_for

STOPPED = 3  # the exit code of a crawl that was asked to stop
SPEC = WorldSpec(seed=8, domains=40, pages=12, delay=0.4).only("robots-allow")


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimWeb]:
    with SimWeb(SPEC, tmp_path_factory.mktemp("web")) as web:
        yield web


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_finishes_commits_and_releases(web: SimWeb, tmp_path: Path, number: int) -> None:
    crawl = Crawl(web, tmp_path, 0.4)
    process = crawl.start()
    wait_for(lambda: crawl.pages() > 20)
    asked = time.monotonic()
    # A terminal sends Ctrl-C to the whole group.
    os.killpg(process.pid, number)
    assert process.wait(20) == STOPPED
    assert time.monotonic() - asked < 15
    assert crawl.rows("SELECT count(*) FROM held") == [(0,)]
    assert crawl.rows("SELECT count(*) FROM engines WHERE NOT dead") == [(0,)]
    assert "can be resumed" in crawl.log.read_text()
    assert crawl.run(resume=True) == 0
    crawl.check_complete()


def test_a_second_signal_stops_at_once_and_safely(tmp_path: Path) -> None:
    spec = WorldSpec(seed=8, domains=20, pages=5, delay=0.4, slow=1.0, slow_seconds=4.0)
    with SimWeb(spec.only("robots-allow"), tmp_path / "log") as web:
        crawl = Crawl(web, tmp_path, 0.4)
        process = crawl.start()
        wait_for(lambda: len(web.log()) >= 10)
        process.send_signal(signal.SIGINT)
        time.sleep(0.5)
        assert process.poll() is None
        asked = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.wait(5) == STOPPED
        assert time.monotonic() - asked < 2


def test_lycosa_stop(web: SimWeb, tmp_path: Path) -> None:
    crawl = Crawl(web, tmp_path, 0.4)
    process = crawl.start()
    wait_for(lambda: crawl.pages() > 10)
    done = lycosa("stop", "--data-dir", crawl.data)
    assert done.returncode == 0, done.stderr
    assert process.wait(20) == STOPPED


def test_max_pages_counts_recorded_responses(web: SimWeb, tmp_path: Path) -> None:
    crawl = Crawl(web, tmp_path, 0.4, "--max-pages", "30", "--max-workers", "10")
    assert crawl.run() == 0
    assert 30 <= crawl.pages() <= 40
    domains = crawl.rows("SELECT count(DISTINCT domain_id) FROM pages")[0][0]
    assert int(str(domains)) >= 15  # many seeds are covered, not a few of them deeply


def test_max_duration(web: SimWeb, tmp_path: Path) -> None:
    crawl = Crawl(web, tmp_path, 0.4, "--max-duration", "2")
    began = time.monotonic()
    assert crawl.run() == 0
    assert 2 <= time.monotonic() - began < 15


def test_depth_and_pages_per_domain(web: SimWeb, tmp_path: Path) -> None:
    crawl = Crawl(web, tmp_path, 0.4, "--max-depth", "1", "--max-pages-per-domain", "4")
    assert crawl.run() == 0
    assert crawl.rows("SELECT max(depth) FROM pages") == [(1,)]
    counts = crawl.rows("SELECT count(*) FROM pages WHERE status > 0 GROUP BY domain_id")
    assert max(int(str(count)) for (count,) in counts) <= 5  # a redirect may come on top
    drops = status(crawl.data)["drops"]
    assert drops["page-cap"] > 0
    assert drops["depth"] > 0


def test_excluded_domains_are_never_asked(web: SimWeb, tmp_path: Path) -> None:
    excluded = tmp_path / "excluded.txt"
    excluded.write_text("# no\nd000003.test\n*.d000005.test\n")
    before = len(web.log())
    crawl = Crawl(web, tmp_path, 0.4, "--exclude-file", str(excluded), "--max-depth", "0")
    assert crawl.run() == 0
    asked = {entry.domain for entry in web.log()[before:]}
    assert "d000003.test" not in asked
    assert len(asked) >= 35


def test_an_exclusion_added_during_a_crawl_takes_effect(web: SimWeb, tmp_path: Path) -> None:
    crawl = Crawl(web, tmp_path, 0.4)
    process = crawl.start()
    wait_for(lambda: crawl.pages() > 20)
    done = lycosa("exclude", "--data-dir", crawl.data, "d000007.test", "--yes")
    assert done.returncode == 0, done.stderr
    time.sleep(2.0)
    mark = time.monotonic()
    assert process.wait(60) == 0
    late = [entry for entry in web.log() if entry.domain == "d000007.test" and entry.start > mark]
    assert late == []
    reasons = status(crawl.data)["drops"]
    assert reasons["excluded"] > 0


def test_an_exclusion_is_taken_back_during_a_crawl(web: SimWeb, tmp_path: Path) -> None:
    """What it took out of the queue is queued again, and fetched once."""
    crawl = Crawl(web, tmp_path, 0.4)
    process = crawl.start()
    wait_for(lambda: crawl.pages() > 20)
    names = [name for name in web.seeds() if name.endswith(("0.test", "5.test"))]
    done = lycosa("exclude", "--data-dir", crawl.data, *names, "--yes")
    assert done.returncode == 0 and "Together they hit" in done.stdout, done.stderr
    wait_for(lambda: crawl.rows("SELECT 1 FROM left_out LIMIT 1"))
    time.sleep(1.0)
    process.send_signal(signal.SIGSTOP)  # so that all is there when we look
    out = {str(url) for (url,) in crawl.rows("SELECT url FROM left_out")}
    process.send_signal(signal.SIGCONT)
    back = lycosa("exclude", "--data-dir", crawl.data, *names, "--remove")
    assert back.returncode == 0, back.stderr
    # On a busy machine engines find some of them again, by links, before they are put back.
    assert int(back.stdout.split()[0].replace(",", "")) > 0 and out
    assert process.wait(100) == 0
    done_urls = {str(url) for (url,) in crawl.rows("SELECT url FROM pages")}
    if not out <= done_urls:  # the crawl had ended just before
        assert crawl.run(resume=True) == 0
        done_urls = {str(url) for (url,) in crawl.rows("SELECT url FROM pages")}
    assert out <= done_urls
    assert set(crawl.texts().values()) == {1}
    crawl.check_polite()


def test_seeds_from_standard_input(web: SimWeb, tmp_path: Path) -> None:
    crawl = Crawl(web, tmp_path, 0.4, "--max-depth", "0")
    seeds = "\n".join(web.seeds()[:5]).encode()
    (tmp_path / "in").write_bytes(seeds)
    crawl.seeds = Path("-")
    with (tmp_path / "in").open("rb") as stream:
        assert crawl.run(stdin=stream) == 0
    assert len(crawl.kept()) == 5


def test_resume_goes_on_with_what_the_first_run_was_told(web: SimWeb, tmp_path: Path) -> None:
    """Name servers, ports, WARC: nothing has to be said again."""
    crawl = Crawl(web, tmp_path, 0.4, "--warc", "--max-pages", "30")
    assert crawl.run() == 0
    done = lycosa("crawl", "--resume", "--data-dir", crawl.data, timeout=120)
    assert done.returncode == 0, done.stderr
    crawl.check_complete()
    missing = crawl.rows("SELECT count(*) FROM pages WHERE status > 0 AND warc_segment = 0")
    assert missing == [(0,)]


def test_a_directory_that_vanishes_ends_the_crawl(web: SimWeb, tmp_path: Path) -> None:
    crawl = Crawl(web, tmp_path, 0.4)
    process = crawl.start()
    wait_for(lambda: crawl.pages() > 10)
    crawl.data.rename(tmp_path / "elsewhere")
    assert process.wait(20) == 1
    assert "moved or deleted" in crawl.log.read_text()
    assert "Traceback" not in crawl.log.read_text()
