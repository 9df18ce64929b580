"""Ten minutes at full speed on a web with the shape of the real one, two engines on SQLite.

    python bench/full_speed.py                    # http; 4 to 8 minutes before the ten that count
    python bench/full_speed.py --scheme https --dir /var/tmp
    python bench/full_speed.py --quick            # a few seconds, figures mean nothing

The web is that of bench/crawl.py: 100 links a page, two domains of three are seeds, the others are
found. Its sites are eight times as large (--site): those of bench/crawl.py are meant for four
visits each, a page of theirs brings 47 new links in the third minute and 7 in the twelfth, and the
crawl becomes a sixth faster meanwhile. There are so many sites that politeness never limits the
speed. A crawl visits all its seeds once before it visits any of them again, and first visits bring
more new links than later ones; so the minutes whose speed is compared begin when each seed could
have been visited, or after --warm minutes. Lag and SQLite's log of the minutes before, in which the
seeds are loaded, are told but not judged; turns are judged from the beginning.

Prints a line a minute, then a verdict on each thing that is wanted; the exit code is 1 if one of
them is missed. 'new': links a page that nobody knew; they fall slowly, as in every crawl of a web
that ends. A page leaves some 2 KB of text and 2 KB of frontier in --dir.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from lycosa.simweb.check import Report
from measure import runs
from measure.minutes import Minute, Wanted, audit, crawling, judged, polite
from measure.runs import Job

VISITS = 50  # pages for each seed that the crawl may fetch: more than it can
LINKS = 100  # of a page
SITE = 400  # pages of the smallest site; the median is 700
FLAT = 10.0  # per cent of the median by which a minute may differ
LAG, TURN, LOG = 3.0, 250.0, 100.0  # seconds, ms, MB
HEADER = (
    "  min  pages/s   pages    new  us/page  engine MB  lag s  log MB"
    "  turns CPU p99.9/max ms  wall p99.9/max  excused  ref ms  limit"
)


def show(number: int, before: Minute, now: Minute, counts: bool) -> None:
    pages = max(1, now.pages - before.pages)
    cpu, wall = now.loop["cpu"], now.loop["wall"]
    print(f"  {number:3}{'*' if counts else ' '} {rate(before, now):7.0f} {now.pages:8,}"
          f" {(now.urls - before.urls) / pages:6.1f}"
          f" {(now.cpu - before.cpu) * 1e6 / pages:8.0f} {now.rss_mb:10.0f} {now.lag_s:6.2f}"
          f" {now.log_mb:7.0f} {cpu['p999_ms']:16.0f} / {cpu['max_ms']:4.0f}"
          f" {wall['p999_ms']:8.0f} / {wall['max_ms']:4.0f} {now.loop['excused']['turns']:8}"
          f" {runs.reference_ms():7.0f}  {now.limit}", flush=True)  # fmt: skip


def rate(before: Minute, now: Minute) -> float:
    return (now.pages - before.pages) / now.seconds


def spread(rates: list[float]) -> float:
    """By how many per cent of the median the minute differs that differs most."""
    middle = statistics.median(rates)
    return max(abs(each - middle) for each in rates) / max(middle, 0.001) * 100


def watched(args: argparse.Namespace, root: Path, job: Job) -> tuple[list[Minute], int, Report]:
    """All minutes, the first being empty; which is the last before those that count; and what the
    web says."""
    minutes, warm = [Minute()], 0
    spec = replace(job.world, pages=args.site)
    with crawling(job, root, (args.warm + args.minutes) * args.minute, spec) as (web, watch):
        print(HEADER, flush=True)
        until = time.monotonic()
        while not warm or len(minutes) <= warm + args.minutes:
            until += args.minute
            minutes.append(watch.minute(until))
            show(len(minutes) - 1, minutes[-2], minutes[-1], bool(warm))
            if not warm and (minutes[-1].pages >= job.seeds or len(minutes) > args.warm):
                warm = len(minutes) - 1
    return minutes, warm, web.check(args.delay)


def verdict(rates: list[float], minutes: list[Minute], more: Iterable[Wanted]) -> bool:
    """Of the minutes that count."""
    last = minutes[-1].loop
    polite_minutes = sum("politeness" in each.limit for each in minutes)
    met = judged([
        Wanted("pages/s of a minute, off the median", spread(rates), FLAT, "%"),
        Wanted("lag of the store, the worst", max(each.lag_s for each in minutes), LAG, "s"),
        Wanted("turns, wall time, the longest not excused", last["wall"]["max_ms"], TURN, "ms"),
        Wanted("turns, CPU, the longest", last["cpu"]["max_ms"], TURN, "ms"),
        Wanted("SQLite's log, the longest", max(each.log_mb for each in minutes), LOG, "MB"),
        Wanted("minutes that politeness limits", polite_minutes, 0),
        *more,
    ])  # fmt: skip
    third = max(1, len(rates) // 3)
    first, end = statistics.mean(rates[:third]), statistics.mean(rates[-third:])
    print(f"pages/s in the minutes that count: median {statistics.median(rates):.0f}, "
          f"{min(rates):.0f} to {max(rates):.0f}; last third / first third {end / first:.3f}; "
          f"{last['excused']['turns']} long turns while the control process was late, too",
          )  # fmt: skip
    return met


def full_speed(args: argparse.Namespace) -> bool:
    job = Job(
        https=args.scheme == "https", size=args.size * 1000, links=LINKS, visits=VISITS,
        pages=args.hosts * VISITS, engines=args.engines, workers=args.workers, delay=args.delay,
        servers=args.servers,
    )  # fmt: skip
    print(f"{args.scheme}, {args.size} KB, real shape, {job.seeds:,} seeds of "
          f"{job.world.domains:,} domains of {args.site:,} pages and more at {args.delay:g} s, "
          f"{args.engines} engines, {args.workers} in flight at most; ceiling "
          f"{args.hosts / args.delay:,.0f} pages/s at least; TLS verification: off (default)",
          )  # fmt: skip
    if args.dir:
        args.dir.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="lycosa-speed-", dir=args.dir) as name:
        root = Path(name)
        minutes, warm, report = watched(args, root, job)
        pairs = list(zip(minutes[warm:], minutes[warm + 1 :], strict=False))
        rates = [rate(before, now) for before, now in pairs]
        once = "yes" if minutes[warm].pages >= job.seeds else "no"
        print(f"* counts; each seed could have been visited before: {once}")
        met = verdict(rates, minutes[warm + 1 :], polite(report, audit(root)))
        before = minutes[1 : warm + 1]
        print(f"in the minutes before: store {max(each.lag_s for each in before):.1f} s behind at "
              f"the worst, log up to {max(each.log_mb for each in before):.0f} MB")  # fmt: skip
        print(f"{report.visits:,} visits to {report.domains:,} domains")
    return met


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=int, default=10, help="that count")
    parser.add_argument("--warm", type=int, default=8, help="minutes before them, at most")
    parser.add_argument("--hosts", type=int, default=200_000, help="seeds")
    parser.add_argument("--site", type=int, default=SITE, help="pages of the smallest site")
    parser.add_argument("--scheme", choices=("http", "https"), default="http")
    parser.add_argument("--size", type=int, default=80, help="KB of HTML")
    parser.add_argument("--engines", type=int, default=2)
    parser.add_argument("--delay", type=float, default=70.0)
    parser.add_argument("--workers", type=int, default=1000, help="in flight, of all engines")
    parser.add_argument("--servers", type=int, default=1, help="processes of the simulated web")
    parser.add_argument("--dir", type=Path, help="where the crawl is kept while it runs")
    parser.add_argument("--minute", type=float, default=60.0, help=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    if args.quick:
        args.minutes, args.minute, args.warm = 2, 3.0, 1
        args.hosts, args.delay, args.workers = 60, 0.5, 60
    runs.raise_file_limit()
    met = full_speed(args)
    return 0 if met or args.quick else 1


if __name__ == "__main__":
    sys.exit(main())
