"""Many engine processes on one store at once: each URL once, each domain once, none too early."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import signal
import time
from collections import Counter
from pathlib import Path
from typing import TextIO

import pytest
from helpers import batch

from lycosa.clock import wall_now
from lycosa.errors import Fenced
from lycosa.frontier.protocol import Release, StoreRules
from lycosa.frontier.sqlite.frontier import SqliteFrontier
from support.made import link, page_of

DELAY_MS = 200
RULES = StoreRules(delay_ms=DELAY_MS, lease_ms=1500, run_urls=4)


def crowd(path: Path, log: Path, number: int) -> None:
    """One engine: leases, 'visits' one URL of each domain, commits, until nothing is left."""
    store = SqliteFrontier(path, RULES, wall_now)
    engine_id = store.register("test", os.getpid())
    with log.open("a", buffering=1) as out:
        for count in range(1, 100_000):
            if store.finished():
                return
            store.rescue()
            try:
                visit(store, engine_id, count, out)
            except Fenced:
                engine_id = store.register("test", os.getpid())


def visit(store: SqliteFrontier, engine_id: int, count: int, out: TextIO) -> None:
    leases = store.lease(engine_id, 10)
    pages, back = [], []
    for lease in leases:
        start = store.now_ms()
        assert lease.ready_ms <= start
        url = lease.urls[0]
        line = {"url": url.url, "domain": lease.name, "at": start, "pid": os.getpid()}
        out.write(json.dumps(line) + "\n")
        pages.append(page_of(url))
        back.append(Release(lease.domain_id, store.now_ms() + DELAY_MS))
    if not leases:
        time.sleep(0.01)
    store.commit(engine_id, batch(count, pages=pages, released=back))


def run_crowd(root: Path, seed: int, processes: int, domains: int, urls: int, kills: int) -> None:
    print(f"seed {seed}")
    chance = random.Random(seed)
    path, log = root / "crawl.sqlite", root / "log"
    log.mkdir()
    store = SqliteFrontier(path, RULES, wall_now, create=True)
    store.add([link(url) for url in skewed(chance, domains, urls)])
    context = multiprocessing.get_context("spawn")
    children = [
        context.Process(target=crowd, args=(path, log / str(n), n)) for n in range(processes)
    ]
    for child in children:
        child.start()
    for child in chance.sample(children, kills):
        time.sleep(chance.uniform(0.05, 0.3))
        os.kill(child.pid or 0, signal.SIGKILL)
    for child in children:
        child.join(120)
    codes = Counter(child.exitcode for child in children)
    assert codes[0] >= processes - kills, codes
    check(store, log, urls)


def skewed(chance: random.Random, domains: int, urls: int) -> list[str]:
    """80 % of the URLs belong to few domains."""
    few = max(1, domains // 20)
    return [
        f"https://d{chance.randrange(few) if n % 5 else chance.randrange(domains)}.test/{n}"
        for n in range(urls)
    ]


def check(store: SqliteFrontier, log: Path, urls: int) -> None:
    visits = [json.loads(line) for file in log.iterdir() for line in file.read_text().splitlines()]
    done = store.db.execute("SELECT count(*), count(DISTINCT fp) FROM pages").fetchone()
    assert done == (urls, urls)
    assert store.backlog()[0] == 0
    # Handed out twice only where a process died between its visit and its commit.
    again = [url for url, n in Counter(v["url"] for v in visits).items() if n > 1]
    last: dict[str, int] = {}
    for each in sorted(visits, key=lambda v: v["at"]):
        gap = each["at"] - last.get(each["domain"], 0)
        assert gap >= DELAY_MS, f"{each['domain']} after {gap} ms"
        last[each["domain"]] = each["at"]
    store.close()
    print(f"{len(visits)} visits, {len(again)} of them again after a kill")


@pytest.mark.parametrize("seed", [1, 2])
def test_engines_share_one_store(tmp_path: Path, seed: int) -> None:
    """'database is locked' and double claims would show here."""
    run_crowd(tmp_path, seed, processes=6, domains=300, urls=900, kills=2)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(10, 15))
def test_a_crowd_of_engines_shares_one_store(tmp_path: Path, seed: int) -> None:
    run_crowd(tmp_path, seed, processes=24, domains=1000, urls=4000, kills=8)
