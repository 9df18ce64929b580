"""Measures what the frontier costs per page, on stores that hold millions of queued URLs.

    python bench/frontier.py                          # both stores, 1 M URLs in 1 M domains
    python bench/frontier.py --store postgres --urls 1000000 10000000 40000000
    python bench/frontier.py --crawl --store postgres --urls 10000000 --seconds 90
    python bench/frontier.py --part leases            # a lease and a release, and nothing else
    python bench/frontier.py --quick                  # a few seconds, figures mean nothing

The stores are filled by SQL, then driven through the verbs that an engine uses, in its pattern:
lease domains, commit a page of each with 60 links (5 of them new), give most domains back, refill
the others. Every domain is given back after a visit or two, as when more domains wait than an
engine holds: per page that is the dearest case. The time to make up the pages is not counted.

With --dir the filled stores are kept; --fill ends after filling, so that filling and measuring can
be done apart. With --crawl two engines of the real program work on a filled server, and the server
is watched. PostgreSQL comes from the wheel that the tests use.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from lycosa.records import Lease, QueuedUrl
from stores import ancestor, engines
from stores.stores import Filled, FilledPostgres, FilledSqlite
from stores.world import Pages

T = TypeVar("T")
BATCH = 500
KEPT = 100  # domains of a batch that are visited once more before they are given back
VISITED = 75_000  # domains with URLs that are done; no measurement visits more


@dataclass
class Cost:
    """What a run of batches took."""

    pages: int = 0
    handed: int = 0  # URLs that leases brought
    seconds: float = 0.0
    client: float = 0.0  # seconds of CPU
    server: float = 0.0
    backend: float = 0.0
    written: int = 0
    times: dict[str, list[float]] = field(default_factory=dict)
    cpu: dict[str, float] = field(default_factory=dict)  # seconds of the client's, by verb

    def ms(self, verb: str, part: float) -> float:
        found = sorted(self.times.get(verb, [0.0]))
        return found[min(len(found) - 1, int(len(found) * part))] * 1000


class Driver:
    """An engine without a network."""

    def __init__(self, filled: Filled, pages: Pages, batch: int) -> None:
        self.filled, self.pages, self.batch = filled, pages, batch
        self.store: Any = filled.open()
        self.engine_id = self.store.register("bench", os.getpid(), "bench", "/bench")
        self.kept: list[tuple[Lease, QueuedUrl]] = []
        self.cost = Cost()

    def run(self, seconds: float, most: int) -> Cost:
        """Commits batches until the time is over, at most so many."""
        self.cost = cost = Cost()
        server, backend = self.filled.server_cpu(), self.filled.backend_cpu(self.store)
        written, begin = self.filled.written(), time.monotonic()
        for _ in range(most):
            self.round()
            if time.monotonic() - begin > seconds:
                break
        cost.seconds = time.monotonic() - begin
        cost.server = self.filled.server_cpu() - server
        cost.backend = self.filled.backend_cpu(self.store) - backend
        cost.written = self.filled.written() - written
        return cost

    def round(self) -> None:
        visits = self.kept
        leases = self.timed("lease", self.store.lease, self.engine_id, self.batch - len(visits))
        self.cost.handed += sum(len(lease.urls) for lease in leases)
        visits = visits + [(lease, lease.urls[0]) for lease in leases if lease.urls]
        keep = {lease.domain_id: lease for lease in leases[: self.batch // 5] if lease.urls}
        batch = self.pages.batch(visits, set(keep), self.store.now_ms())
        self.timed("commit", self.store.commit, self.engine_id, batch)
        self.cost.pages += len(batch.pages) or len(batch.released)
        runs = self.timed("refill", self.store.refill, list(keep))
        self.kept = [(keep[ident], urls[0]) for ident, urls in runs.items() if urls]

    def timed(self, verb: str, call: Callable[..., T], *args: Any) -> T:
        begin, cpu = time.perf_counter(), time.process_time()
        result = call(*args)
        used = time.process_time() - cpu
        self.cost.client += used
        self.cost.cpu[verb] = self.cost.cpu.get(verb, 0.0) + used
        self.cost.times.setdefault(verb, []).append(time.perf_counter() - begin)
        return result

    def close(self) -> None:
        self.store.close()


def show(label: str, cost: Cost) -> None:
    per = 1e6 / max(1, cost.pages)
    handed = cost.handed / max(1, len(cost.times.get("lease", ())))
    lease, commit = (cost.cpu.get(verb, 0.0) * per for verb in ("lease", "commit"))
    print(
        f"  {label:<34} lease {cost.ms('lease', 0.5):6.1f} /{cost.ms('lease', 0.99):6.1f} ms"
        f" ({handed:.0f} URLs)"
        f"  commit {cost.ms('commit', 0.5):6.1f} /{cost.ms('commit', 0.99):6.1f} ms"
        f"  server {cost.server * per:5.0f} ({cost.backend * per:.0f}) us"
        f"  client {cost.client * per:5.0f} us (lease {lease:.0f}, commit {commit:.0f})"
        f"  written {cost.written / max(1, cost.pages):6.0f} B"
        f"  {cost.pages / cost.seconds:6.0f} pages/s ({cost.pages} pages)",
        flush=True,
    )


def opened(kind: str, root: Path, urls: int) -> Filled:
    folder = root / f"{kind}-{urls}"
    return FilledPostgres(folder) if kind == "postgres" else FilledSqlite(folder)


def fill(filled: Filled, args: argparse.Namespace, urls: int) -> None:
    if filled.exists():
        return
    begin = time.monotonic()
    size = filled.fill(urls, args.domains, min(VISITED, args.domains // 2))
    print(f"  {size:.0f} bytes per URL; filled in {time.monotonic() - begin:.0f} s", flush=True)


def measure(filled: Filled, args: argparse.Namespace, urls: int) -> None:
    """Measures it with warm caches, without page images in the log, and with cold caches."""
    if isinstance(filled, FilledPostgres):
        print(f"  {filled.server.settings()}")
    most = VISITED // args.batch // 3
    seed = time.time_ns()  # links that one run found are not new to the next
    pages = Pages(urls, args.domains, seed, args.part)
    filled.calm(min(VISITED, args.domains // 2))
    driver = Driver(filled, pages, args.batch)
    driver.run(args.seconds / 4, most // 4)
    warm = driver.run(args.seconds, most)
    show("warm", warm)
    if isinstance(filled, FilledPostgres):
        filled.server.set("full_page_writes", "off")
        time.sleep(0.5)
        show("warm, no page images in the log", driver.run(args.seconds / 2, most // 4))
        filled.server.set("full_page_writes", "on")
    driver.close()
    how = filled.chill(whole=not args.quick)
    driver = Driver(filled, Pages(urls, args.domains, seed + 1, args.part), args.batch)
    show(f"cold ({how})", driver.run(args.seconds / 2, most // 4))
    driver.close()
    if isinstance(filled, FilledPostgres) and not args.no_ancestor:
        ours = warm.server * 1e6 / max(1, warm.pages)
        for name, (first, last, count) in ancestor.measure(filled.server, args.seconds / 2).items():
            print(
                f"  {name:<34} server {first:.0f} -> {last:.0f} us per claim ({count} claims): "
                f"{last / ours:.1f} times a page of ours",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", choices=("sqlite", "postgres", "both"), default="both")
    parser.add_argument("--urls", type=int, nargs="+", default=[1_000_000])
    parser.add_argument("--domains", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--batch", type=int, default=BATCH, help="pages per commit")
    parser.add_argument("--dir", type=Path, help="keep the filled stores here")
    parser.add_argument("--fill", action="store_true", help="only fill")
    parser.add_argument("--crawl", action="store_true", help="run the real program on PostgreSQL")
    parser.add_argument("--workers", type=int, default=5000, help="fetches at once, with --crawl")
    parser.add_argument("--part", choices=("all", "visits", "leases"), default="all",
                        help="visits: pages without links; leases: no pages either")  # fmt: skip
    parser.add_argument("--no-ancestor", action="store_true")
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    if args.quick:
        args.urls, args.domains, args.seconds, args.batch = [5_000], 1_000, 0.5, 50
    root = args.dir or Path(tempfile.mkdtemp(prefix="lycosa-bench-"))
    try:
        for urls in args.urls:
            for kind in ("sqlite", "postgres") if args.store == "both" else (args.store,):
                print(f"{kind}, {urls:,} URLs in {args.domains:,} domains", flush=True)
                filled = opened(kind, root, urls)
                try:
                    fill(filled, args, urls)
                    if args.crawl and isinstance(filled, FilledPostgres):
                        print(engines.measure(filled.server, args.seconds, 2, args.workers))
                    elif not args.fill:
                        measure(filled, args, urls)
                finally:
                    filled.stop()
    finally:
        if args.dir is None:
            shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    main()
