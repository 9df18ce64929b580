"""A large half-done crawl moves to a server, is killed on the way, and ends there with the same
pages as where it was.

Of its URLs most fail fast, because a million pages would take hours: a third of the domains
forbid everything by robots.txt, a third do not exist. Each of their URLs is a row in the queue,
moves, and comes to its end like any other.
"""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from lycosa.frontier.log.domain_log import DomainLog
from lycosa.simweb.check import check
from lycosa.simweb.reqlog import read_log
from lycosa.simweb.serve import SimWeb
from lycosa.simweb.spec import DEFAULT_MIX, WorldSpec
from lycosa.simweb.world import World
from support.cluster import SHORT
from support.logs import logs_in
from support.program import Crawl, wait_for

DELAY = 0.5
# A visit that is given up may still be under way to a busy server: time enough.
FLAGS = (*SHORT, "--visit-timeout", "20", "--lease-time", "40")
MIX = {"nxdomain": 0.33, "robots-allow": 0.5, "robots-deny": 0.5, "upgrade": 0.5, "redirects": 0.2}
SPEC = WorldSpec(seed=3, domains=1000, pages=12, delay=DELAY).with_mix(
    dict.fromkeys(DEFAULT_MIX, 0.0) | MIX
)


def many(world: World, count: int) -> Iterator[str]:
    """Seeds: every domain, then URLs that fail fast, of all domains that have such in turn."""
    yield from world.seeds()
    sites = [world.site(index) for index in range(world.spec.domains)]
    hopeless = [s for s in sites if s.fault == "nxdomain" or s.robots == "robots-deny"]
    left = count - len(sites)
    for number in range(left // len(hopeless) + 1):
        for site in hopeless:
            if left > 0:
                left -= 1
                yield f"{site.root}/u{number}"


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("count", [50_000, 1_000_000])
def test_a_large_crawl_moves(tmp_path: Path, postgres_url: str, count: int) -> None:
    clock = Watch()
    moved = half_done(tmp_path, count)
    clock.lap("half of it on SQLite")
    stayed = tmp_path / "stayed"
    shutil.copytree(moved.root, stayed)
    with SimWeb(SPEC, tmp_path / "log-2") as web:
        other = Crawl(web, stayed, DELAY, *FLAGS, "--moved")
        assert other.run(resume=True, timeout=1800) == 0
        expected = sqlite_pages(other)
    clock.lap("the rest on SQLite")
    kill_a_move(moved, postgres_url)
    done = run_move(moved, postgres_url)
    assert done.wait() == 0
    clock.lap("the move, killed once")
    print((moved.root / "move.log").read_text())
    compare_tables(moved, postgres_url)
    with SimWeb(SPEC, tmp_path / "log-3") as web:
        node = Crawl(web, moved.root, DELAY, "--store", postgres_url, *FLAGS)
        assert node.run(resume=True, timeout=1800) == 0, node.log.read_text()[-2000:]
        report = check([*read_log(tmp_path / "log-1"), *web.log()], web.world, DELAY)
        assert report.ok, report.text()
    clock.lap("the rest on PostgreSQL")
    found = postgres_pages(postgres_url)
    assert found == expected
    assert len(found) >= count
    print(f"{len(found):,} URLs done, the same on both")


def half_done(root: Path, count: int) -> Crawl:
    """A crawl on SQLite, stopped when about half of its URLs are done."""
    folder = root / "moved"
    folder.mkdir()
    with SimWeb(SPEC, root / "log-1") as web:
        crawl = Crawl(web, folder, DELAY, *FLAGS)
        with crawl.seeds.open("w") as file:
            file.writelines(f"{line}\n" for line in many(web.world, count))
        process = crawl.start()
        wait_for(lambda: done_rows(crawl) > count // 2, 1800)
        process.send_signal(signal.SIGINT)
        assert process.wait(120) == 3
    rows = done_rows(crawl)
    print(f"\nstopped with {rows:,} of {count:,} done")
    assert rows < 0.95 * count
    return crawl


def done_rows(crawl: Crawl) -> int:
    time.sleep(0.5)
    try:
        return int(str(crawl.rows("SELECT max(id) FROM pages")[0][0] or 0))
    except sqlite3.Error:
        return 0


def sqlite_pages(crawl: Crawl) -> set[tuple[object, ...]]:
    return set(crawl.rows("SELECT url, outcome, status FROM pages"))


def postgres_pages(url: str) -> set[tuple[object, ...]]:
    with psycopg.connect(url) as db:
        return set(db.execute("SELECT url, outcome, status FROM pages").fetchall())


def run_move(crawl: Crawl, store: str) -> subprocess.Popen[bytes]:
    words = ["migrate", "--from", str(crawl.data), "--to", store]
    with (crawl.root / "move.log").open("wb") as log:
        return subprocess.Popen([sys.executable, "-m", "lycosa", *words], stdout=log, stderr=log)


def kill_a_move(crawl: Crawl, store: str) -> None:
    """In the middle of the largest table."""
    process = run_move(crawl, store)
    wait_for(lambda: begun(store, "migrate:log") or process.poll() is not None, 600)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL


def begun(store: str, key: str) -> bool:
    with psycopg.connect(store) as db:
        if not db.execute("SELECT to_regclass('crawl')").fetchall()[0][0]:
            return False
        return bool(db.execute("SELECT 1 FROM crawl WHERE key = %s", (key,)).fetchall())


def compare_tables(crawl: Crawl, store: str) -> None:
    """Once more, not by the program itself."""
    source = crawl.data / "crawl.sqlite.migrated"
    with closing(sqlite3.connect(source)) as old, psycopg.connect(store) as new:
        for table in ("domains", "origins", "log", "pages", "segments"):
            query = f"SELECT count(*) FROM {table}"
            here, there = old.execute(query).fetchone()[0], new.execute(query).fetchone()
            print(f"{table}: {here:,}")
            assert there == (here,), table
        here_logs, there_logs = logs_in(old), logs_in(new)
        assert here_logs.keys() == there_logs.keys()
        for ident in list(here_logs)[:10_000]:
            assert queue_of(here_logs[ident]) == queue_of(there_logs[ident])


def queue_of(log: DomainLog) -> list[tuple[object, ...]]:
    return [(url.fp, url.url, url.depth, url.attempts) for url in log.queued()]


class Watch:
    def __init__(self) -> None:
        self._since = time.monotonic()

    def lap(self, what: str) -> None:
        now = time.monotonic()
        print(f"{what}: {now - self._since:.0f} s")
        self._since = now
