"""Many processes on one server: nothing twice, nothing too early, nothing left, whoever dies."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from crowd import IDLE_MS, RULES, judge, longest_idle

from lycosa.frontier.postgres.frontier import PostgresFrontier
from lycosa.frontier.protocol import Link
from support.logs import logs_of, queued_in
from support.made import link

CHUNK = 10_000
CROWD = Path(__file__).with_name("crowd.py")


def links(urls: int, domains: int, seed: int) -> list[Link]:
    """80 % of the URLs in 1 % of the domains."""
    rng = random.Random(seed)
    few = max(1, domains // 100)
    made = []
    for number in range(urls):
        index = rng.randrange(few) if rng.random() < 0.8 else rng.randrange(domains)
        made.append(link(f"https://d{index}.test/{number}"))
    return made


def start(url: str, log: Path, seed: int) -> subprocess.Popen[bytes]:
    process = subprocess.Popen([sys.executable, CROWD, log, str(seed)], stdin=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(url.encode() + b"\n")
    process.stdin.close()
    return process


def run_crowd(
    url: str, root: Path, *, processes: int, urls: int, domains: int, seed: int, seconds: float
) -> None:
    rng = random.Random(seed)
    # Not in a hurry as the crowd is: a short lease also makes sessions short of patience.
    store = PostgresFrontier(url, replace(RULES, lease_ms=120_000), create=True)
    given = links(urls, domains, seed)
    chunks = (given[at : at + CHUNK] for at in range(0, urls, CHUNK))
    assert sum(store.add(chunk) for chunk in chunks) == urls
    logs = [root / f"{number}.log" for number in range(processes)]
    crowd = [start(url, log, seed * 1000 + n) for n, log in enumerate(logs)]
    victims = rng.sample(crowd, processes // 3)
    began = time.monotonic()
    end = began + seconds
    try:
        for victim in victims:
            time.sleep(rng.uniform(0.2, 0.2 + seconds / 20 / len(victims)))
            victim.kill()
        while any(process.poll() is None for process in crowd):
            assert time.monotonic() < end, store.backlog()
            time.sleep(0.1)
    finally:
        for process in crowd:
            if process.poll() is None:
                process.kill()
            process.wait()
    assert [p.returncode for p in crowd if p not in victims] == [0] * (processes - len(victims))
    written = [log for log in logs if log.exists()]
    assert judge(written, bool(victims)) == []
    idle = longest_idle(written)
    print(f"seed {seed}: {time.monotonic() - began:.0f} s, longest idle {idle} ms")
    assert idle <= IDLE_MS
    check_store(store, url, urls)
    store.close()


def check_store(store: PostgresFrontier, url: str, urls: int) -> None:
    """F1: every URL is done, once; the counts of the engines agree with the tables."""
    with psycopg.connect(url) as db:
        kept, distinct, held, asleep, damaged = db.execute(
            "SELECT (SELECT count(*) FROM pages), (SELECT count(DISTINCT fp) FROM pages),"
            " (SELECT count(*) FROM ready) + (SELECT count(*) FROM held),"
            " (SELECT count(*) FROM asleep), (SELECT count(*) FROM damaged)"
        ).fetchall()[0]
    assert (kept, distinct, held, asleep, damaged) == (urls, urls, 0, 0, 0)
    assert queued_in(store) == {}
    assert sum(log.counts().responses for log in logs_of(store).values()) == urls
    assert store.totals()[0] == urls
    assert store.backlog()[0] == 0


@pytest.mark.parametrize("seed", [1, 2])
def test_a_crowd(postgres_url: str, tmp_path: Path, seed: int) -> None:
    sizes = {"processes": 8, "urls": 6_000, "domains": 200, "seconds": 100}
    run_crowd(postgres_url, tmp_path, seed=seed, **sizes)


@pytest.mark.slow
@pytest.mark.timeout(700)
@pytest.mark.parametrize("seed", range(1, 11))
def test_a_large_crowd(postgres_url: str, tmp_path: Path, seed: int) -> None:
    sizes = {"processes": 50, "urls": 100_000, "domains": 1_000, "seconds": 600}
    run_crowd(postgres_url, tmp_path, seed=seed, **sizes)
