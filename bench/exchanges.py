"""Measures what an engine costs a PostgreSQL server beside its pages: its sessions, its exchanges.

    python bench/exchanges.py                               # 300 sessions, a minute or two
    python bench/exchanges.py --engines 1 100 1000 --urls 1000000 --dir /var/tmp
    python bench/exchanges.py --quick                       # a few seconds, figures mean nothing

Every engine has a session and exchanges once a second, whether it has much to tell or little. So
many engines make small batches, and what an exchange costs without any page counts: the commit of
an empty batch (which renews the lease), a look without a write, a lease. Engines take turns here;
each turn is the commit of a batch of so many pages and the lease of as many domains. A batch of no
pages is a renewal. `bench/thousand.py` computes with these figures.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from lycosa.frontier.postgres.frontier import PostgresFrontier
from lycosa.frontier.protocol import Batch, StoreRules
from measure.runs import reference_ms
from stores.fill import Filler
from stores.server import Server
from stores.world import SMALLEST, Load, Pages

LOOKS = 1500  # without a write, of all engines together
MOST_PAGES = 10_000  # of a row of the table
TURNS = 10  # of each engine that takes turns, at least
ACTIVE = 30  # of the engines take turns, the others have a session and rest
WARM = 7  # exchanges before: a session plans a statement anew until it was used five times


class Session:
    """An engine with a connection of its own."""

    def __init__(self, url: str, load: Load, number: int) -> None:
        self.store: Any = PostgresFrontier(url, StoreRules())
        self._id = self.store.register("bench", number, "bench", "/bench")
        self._pages = Pages(load, number, 29)
        self._number = 0
        self._leases: list[Any] = []

    def exchange(self, domains: int) -> tuple[int, float]:
        """Commit a page of each domain that it holds and give it back, then lease so many; returns
        the pages, and the CPU of this side."""
        visits = [(each, each.urls[0]) for each in self._leases if each.urls]
        batch = self._pages.batch(visits, set(), self.store.now_ms()) if visits else Batch()
        self._number += 1
        batch.number = self._number
        done, begin = len(batch.pages), time.process_time()
        self.store.commit(self._id, batch)
        self._leases = self.store.lease(self._id, domains) if domains else []
        return done, time.process_time() - begin


def measured(server: Server, sessions: list[Session], pages: int) -> str:
    """One row: engines, pages a batch, and what an exchange took."""
    active = sessions[-ACTIVE:]
    turns = max(TURNS * len(active), MOST_PAGES // max(20, pages))
    for session in active:
        session.exchange(pages)
    cpu, wal, client, done = server.cpu(), server.wal(), 0.0, 0
    for turn in range(turns):
        made, took = active[turn % len(active)].exchange(pages)
        client, done = client + took, done + made
    spent, logged = server.cpu() - cpu, server.wal() - wal
    for session in active:
        session.exchange(0)
    a_page = f"{spent / done * 1e6:8.0f}" if done else f"{'–':>8}"
    return (
        f"  {len(sessions):7,} {pages:6} {done / turns:8.1f} {spent / turns * 1e6:9.0f}"
        f" {a_page} {client / turns * 1e6:9.0f} {logged / turns:9,.0f}"
    )


def looks(server: Server, sessions: list[Session]) -> str:
    """What an engine without work asks every second."""
    cpu = server.cpu()
    for turn in range(LOOKS):
        session = sessions[turn % len(sessions)]
        session.store.watch()
    return f"  {len(sessions):7,}   look {0:8} {(server.cpu() - cpu) / LOOKS * 1e6:9.0f}"


def memory(server: Server, sessions: int) -> str:
    """Of all processes of the server, shared memory shared out among them."""
    total = 0
    for pid in server.processes():
        words = Path(f"/proc/{pid}/smaps_rollup").read_text().split()
        total += int(words[words.index("Private_Dirty:") + 1])
    return f"  {sessions} sessions: {total / 1024:.0f} MB of memory of their own, all processes"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engines", type=int, nargs="+", default=[1, 100, 300])
    parser.add_argument(
        "--pages", type=int, nargs="+", default=[0, 5, 20, 100, 500], help="a batch"
    )
    parser.add_argument("--urls", type=int, default=1_000_000, help="queued before")
    parser.add_argument("--dir", type=Path, help="of the server; it is removed in the end")
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    if args.quick:
        args.engines, args.pages, args.urls = [1, 4], [0, 5], 3_000
    return args


def main() -> None:
    args = arguments()
    folder = Path(tempfile.mkdtemp(prefix="lycosa-exchanges-", dir=args.dir))
    server = Server(folder)
    try:
        server.set("max_connections", str(max(args.engines) + 20))
        server.restart()
        load = Load(args.urls)
        filling = PostgresFrontier(server.url, StoreRules(run_urls=SMALLEST), create=True)
        Filler(filling, load).fill()
        queued, domains = filling.backlog()
        filling.close()
        print(f"{queued:,} URLs queued in {domains:,} domains; reference {reference_ms():.0f} ms")
        print("  engines  batch    pages  server us   a page client us log bytes (of an exchange)")
        sessions: list[Session] = []
        for count in args.engines:
            sessions += [Session(server.url, load, n) for n in range(len(sessions), count)]
            for session in sessions[-ACTIVE:]:
                for _ in range(WARM):
                    session.exchange(2)
                session.exchange(0)
            print(looks(server, sessions), flush=True)
            for pages in args.pages:
                print(measured(server, sessions, pages), flush=True)
            print(memory(server, count), flush=True)
        for session in sessions:
            session.store.close()
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
