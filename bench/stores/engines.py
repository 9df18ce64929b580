"""The real program on a filled server: connections, transactions a second, the longest transaction.

The filled domains are not due for days, so the crawl carries them in tables and indexes and does
not visit them. It visits the domains of a simulated web, which answer so slowly that as many
fetches are under way as are allowed.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from lycosa.frontier.protocol import StoreRules, open_frontier
from lycosa.simweb.serve import SimWeb
from lycosa.simweb.spec import WorldSpec
from stores.server import Server
from stores.turns import Plan
from stores.world import FINISHED, Load, Site, kind_of

TEN_DAYS_MS = 864_000_000
AT_ONCE = 10_000  # domains postponed
SESSIONS = """
SELECT pid, coalesce(extract(epoch FROM clock_timestamp() - xact_start), 0)::float8
FROM pg_stat_activity WHERE application_name LIKE 'lycosa%'
"""
COUNTS = """
SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()
"""
EVERY = 0.1  # seconds until the server is looked at again


@dataclass
class Seen:
    """What was seen of the server, one entry each time."""

    sessions: list[int] = field(default_factory=list)
    transactions: list[float] = field(default_factory=list)  # age of each that was under way
    rates: list[float] = field(default_factory=list)  # transactions a second, ours taken off
    flying: list[int] = field(default_factory=list)  # connections to the simulated web


def measure(server: Server, plan: Plan, seconds: float, engines: int, workers: int) -> str:
    store = open_frontier(server.url, Path(), StoreRules(), lambda: 0)
    load, until = Load(plan.urls), store.now_ms() + TEN_DAYS_MS
    due = [(Site(d).ident, until) for d in range(load.domains) if kind_of(d) != FINISHED]
    for at in range(0, len(due), AT_ONCE):
        store.postpone(due[at : at + AT_ONCE])
    before = store.totals()[0]
    latency = 8.0 if workers > 1000 else 0.2
    spec = WorldSpec(
        seed=1, domains=4 * workers, pages=20, page_bytes=20_000, links=60, https=0.0,
        out_links=0.05, plain=True, latency_ms=latency * 1000,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        with SimWeb(spec, root / "log", processes=1) as web:
            (root / "seeds.txt").write_text("".join(f"http://{s}/\n" for s in web.seeds()))
            words = [
                "crawl", root / "seeds.txt", "--email", "bench@lycosa.example",
                "--data-dir", root / "data", "--store", server.url, "--delay", 1, "--ip-delay", 0,
                "--engines", engines, "--max-workers", workers, "--allow-private-addresses",
                "--nameserver", web.nameserver, "--port-map", web.port_map, "--no-view",
                "--no-dashboard", "--log-level", "warning", "--max-duration", seconds,
            ]  # fmt: skip
            command = [sys.executable, "-m", "lycosa", *map(str, words)]
            crawl = subprocess.Popen(command, stdout=subprocess.DEVNULL)
            found = watch(server, crawl, web.http_port)
        pages = store.totals()[0] - before
        store.close()
    assert crawl.returncode == 0, "the crawl failed"
    return told(found, engines, workers, pages / seconds)


def watch(server: Server, crawl: subprocess.Popen[bytes], port: int) -> Seen:
    """Look at the server until the crawl has ended."""
    seen, looks = Seen(), 0
    with psycopg.connect(server.url, autocommit=True) as db:
        last, when = db.execute(COUNTS).fetchall()[0][0], time.monotonic()
        while crawl.poll() is None:
            time.sleep(EVERY)
            looks += 1
            rows = db.execute(SESSIONS).fetchall()
            seen.sessions.append(len(rows))
            seen.transactions += [age for _, age in rows if age]
            if time.monotonic() - when >= 5:
                count, now = db.execute(COUNTS).fetchall()[0][0], time.monotonic()
                seen.rates.append((count - last - looks - 1) / (now - when))
                last, when, looks = count, now, 0
                seen.flying.append(_connections(port))
    return seen


def told(found: Seen, engines: int, workers: int, rate: float) -> str:
    busy = sorted(found.rates[1:] or found.rates or [0.0])
    return (
        f"  {engines} engines, {workers} fetches at once allowed, up to "
        f"{max(found.flying, default=0)} connections to sites open, {rate:.0f} pages/s\n"
        f"  sessions: {max(found.sessions)} at most, {_middle(found.sessions)} usually\n"
        f"  transactions a second: {busy[len(busy) // 2]:.1f} (most in 5 s: {busy[-1]:.1f})\n"
        f"  longest transaction seen: {max(found.transactions, default=0) * 1000:.0f} ms; "
        f"{len(found.transactions)} seen under way in {len(found.sessions)} looks"
    )


def _middle(values: list[int]) -> int:
    return sorted(values)[len(values) // 2]


def _connections(port: int) -> int:
    """Established connections from here to a port."""
    suffix = f":{port:04X}"
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    return sum(1 for line in lines if line.split()[2].endswith(suffix) and line.split()[3] == "01")
