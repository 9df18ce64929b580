"""Measures the CPU per page of the real program, supervisor and engines, on a simulated web.

    python bench/crawl.py                 # the three budgets, on both stores, medians of 5 runs
    python bench/crawl.py --against ../before    # in turns with another checkout, compiled as well
    python bench/crawl.py --shape simple --all   # every scheme, size, host mix, archive and store
    python bench/crawl.py --scheme https --size 80 --store sqlite --keep text,warc
    python bench/crawl.py --profile       # the split by part, from a sampling profile (py-spy)
    python bench/crawl.py --memory        # 1,000 and 5,000 really in flight, on slow hosts
    python bench/crawl.py --quick         # a few seconds, figures mean nothing

The web has the shape of the real one: sizes of sites by a Pareto law, 100 links a page (half of
them name their host, 5 lead to other domains, some of these unknown), URLs of 55 characters. The
crawl begins with one host for four pages, and visits most of them more than once, so that of the
links of a page about 34 are new; 'new' is what the store counted. With --shape simple all sites are
alike, links repeat, and each host is visited once: for comparison with older figures.

The CPU of the simulated web is not counted. The speed of a shared machine varies, so a fixed
reference loop is timed beside each run. 'us/page' contains the start-up. 'steady' does not: the
cost of a crawl of one page is subtracted.
"""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

from measure import postgres, runs, split
from measure.runs import Cost, Job

LINKS = {80: 60, 240: 100}  # of pages in simple webs; in real ones it is always REAL_LINKS
REAL_LINKS = 100
BUDGETS = {(False, 80_000): 1600, (True, 80_000): 2000, (True, 240_000): 2900}  # us, real shape
SLOW_SECONDS = 15.0  # below the limit for the first byte
HEADER = (
    f"{'':54} us/page  steady  pages/s     MB  TCP   TLS   new  trips/page"
    "  server us  web us  ref ms  load"
)


def cases(args: argparse.Namespace) -> list[Job]:
    """The combinations asked for; by default those with a budget."""
    named = any((args.scheme, args.size, args.per_host, args.keep))
    schemes = _words(args.scheme, "http,https")
    sizes = [int(word) for word in _words(args.size, "80,240" if args.all else "80")]
    hosts = [int(word) for word in _words(args.per_host, "1,20" if args.all else "1")]
    kept = _words(args.keep, "text,warc" if args.all else "text")
    stores = _words(args.store, "sqlite,postgres")
    found = [
        Job(https=scheme == "https", size=size * 1000, links=LINKS.get(size, 60), per_host=hosts,
            warc=keep == "warc", store=store)
        for store, size, hosts, keep, scheme in itertools.product(
            stores, sizes, hosts, kept, schemes)
    ]  # fmt: skip
    if not named and not args.all:
        large = Job(https=True, size=240_000, links=LINKS[240])
        found += [replace(large, store=store) for store in stores]
    if args.shape == "real":
        found = [replace(job, visits=args.visits, links=REAL_LINKS) for job in found]
    else:
        found = [replace(j, site_pages=args.site_pages if j.per_host == 1 else 0) for j in found]
    found.sort(key=lambda job: (job.store != "sqlite", job.size))
    common = {"workers": args.workers, "engines": args.engines, "servers": args.servers}
    found = [replace(job, pages=args.pages, delay=args.delay, **common) for job in found]
    if not args.against:
        return found
    other = str(args.against.resolve())
    return [each for job in found for each in (job, replace(job, code=other))]


def _words(given: str, default: str) -> list[str]:
    return (given or default).split(",")


def measure(args: argparse.Namespace, jobs: list[Job]) -> None:
    """Runs all cases in turn, again and again, so that a slow minute of the machine hits each."""
    costs: dict[Job, list[Cost]] = {job: [] for job in jobs}
    starts: dict[Job, list[Cost]] = {job: [] for job in jobs}
    told = {
        (job.world.links, job.visits or job.per_host, job.distinct_links())
        for job in (replace(job, code="") for job in jobs)
    }
    for links, visits, distinct in sorted(told):
        print(f"up to {links} links a page, {visits} page(s) a host: {distinct:.0f} different")
    with postgres.started(any(job.store == "postgres" for job in jobs)) as server:
        for _ in range(args.repeats):
            for job in jobs:
                used = server if job.store == "postgres" else None
                with runs.turn(args.lock):
                    starts[job].append(runs.run(replace(job, pages=1, per_host=1), used))
                    costs[job].append(runs.run(job, used))
        trips = {
            job: _trips(job, server, args.lock)
            for job in jobs
            if server and job.store == "postgres"
        }
    print(HEADER)
    for job in jobs:
        show(job, runs.median(costs[job]), runs.median(starts[job]), trips.get(job))
        if job.code:
            compare(costs[job], costs[replace(job, code="")])
    begin = runs.median([cost for each in starts.values() for cost in each])
    print(f"start-up and end, measured by a crawl of one page: {begin.cpu_us / 1000:.0f} ms of CPU")


def compare(before: list[Cost], ours: list[Cost]) -> None:
    """The other checkout's CPU per page, in times of ours, turn by turn."""
    pairs = sorted(a.cpu_us / b.cpu_us for a, b in zip(before, ours, strict=True))
    server = [a.server_us / b.server_us for a, b in zip(before, ours, strict=True) if b.server_us]
    of_server = f"; of the server {statistics.median(server):.2f}" if server else ""
    print(f"    before / ours, by turns: {statistics.median(pairs):.3f}"
          f" ({pairs[0]:.3f} to {pairs[-1]:.3f}){of_server}")  # fmt: skip


def show(job: Job, cost: Cost, start: Cost, trips: float | None) -> None:
    steady = cost.cpu_us - start.cpu_us / cost.pages
    budget = BUDGETS.get((job.https, job.size)) if job.visits and not job.warc else None
    met = "" if budget is None else f"  budget {budget}: {'met' if cost.cpu_us <= budget else 'NO'}"
    label = job.name + (", before" if job.code else "")
    told = cost.exchanges if trips is None else trips
    print(
        f"{label:54} {cost.cpu_us:7.0f} {steady:7.0f} {cost.pages_s:8.0f} {cost.rss_mb:6.0f}"
        f" {cost.tcp:5.2f} {cost.tls:5.2f} {cost.new:5.1f} {told:10.4f}"
        f" {cost.server_us:10.0f} {cost.web_us:7.0f} {cost.reference_ms:7.0f} {cost.load:5.1f}{met}"
    )


def _trips(job: Job, server: postgres.Server, lock: Path | None) -> float:
    """Round trips to the server per page, in a run of its own because the relay costs time."""
    relay = postgres.Relay(server)
    job = replace(job, pages=min(job.pages, 5000))
    with runs.turn(lock):
        cost = runs.run(job, server, store=relay.through(server.database()))
    return relay.trips / cost.pages


def profile(args: argparse.Namespace, jobs: list[Job]) -> None:
    """Prints the CPU per page by part: shares sampled in one run, the total from one without."""
    with postgres.started(any(job.store == "postgres" for job in jobs)) as server:
        for job in jobs:
            used = server if job.store == "postgres" else None
            with runs.turn(args.lock):
                start = runs.run(replace(job, pages=1, per_host=1), used)
                cost = runs.run(job, used)
            with runs.turn(args.lock), tempfile.TemporaryDirectory() as folder:
                raw = Path(folder) / "stacks.txt"
                runs.run(job, used, watch=partial(_spy, raw, args.rate))
                found = split.read(raw.open())
            steady = cost.cpu_us - start.cpu_us / cost.pages
            show_split(job, found, steady, args.top)


def _spy(raw: Path, rate: int, process: subprocess.Popen[bytes], _: Path) -> None:
    """Samples the first engine until it ends."""
    while not (engines := runs.children_of(process.pid)):
        time.sleep(0.02)
    words = ["--native", "--threads", "-r", rate, "-f", "raw", "-o", raw, "-p", engines[0]]
    beside = str(Path(sys.executable).parent)  # of an environment that is not activated
    found = shutil.which("py-spy", path=os.pathsep.join((beside, os.environ["PATH"])))
    if not found:
        raise SystemExit("py-spy is not installed")
    spy = [found, "record", *map(str, words)]
    subprocess.run(spy, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)


def show_split(job: Job, found: split.Split, cpu_us: float, top: int) -> None:
    print(f"\n{job.name}: {cpu_us:.0f} us/page, {found.total} samples")
    scale = cpu_us / max(1, found.total)
    for part in split.PARTS:
        print(f"  {part:10} {found.parts[part] * scale:7.0f} us")
    for title, counts in (("alone", found.alone), ("with what they call", found.below)):
        print(f"  heaviest functions, {title}:")
        for name, count in counts.most_common(top):
            print(f"    {count * scale:7.0f} us  {name}")


def memory(args: argparse.Namespace) -> None:
    """Peak memory with that many fetches really in flight."""
    runs.raise_file_limit()
    print("memory of an engine, hosts that hold every answer for " + f"{SLOW_SECONDS:g} s")
    schemes = (args.scheme or "http,https").split(",")
    for scheme, workers in itertools.product(schemes, args.in_flight):
        job = Job(https=scheme == "https", pages=int(workers * 2.2), workers=workers,
                  servers=args.servers, slow_seconds=SLOW_SECONDS,
                  site_pages=args.site_pages)  # fmt: skip
        most: list[int] = [0]

        def watch(process: subprocess.Popen[bytes], root: Path, most: list[int] = most) -> None:
            while runs.alive(process):
                engines = runs.status(root, "sqlite").get("engines", [])
                most[0] = max(most[0], sum(each.get("in_flight", 0) for each in engines))
                time.sleep(0.5)

        with runs.turn(args.lock):
            cost = runs.run(job, more=("--max-duration", "100"), watch=watch)
        print(f"{scheme:5} {most[0]:5} of {workers:5} in flight  {cost.rss_mb:6.0f} MB peak"
              f"  {cost.cpu_us:6.0f} us/page")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true", help="every combination")
    parser.add_argument("--shape", choices=("real", "simple"), default="real", help="of the web")
    parser.add_argument(
        "--visits", type=int, default=4, help="pages for each seed, in a real shape"
    )
    parser.add_argument("--against", type=Path, help="another checkout, measured in turns")
    parser.add_argument("--scheme", default="", help="http,https")
    parser.add_argument("--size", default="", help="KB of HTML: 80,240")
    parser.add_argument("--per-host", default="", help="pages a host: 1,20")
    parser.add_argument("--site-pages", type=int, default=1000, help="of hosts visited once")
    parser.add_argument("--keep", default="", help="text,warc")
    parser.add_argument("--store", default="", help="sqlite,postgres")
    parser.add_argument("--pages", type=int, default=10_000)
    parser.add_argument("--delay", type=float, default=0.2)
    parser.add_argument("--workers", type=int, default=400)
    parser.add_argument("--engines", type=int, default=1)
    parser.add_argument("--servers", type=int, default=1, help="processes of the simulated web")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--rate", type=int, default=100, help="samples a second")
    parser.add_argument("--top", type=int, default=25, help="functions named in a profile")
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--in-flight", type=int, nargs="+", default=[1000, 5000])
    parser.add_argument("--lock", type=Path, help="a file that is locked during each run")
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    if args.quick:
        args.pages, args.repeats, args.scheme = 30, 1, args.scheme or "https"
    print(f"{args.pages} pages, {args.engines} engine(s), {args.workers} in flight at most")
    print(f"TLS verification: off (default); load {os.getloadavg()[0]:.1f}")
    if args.memory:
        memory(args)
    elif args.profile:
        profile(args, cases(args))
    else:
        measure(args, cases(args))


if __name__ == "__main__":
    main()
