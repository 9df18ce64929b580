"""One long crawl, minute by minute: memory, turns of the loop, store, log, politeness.

    python bench/hour.py                    # an hour, two engines, 200,000 hosts
    python bench/hour.py --minutes 10 --hosts 50000
    python bench/hour.py --quick            # a few seconds, figures mean nothing

Prints a line a minute, and a verdict at the end: what was wanted, what was measured, met or not.
The kernel tells the memory of the larger engine, the engines report turns and lag themselves, the
simulated web and `lycosa audit` look for violations.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

from lycosa.simweb.check import Report
from measure import runs
from measure.minutes import Minute, Wanted, audit, crawling, judged, polite
from measure.runs import Job

SETTLED = 20  # minutes after which memory must hardly grow
GROWTH = 1.0  # MB a minute
MEMORY = 400.0  # MB
CPU_P999, TURN_MAX = 50.0, 250.0  # ms
HEADER = (
    "  min  pages/s   pages     MB  turns CPU p99.9/max ms  wall p99.9/max  excused"
    "  lag s  log MB  limit"
)


def show(number: int, now: Minute, before: int, seconds: float) -> None:
    cpu, wall = now.loop["cpu"], now.loop["wall"]
    print(f"  {number:3}  {(now.pages - before) / seconds:7.0f} {now.pages:8,} {now.rss_mb:6.0f}"
          f"  {cpu['p999_ms']:17.0f} / {cpu['max_ms']:4.0f} {wall['p999_ms']:7.0f} / "
          f"{wall['max_ms']:5.0f} {now.loop['excused']['turns']:8} {now.lag_s:6.1f}"
          f" {now.log_mb:7.0f}  {now.limit}", flush=True)  # fmt: skip


def growth(minutes: list[Minute]) -> float:
    """MB a minute, by the line that fits best from the settled minutes on."""
    kept = [each.rss_mb for each in minutes[SETTLED - 1 :] or minutes]
    if len(kept) < 2:
        return 0.0
    return statistics.linear_regression(range(len(kept)), kept).slope


def verdict(minutes: list[Minute], report: Report, audited: bool) -> bool:
    """Print what was wanted and what came; returns whether all of it is met."""
    last = minutes[-1].loop
    memory = max(each.rss_mb for each in minutes)
    cpu, wall = last["cpu"], last["wall"]
    met = judged([
        Wanted(f"growth from minute {SETTLED} on", growth(minutes), GROWTH, "MB/min"),
        Wanted("memory of an engine, the most", memory, MEMORY, "MB"),
        Wanted("turns, CPU, 99.9 %", cpu["p999_ms"], CPU_P999, "ms"),
        Wanted("turns, CPU, the longest", cpu["max_ms"], TURN_MAX, "ms"),
        Wanted("turns, wall time, the longest not excused", wall["max_ms"], TURN_MAX, "ms"),
        *polite(report, audited),
    ])  # fmt: skip
    print(f"turns, wall time, 99.9 %: {wall['p999_ms']:g} ms; {last['excused']['turns']} long "
          f"turns while the control process was late, too; {report.visits:,} visits to "
          f"{report.domains:,} domains")  # fmt: skip
    return met


def hour(args: argparse.Namespace) -> bool:
    print(f"{args.hosts:,} hosts at {args.delay:g} s, two engines, {args.size} KB pages, "
          f"{args.minutes} minutes")  # fmt: skip
    seconds = args.minutes * args.minute
    turns = int(seconds / args.delay) + 3
    job = Job(size=args.size * 1000, pages=args.hosts * turns, per_host=turns, engines=2,
              workers=args.workers, delay=args.delay, servers=args.servers,
              site_pages=3 * turns)  # fmt: skip
    if args.dir:
        args.dir.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="lycosa-hour-", dir=args.dir) as name:
        root = Path(name)
        minutes: list[Minute] = []
        with crawling(job, root, seconds) as (web, watch):
            print(HEADER, flush=True)
            began, pages = time.monotonic(), 0
            for number in range(1, args.minutes + 1):
                minutes.append(watch.minute(began + number * args.minute))
                show(number, minutes[-1], pages, args.minute)
                pages = minutes[-1].pages
        report = web.check(args.delay)
        return verdict(minutes, report, audit(root))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=int, default=60)
    parser.add_argument("--hosts", type=int, default=200_000)
    parser.add_argument("--size", type=int, default=20, help="KB of HTML")
    parser.add_argument("--delay", type=float, default=70.0)
    parser.add_argument("--workers", type=int, default=1000)
    parser.add_argument("--servers", type=int, default=1, help="processes of the simulated web")
    parser.add_argument("--dir", type=Path, help="where the crawl is kept while it runs")
    parser.add_argument("--minute", type=float, default=60.0, help=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    if args.quick:
        args.minutes, args.minute, args.hosts, args.delay, args.workers = 2, 4.0, 60, 0.5, 60
    runs.raise_file_limit()
    met = hour(args)
    return 0 if met or args.quick else 1


if __name__ == "__main__":
    sys.exit(main())
