"""Sites that send the crawler to a third party by their robots.txt: the real program, its ledger,
its audit, and the third party's own log."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest

from lycosa.archive import ledger
from lycosa.simweb.reqlog import Entry
from lycosa.simweb.rules import HOME
from lycosa.simweb.serve import SimWeb
from lycosa.simweb.spec import WorldSpec
from support.cluster import Cluster
from support.program import Crawl, lycosa, wait_for

DELAY = 0.3
DOMAINS = 25
SPEC = WorldSpec(seed=2, domains=DOMAINS, pages=2, https=0.0, delay=DELAY)


@pytest.fixture
def web(tmp_path: Path) -> Iterator[SimWeb]:
    """Every domain aims at one and the same, by a URL of its own."""
    with SimWeb(SPEC.only("robots-aimed"), tmp_path / "log") as web:
        yield web


def at_home(web: SimWeb) -> list[Entry]:
    return sorted((e for e in web.log() if e.domain == HOME), key=lambda entry: entry.start)


def more_at_home(web: SimWeb, than: int) -> bool:
    return len(at_home(web)) > than


def test_the_third_party_is_asked_once_a_delay(web: SimWeb, tmp_path: Path) -> None:
    """By two engines, and each of these requests is a visit in the ledger that `audit` judges."""
    crawl = Crawl(web, tmp_path, DELAY, "--engines", "2", "--ip-delay", "0")
    assert crawl.run() == 0, crawl.log.read_text()
    seen = at_home(web)
    assert len(seen) == len({entry.url for entry in seen}) == DOMAINS
    assert min(after.start - before.end for before, after in pairwise(seen)) >= DELAY - 0.005
    crawl.check_complete()
    crawl.check_polite()
    visits = [visit for visit in ledger.read_visits(crawl.data) if visit.domain == HOME]
    assert len(visits) == DOMAINS
    assert {(visit.requests, visit.unfinished) for visit in visits} == {(1, False)}
    said = json.loads(lycosa("audit", "--json", "--data-dir", crawl.data).stdout)
    assert said["ok"] and said["report"]["domains"] == DOMAINS + 1
    _plant(crawl.data, visits[0])
    planted = json.loads(lycosa("audit", "--json", "--data-dir", crawl.data).stdout)
    assert not planted["ok"] and planted["report"]["examples"][0]["domain"] == HOME


def test_a_request_for_others_is_in_the_ledger(tmp_path: Path) -> None:
    """One robots.txt of five domains: asked for once, as a visit of the domain where it lies."""
    spec = replace(SPEC, domains=5, pages=1).only("robots-away")
    with SimWeb(spec, tmp_path / "log") as web:
        crawl = Crawl(web, tmp_path, DELAY, "--engines", "2", "--ip-delay", "0")
        assert crawl.run() == 0, crawl.log.read_text()
        crawl.check_complete()
        asked = len(at_home(web))
    visits = [visit for visit in ledger.read_visits(crawl.data) if visit.domain == HOME]
    assert 1 <= len(visits) == asked
    said = json.loads(lycosa("audit", "--json", "--data-dir", crawl.data).stdout)
    assert said["ok"] and said["report"]["domains"] == 6


def _plant(root: Path, visit: ledger.LedgerVisit) -> None:
    """One more such request, too soon after another."""
    path = max((root / "visits").glob("*.jsonl"))
    start = visit.end_ms + 1
    with path.open("a") as file:
        file.write(json.dumps(["s", HOME, start]) + "\n")
        file.write(json.dumps(["e", HOME, start, start + 1, 1, "", "robots-for-others"]) + "\n")


def test_an_excluded_third_party_is_not_asked(web: SimWeb, tmp_path: Path) -> None:
    excluded = tmp_path / "excluded.txt"
    excluded.write_text(f"{HOME}\n")
    crawl = Crawl(web, tmp_path, 0.05, "--exclude-file", str(excluded), "--ip-delay", "0")
    assert crawl.run() == 0, crawl.log.read_text()
    assert at_home(web) == []
    assert crawl.outcomes() == {"no-https": DOMAINS, "robots-unreachable": DOMAINS}


def test_a_third_party_that_is_no_seed_is_not_asked(web: SimWeb, tmp_path: Path) -> None:
    crawl = Crawl(web, tmp_path, 0.05, "--seeded-urls-only", "--ip-delay", "0")
    assert crawl.run() == 0, crawl.log.read_text()
    assert at_home(web) == []
    assert crawl.outcomes() == {"no-https": DOMAINS, "robots-unreachable": DOMAINS}


def test_kills_do_not_forget_the_delay(web: SimWeb, tmp_path: Path) -> None:
    crawl = Crawl(web, tmp_path, DELAY, "--engines", "2", "--ip-delay", "0")
    process = crawl.start()
    for _ in range(2):
        wait_for(partial(more_at_home, web, len(at_home(web))))
        crawl.kills.append(time.monotonic())
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process = crawl.start(resume=(crawl.data / "crawl.sqlite").exists())
    assert process.wait(120) == 0, crawl.log.read_text()[-3000:]
    crawl.check_complete()
    crawl.check_polite()
    said = json.loads(lycosa("audit", "--json", "--data-dir", crawl.data).stdout)
    assert said["ok"], said


def test_two_nodes_share_the_bound(web: SimWeb, tmp_path: Path, postgres_url: str) -> None:
    cluster = Cluster(web, tmp_path, postgres_url, 2, "--ip-delay", "0", delay=DELAY)
    first = cluster.start(0, resume=False)
    wait_for(lambda: cluster.pages() > 0 or len(at_home(web)) > 0, 60)
    cluster.finish(first, cluster.start(1))
    cluster.check()
    assert {e.url for e in at_home(web)} == {
        f"http://{HOME}/rules/d{n:06d}.test.txt" for n in range(DOMAINS)
    }
    both = [visit for node in cluster.nodes for visit in ledger.read_visits(node.data)]
    assert sum(visit.requests for visit in both if visit.domain == HOME) == len(at_home(web))
