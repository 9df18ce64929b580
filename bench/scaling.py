"""Does the cost of a page stay flat, and does a polite crawl reach its ceiling?

    python bench/scaling.py engines     # two engines on one frontier and two crawls, by turns
    python bench/scaling.py engines --queued 10000000       # on a large frontier
    python bench/scaling.py engines --store postgres
    python bench/scaling.py flight      # CPU per page at 100, 1,000 and 5,000 really in flight
    python bench/scaling.py domains     # at 1,000 and at 1,000,000 known domains
    python bench/scaling.py time        # minute by minute, 30 minutes
    python bench/scaling.py polite      # 40,000 domains at 70 s on two engines, 10 minutes
    python bench/scaling.py --quick     # each of them, tiny: a minute, figures mean nothing

CPU is that of the crawler's process tree; the simulated web's is printed beside it.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

from lycosa.simweb.reqlog import Entry
from lycosa.simweb.serve import SimWeb
from measure import ballast, postgres, runs
from measure.postgres import Server
from measure.runs import Job
from measure.turns import Crawls, Figures

PARTS = ("engines", "flight", "domains", "time", "polite")
LATE = 20  # more turns, where a busy machine has not fetched the first page yet
QUICK = ("engines", "flight", "domains", "polite")  # 'time' is the same run as 'polite'


# -- two engines ------------------------------------------------------------------------------


def by_turns(
    job: Job, order: tuple[int, int], server: Server | None, args: argparse.Namespace
) -> dict[int, Figures]:
    """Two engines on one frontier and two crawls, by turns."""
    with contextlib.ExitStack() as stack:
        root = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lycosa-scaling-")))
        both = [
            stack.enter_context(Crawls(job, groups, root / str(groups), server)) for groups in order
        ]
        # Before any is started, because a supervisor replaces an engine that stands still.
        for crawls in both:
            crawls.prepare(args.queued // 10, urls=10)
        for crawls in both:
            crawls.start()
        for number in range(-args.warm, args.turns + LATE):
            if number == 0:  # all seeds are loaded
                for crawls in both:
                    crawls.forget()
            if number >= args.turns and all(crawls.pages() for crawls in both):
                break
            went = [crawls.go(args.turn) for crawls in both[:: 1 if number % 2 else -1]]
            if not all(went) and all(crawls.pages() for crawls in both):
                print("  ended before the last turn")
                break
        return {crawls.groups: crawls.figures() for crawls in both}


def engines(args: argparse.Namespace) -> None:
    job = Job(https=args.scheme == "https", pages=args.pages or 100_000, engines=2, workers=400,
              size=args.size * 1000, site_pages=1000)  # fmt: skip
    sums = {1: Figures(), 2: Figures()}
    # The one that was started first may be at a disadvantage.
    orders: list[tuple[int, int]] = [(1, 2), (2, 1)] * (args.repeats or 1)
    for order in orders:
        with runs.turn(args.lock), postgres.started(args.store == "postgres") as server:
            found = by_turns(job, order, server, args)
        for groups, figures in found.items():
            sums[groups] += figures
        print(f"  {_compared(found)}", flush=True)
    store = args.store if args.store == "sqlite" else "postgres (its server's CPU is not counted)"
    print(f"two engines on one frontier / two crawls at once, {store}, {args.queued:,} URLs "
          f"queued before, {len(orders)} runs of {args.turns} turns of {args.turn:g} s for each: "
          f"{_compared(sums)} (ratio wanted: at least 0.95)")  # fmt: skip


def _compared(found: dict[int, Figures]) -> str:
    shared, apart = found[1], found[2]
    ratio = shared.rate / max(apart.rate, 0.001)
    return (f"{shared.rate:.0f} / {apart.rate:.0f} pages/s, ratio {ratio:.3f}; "
            f"{shared.cpu_us:.0f} / {apart.cpu_us:.0f} us of CPU a page")  # fmt: skip


# -- in flight --------------------------------------------------------------------------------


def flight(args: argparse.Namespace) -> None:
    # The same pages at each level, about 250 visits a second, of two answers each that are held
    # so long that all are in flight. In turns: the speed of a machine changes by the minute.
    pages = args.pages or max(10_000, 2 * max(args.in_flight))
    costs: dict[int, list[float]] = {workers: [] for workers in args.in_flight}
    for workers in args.in_flight * (args.repeats or 3):
        job = Job(https=args.scheme == "https", size=args.size * 1000, pages=pages,
                  workers=workers, slow_seconds=workers / 500, site_pages=1000)  # fmt: skip
        with runs.turn(args.lock):
            start = runs.run(replace(job, pages=1, slow_seconds=0.0))
            most = Most()
            cost = runs.run(job, watch=most.watch)
        steady = cost.cpu_us - start.cpu_us / cost.pages
        costs[workers].append(steady)
        print(f"{workers:5} wanted, {most.flight:5} in flight: {steady:6.0f} us/page, "
              f"{cost.pages_s:4.0f} pages/s, {cost.rss_mb:4.0f} MB, "
              f"reference {cost.reference_ms:.0f} ms", flush=True)  # fmt: skip
    medians = [statistics.median(each) for each in costs.values()]
    told = " / ".join(f"{median:.0f}" for median in medians)
    ratio = max(medians) / min(medians)
    print(f"medians of {args.repeats or 3}: {told} us/page, "
          f"largest / smallest {ratio:.2f} (wanted: at most 1.15)")  # fmt: skip


@dataclass
class Most:
    """The most fetches in flight at once, as the crawl itself reports."""

    flight: int = 0

    def watch(self, process: subprocess.Popen[bytes], root: Path) -> None:
        while runs.alive(process):
            found = runs.status(root, "sqlite").get("engines", [])
            self.flight = max(self.flight, sum(each.get("in_flight", 0) for each in found))
            time.sleep(2.0)


# -- known domains ----------------------------------------------------------------------------


def domains(args: argparse.Namespace) -> None:
    costs = []
    hosts = args.hosts or 1000
    job = Job(https=args.scheme == "https", size=args.size * 1000, per_host=10, pages=10 * hosts)
    for known in args.known:
        with runs.turn(args.lock):
            cpu, pages = resumed(job, known - hosts)
        costs.append(cpu * 1e6 / pages)
        print(f"{known:9,} domains known: {costs[-1]:6.0f} us/page with start-up, {pages} pages, "
              f"reference {runs.reference_ms():.0f} ms")  # fmt: skip
    print(f"largest / smallest {max(costs) / min(costs):.2f} (wanted: at most 1.15)")


def resumed(job: Job, extra: int) -> tuple[float, int]:
    """CPU and pages of a crawl that goes on with so many more domains known than it can visit."""
    with tempfile.TemporaryDirectory(prefix="lycosa-scaling-") as name:
        root = Path(name)
        with SimWeb(job.world, root / "log", processes=job.servers) as web:
            (root / "seeds.txt").write_text("".join(runs.seeds_of(job, web)))
            words = runs.command(job, web, root, "sqlite")
            ballast.burdened(words, root, extra, urls=1)
            before = runs.status(root, "sqlite")["pages"]
            words = ballast.resumed(words, root)
            # Domains are left that are never due, so the crawl does not end by itself.
            process = subprocess.Popen([*words, "--max-pages", str(job.pages)],
                                       stdout=subprocess.DEVNULL)  # fmt: skip
            _, code, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(code)
            assert process.returncode == 0
            pages = runs.status(root, "sqlite")["pages"] - before
    return usage.ru_utime + usage.ru_stime, pages


# -- over time, and politely ------------------------------------------------------------------


@dataclass
class Minutes:
    """CPU and pages of a crawl, minute by minute."""

    length: float  # seconds
    count: int
    web: SimWeb | None = None

    def watch(self, process: subprocess.Popen[bytes], root: Path) -> list[float]:
        """Prints a line for each; returns CPU microseconds per page."""
        costs: list[float] = []
        cpu, served, pages = runs.tree_cpu(process.pid), self._served(), 0
        began = time.monotonic()
        for minute in range(1, self.count + 1):
            time.sleep(max(0.0, began + minute * self.length - time.monotonic()))
            if not runs.alive(process):
                break
            used, web = runs.tree_cpu(process.pid), self._served()
            found = runs.status(root, "sqlite")
            done = max(1, found["pages"] - pages)
            costs.append((used - cpu) * 1e6 / done)
            print(f"  {minute:3}  {done / self.length:5.0f} pages/s  {costs[-1]:6.0f} us/page  "
                  f"queued {found.get('queued', 0):9,}  "
                  f"web {(web - served) * 1e6 / done:5.0f} us  "
                  f"reference {runs.reference_ms():3.0f} ms  limit: {found.get('limit', '')}",
                  flush=True)  # fmt: skip
            cpu, served, pages = used, web, found["pages"]
        return costs

    def _served(self) -> float:
        return self.web.cpu_seconds() if self.web else 0.0


def polite(args: argparse.Namespace) -> None:
    hosts = args.hosts or 40_000
    steady(args, hosts, args.minutes or 10)


def over_time(args: argparse.Namespace) -> None:
    hosts = args.hosts or 10_000
    # Sites that are never read to their end: the frontier grows all the time.
    costs = steady(args, hosts, args.minutes or 30, site_pages=1000)
    kept = costs[1:]  # the first also starts everything up
    if kept:
        print(f"minute 2 {kept[0]:.0f} us/page, last minute {kept[-1]:.0f}: "
              f"ratio {kept[-1] / kept[0]:.2f}; minute 1 {costs[0]:.0f}")  # fmt: skip


def steady(args: argparse.Namespace, hosts: int, minutes: int, site_pages: int = 0) -> list[float]:
    """A crawl at its ceiling for so long, judged by the simulated web."""
    length, delay = args.minute, args.delay
    turns = int(minutes * length / delay) + 3
    job = Job(
        https=args.scheme == "https", size=args.size * 1000, pages=hosts * turns, per_host=turns,
        engines=2, workers=1000, delay=delay, servers=args.servers,
        site_pages=site_pages or 3 * turns,  # more than a crawl fetches of a site
    )  # fmt: skip
    print(
        f"{hosts:,} domains at {delay:g} s on {job.engines} engines, {args.scheme}, {args.size} KB "
        f"pages with {job.links} links: ceiling {hosts / delay:.0f} visits/s"
    )
    with runs.turn(args.lock), tempfile.TemporaryDirectory(prefix="lycosa-scaling-") as name:
        root = Path(name)
        with SimWeb(job.world, root / "log", processes=job.servers) as web:
            (root / "seeds.txt").write_text("".join(runs.seeds_of(job, web)))
            more = ("--max-duration", str(minutes * length + 5))
            process = subprocess.Popen(runs.command(job, web, root, "sqlite", *more),
                                       stdout=subprocess.DEVNULL)  # fmt: skip
            began = time.monotonic()
            costs = Minutes(length, minutes, web).watch(process, root)
            assert process.wait() == 0
            log, report = web.log(), web.check(delay)
    _judge(log, began, delay, hosts, minutes * length)
    print(f"violations: {len(report.violations)} {report.kinds() or ''}; "
          f"{report.visits} visits to {report.domains} domains")  # fmt: skip
    return costs


def _judge(log: list[Entry], began: float, delay: float, hosts: int, seconds: float) -> None:
    """Visits a second, from the second round on: at first all domains are due at once."""
    pages = [e.start - began for e in log if e.target != "/robots.txt"]
    first = delay + 20 if seconds > delay + 40 else 0.0
    kept = [at for at in pages if first <= at <= seconds]
    rate = len(kept) / (seconds - first)
    ceiling = hosts / delay
    print(f"visits/s from second {first:.0f} on: {rate:.1f} = {100 * rate / ceiling:.1f} % of the "
          f"ceiling {ceiling:.1f} (wanted: at least 95 %)")  # fmt: skip
    by_minute = Counter(int(at // 60) + 1 for at in pages)
    print("  per minute: " + " ".join(f"{by_minute[m] / 60:.0f}" for m in sorted(by_minute)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", nargs="*", help=", ".join(PARTS))
    parser.add_argument("--scheme", default="http")
    parser.add_argument("--size", type=int, default=80, help="KB of HTML")
    parser.add_argument("--pages", type=int, default=0)
    parser.add_argument("--hosts", type=int, default=0)
    parser.add_argument("--in-flight", type=int, nargs="+", default=[100, 1000, 5000])
    parser.add_argument("--known", type=int, nargs="+", default=[1000, 1_000_000])
    parser.add_argument("--minutes", type=int, default=0)
    parser.add_argument("--minute", type=float, default=60.0, help=argparse.SUPPRESS)
    parser.add_argument("--store", default="sqlite", choices=("sqlite", "postgres"),
                        help="for 'engines'")  # fmt: skip
    parser.add_argument("--queued", type=int, default=0,
                        help="URLs known before, ten a domain (engines on SQLite)")  # fmt: skip
    parser.add_argument("--turns", type=int, default=16, help="of each kind, for 'engines'")
    parser.add_argument("--turn", type=float, default=3.0, help="seconds of each")
    parser.add_argument("--warm", type=int, default=8, help="turns before those that count")
    parser.add_argument("--delay", type=float, default=70.0)
    parser.add_argument("--servers", type=int, default=1, help="processes of the simulated web")
    parser.add_argument("--repeats", type=int, default=0, help="3, for 'engines' 1")
    parser.add_argument("--lock", type=Path, help="a file that is locked during each run")
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    if (args.queued or args.store != "sqlite") and args.part != ["engines"]:
        parser.error("--store and --queued are for 'engines' alone.")
    if args.queued and (args.store != "sqlite" or args.queued % 20):
        parser.error("--queued is for SQLite alone, and a multiple of 20: half for each crawl.")
    if args.quick:
        args.pages, args.hosts, args.in_flight, args.known = 60, 20, [20], [2000]
        args.minutes, args.minute, args.delay, args.repeats, args.size = 1, 3.0, 0.5, 1, 20
        args.turns, args.turn, args.warm = 2, 2.0, 0
        args.queued = 200 if args.store == "sqlite" else 0
    runs.raise_file_limit()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that no stopped crawl stays behind
    print(f"load {os.getloadavg()[0]:.1f}; TLS verification: off (default)")
    todo = {"engines": engines, "flight": flight, "domains": domains, "time": over_time,
            "polite": polite}  # fmt: skip
    for part in args.part or (QUICK if args.quick else parser.error("which part?")):
        print(f"-- {part}")
        todo[part](args)


if __name__ == "__main__":
    main()
