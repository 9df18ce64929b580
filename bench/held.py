"""Memory of an engine with 1,000 fetches in flight that holds 10,000 domains, for an hour.

    python bench/held.py                     # http, an hour
    python bench/held.py --scheme https --minutes 20
    python bench/held.py --quick             # a few seconds, figures mean nothing

One engine, a web with the shape of the real one, and no domain in it that the engine does not
hold. Every host holds its answers for so long that the domains which are due keep 1,000 fetches
under way: 10,000 domains, each visited once in 70 + 7.5 seconds, are 970 fetches of 7.5 s at any
moment, and a few more with what a fetch takes beside. If there were more of them than 1,000, due
domains would wait for a fetch, and the engine would give others back meanwhile. Some 128 pages a
second are fetched, and the sites grow in the frontier all the time.

Prints a line a minute, then a verdict on memory, and on whether so many were really in flight and
held; the exit code is 1 if one of them is missed. Memory is the kernel's account of the engine's
process; its peak is judged.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from measure import runs
from measure.minutes import Minute, Wanted, audit, crawling, judged, polite
from measure.runs import SMALLEST_SITE, Job

LINKS = 100  # of a page
MEMORY = 250.0  # MB
ENOUGH = 0.95  # of what shall be in flight and held: domains come and go
HEADER = (
    "  min  pages/s   pages   URLs known  in flight   held  engine MB   peak  lag s  log MB  limit"
)


def show(number: int, before: Minute, now: Minute) -> None:
    print(f"  {number:3}  {(now.pages - before.pages) / now.seconds:7.0f} {now.pages:7,}"
          f" {now.urls:12,} {now.flight:10.0f} {now.held:6.0f} {now.rss_mb:10.0f}"
          f" {now.peak_mb:6.0f} {now.lag_s:6.2f} {now.log_mb:7.0f}  {now.limit}",
          flush=True)  # fmt: skip


def held(args: argparse.Namespace) -> bool:
    seconds = args.minutes * args.minute
    turns = int(seconds / args.delay) + 3
    job = Job(
        https=args.scheme == "https", size=args.size * 1000, links=LINKS, visits=turns,
        pages=args.hosts * turns, workers=args.workers, delay=args.delay, servers=args.servers,
    )  # fmt: skip
    # All domains are seeds, so that the engine holds them all; no site ends within the time.
    spec = replace(job.world, domains=args.hosts, slow=1.0, slow_seconds=args.slow,
                   pages=max(SMALLEST_SITE, turns))  # fmt: skip
    busy = min(args.workers, args.hosts * args.slow / (args.delay + args.slow))
    print(f"{args.scheme}, {args.size} KB, real shape, {args.hosts:,} domains at {args.delay:g} s "
          f"that hold each answer for {args.slow:g} s, one engine: {busy:,.0f} in flight expected; "
          "TLS verification: off (default)")  # fmt: skip
    minutes = [Minute()]
    if args.dir:
        args.dir.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="lycosa-held-", dir=args.dir) as name:
        root = Path(name)
        with crawling(job, root, seconds, spec) as (web, watch):
            print(HEADER, flush=True)
            began = time.monotonic()
            for number in range(1, args.minutes + 1):
                minutes.append(watch.minute(began + number * args.minute))
                show(number, minutes[-2], minutes[-1])
        settled = minutes[len(minutes) // 2 :]  # the second half: each host has been visited
        return judged([
            Wanted("memory of the engine, its peak", minutes[-1].peak_mb, MEMORY, "MB"),
            Wanted("memory of the engine at the end", minutes[-1].rss_mb, MEMORY, "MB"),
            Wanted("in flight, median of the second half",
                   statistics.median(each.flight for each in settled), ENOUGH * busy, least=True),
            Wanted("domains held, the same",
                   statistics.median(each.held for each in settled), ENOUGH * args.hosts,
                   least=True),
            *polite(web.check(args.delay), audit(root)),
        ])  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=int, default=60)
    parser.add_argument("--hosts", type=int, default=10_000, help="domains held")
    parser.add_argument("--scheme", choices=("http", "https"), default="http")
    parser.add_argument("--size", type=int, default=80, help="KB of HTML")
    parser.add_argument("--delay", type=float, default=70.0)
    parser.add_argument("--slow", type=float, default=7.5, help="seconds that an answer is held")
    parser.add_argument("--workers", type=int, default=1000, help="in flight")
    parser.add_argument("--servers", type=int, default=1, help="processes of the simulated web")
    parser.add_argument("--dir", type=Path, help="where the crawl is kept while it runs")
    parser.add_argument("--minute", type=float, default=60.0, help=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    if args.quick:
        args.minutes, args.minute, args.hosts, args.workers = 2, 4.0, 40, 20
        args.delay, args.slow = 1.0, 0.5
    runs.raise_file_limit()
    met = held(args)
    return 0 if met or args.quick else 1


if __name__ == "__main__":
    sys.exit(main())
