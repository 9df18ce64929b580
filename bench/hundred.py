"""Simulates a hundred engines in virtual time on the real store, and checks every invariant.

    python bench/hundred.py                                 # 100 engines, 1 M domains, 3 rounds
    python bench/hundred.py --store postgres --domains 100000
    python bench/hundred.py --engines 20 --domains 20000 --seed 7
    python bench/hundred.py --quick                         # a few seconds

Engines, sites and time are simulated (`virtual/`), the store is the real one: each engine has a
connection and a number of its own, leases, commits, refills and renews through the verbs of
`frontier.protocol`. Every few seconds of virtual time one is killed (before or after its commit, or
with a lease that it never heard of), stopped or cut off for longer than its lease, lost with its
node, or leaves in order; outcomes of commits are lost; pages that failed are asked for again; seeds
come while engines work. A witness that knows nothing of the store checks each visit and commit:

    P1  the pause between two visits of a domain, whoever makes them; sites may ask for a longer one
    P2  a domain is held by one engine and has exactly one token; the dead can't write
    F1  a URL is queued or done: none lost, none done twice, none handed out that is not queued
        the store says that the crawl is finished when nothing is left, and not before

After every round (as many visits as there are domains) and at the end it compares the whole store
with what it saw. The last line is the verdict; the exit code is 1 if anything was violated.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from stores.server import Server
from virtual.crawl import START_MS, Crawl, Plan

SHOW_EVERY = 30.0  # seconds
EXTRA_SESSIONS = 20


def show_progress(begin: float) -> Callable[[Crawl], None]:
    """A line now and then."""
    last = [begin]

    def report(crawl: Crawl) -> None:
        now = time.monotonic()
        if now - last[0] >= SHOW_EVERY:
            last[0] = now
            witness = crawl.witness
            print(
                f"  {now - begin:5.0f} s: virtual {(crawl.now_ms - START_MS) / 1000:6.1f} s,"
                f" {witness.visits:,} visits, {witness.queued:,} queued, {witness.held:,} held",
                flush=True,
            )

    return report


def show(crawl: Crawl, seconds: float, size: int) -> None:
    witness, clock, visits = crawl.witness, crawl.clock, max(1, crawl.witness.visits)
    virtual = (crawl.now_ms - START_MS) / 1000
    print(
        f"  {visits:,} visits in {virtual:,.0f} s of virtual time; each domain"
        f" {min(witness.visited)} to {max(witness.visited)} times; shortest pause"
        f" {witness.shortest_ms / 1000:.3f} s"
    )
    print(f"  {witness.done:,} URLs done, {witness.queued:,} left; {witness.checks:,} checks")
    engines = crawl.counts.pop("engines")
    counts = ", ".join(f"{count:,} {name}" for name, count in sorted(crawl.counts.items()))
    print(f"  {engines:,} engines in all: {counts}")
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(
        f"  store: {clock.wall() * 1e6 / visits:.0f} us a visit by the clock,"
        f" {clock.cpu * 1e6 / visits:.0f} us of CPU; everything {seconds * 1e6 / visits:.0f} us"
        f" ({seconds:.0f} s, {used.ru_utime + used.ru_stime:.0f} s of CPU);"
        f" {size / (1 << 20):,.0f} MB on disk,"
        f" {used.ru_maxrss >> 10} MB of memory"
    )
    for verb, times in sorted(clock.times.items()):
        ordered = sorted(times)
        at99 = ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]
        print(
            f"  {verb:9} {len(ordered):9,} calls, median {ordered[len(ordered) // 2] * 1000:7.2f},"
            f" p99 {at99 * 1000:7.2f}, longest {ordered[-1] * 1000:7.1f} ms"
        )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--engines", type=int, default=Plan.engines)
    parser.add_argument("--domains", type=int, default=Plan.domains)
    parser.add_argument("--rounds", type=int, default=Plan.rounds, help="visits of each domain")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--known", type=int, default=Plan.known, help="links of a page to any")
    parser.add_argument("--fault-seconds", type=float, default=5.0, help="between two; 0: none")
    parser.add_argument("--dir", type=Path, help="of the store; it is removed in the end")
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    if args.quick:
        args.engines, args.domains = 12, 1_500
    return args


def main() -> int:
    args = arguments()
    plan = Plan(
        args.engines, args.domains, args.rounds, args.seed,
        known=args.known, fault_ms=round(args.fault_seconds * 1000),
    )  # fmt: skip
    print(f"{args.store}: {plan}", flush=True)
    folder = Path(tempfile.mkdtemp(prefix="lycosa-hundred-", dir=args.dir))
    server = None
    begin = time.monotonic()
    try:
        store = "sqlite"
        if args.store == "postgres":
            server = Server(folder)
            server.set("max_connections", str(2 * plan.engines + EXTRA_SESSIONS))
            server.set("synchronous_commit", "off")  # no power cuts in virtual time
            server.restart()
            store = server.url
        crawl = Crawl(plan, folder, store)
        crawl.run(show_progress(begin))
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        show(crawl, time.monotonic() - begin, size)
    finally:
        if server is not None:
            server.stop()
        shutil.rmtree(folder, ignore_errors=True)
    violated = crawl.witness.violated
    print(f"VERDICT: {violated} violations, seed {plan.seed}")
    return 1 if violated else 0


if __name__ == "__main__":
    sys.exit(main())
