"""Thousands of random hostile answers in one crawl: what becomes of them, of the loop, of others?

    python bench/hostile.py                 # 2,000 hostile hosts beside 150 good ones
    python bench/hostile.py --hosts 500 --seed 7
    python bench/hostile.py --quick         # a few seconds, figures mean nothing

Good hosts are crawled for a while without the hostile ones, then with them, then without again, so
that both speeds come from the same minutes. The simulated web counts good pages. Wanted: every
hostile host has its counted outcome, 99.9 % of the loop's turns take less than 50 ms of CPU, none
takes more than 250 ms, and good hosts keep 90 % of their speed.
"""

from __future__ import annotations

import argparse
import contextlib
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lycosa.reading.status import loop_of
from lycosa.simweb import malice
from lycosa.simweb.serve import SimWeb
from lycosa.simweb.spec import WorldSpec
from measure import runs

KEPT = 0.90  # of the good hosts' speed
CPU_P999, TURN_MAX = 50.0, 250.0  # ms
START = 5.0  # seconds at the beginning that do not count


@dataclass
class Found:
    """What one crawl showed."""

    rate: float = 0.0  # pages a second of good hosts
    outcomes: Counter[str] = field(default_factory=Counter)  # of hostile hosts' URLs
    unsettled: list[str] = field(default_factory=list)  # hostile hosts without any outcome
    loop: dict[str, Any] = field(default_factory=dict)
    rss_mb: float = 0.0
    slow_pages: int = 0


def crawl(args: argparse.Namespace, hostile: int) -> Found:
    """The good hosts with so many hostile ones beside them."""
    pages = int(args.seconds / args.delay) + 5
    spec = WorldSpec(seed=args.seed, domains=args.good, pages=pages, page_bytes=20_000, links=40,
                     https=0.0, plain=True, out_links=0.0, malice=hostile)  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="lycosa-hostile-") as name:
        root = Path(name)
        with SimWeb(spec, root / "log", processes=args.servers) as web:
            web.write_seeds(root / "seeds.txt")
            began = time.monotonic()
            code = _run(args, web, root)
            log = web.log()
        if code != 0:
            raise SystemExit(f"the crawl failed with exit code {code}")
        good = [e.start - began for e in log if e.host.startswith("d") and e.status == 200
                and e.target != "/robots.txt"]  # fmt: skip
        counted = [at for at in good if START <= at <= args.seconds]
        found = look(root, hostile)
        found.rate = len(counted) / (args.seconds - START)
        return found


def _run(args: argparse.Namespace, web: SimWeb, root: Path) -> int:
    words = ["crawl", root / "seeds.txt", "--email", "bench@lycosa.example", "--data-dir",
             root / "data", "--delay", args.delay, "--ip-delay", 0, "--engines", 1, "--no-view",
             "--no-dashboard",
             "--max-workers", args.workers, "--allow-private-addresses", "--nameserver",
             web.nameserver, "--port-map", web.port_map, "--log-level", "warning",
             "--max-pages-per-domain", int(args.seconds / args.delay) + 5, "--visit-timeout", 10,
             "--max-duration", args.seconds]  # fmt: skip
    command = [sys.executable, "-m", "lycosa", *map(str, words)]
    return subprocess.run(command, stdout=subprocess.DEVNULL).returncode


def look(root: Path, hostile: int) -> Found:
    """What the store says."""
    told = runs.status(root, "sqlite")
    engines: list[dict[str, Any]] = told["engines"]
    found = Found(loop=loop_of(engines), rss_mb=max(each["rss_mb"] for each in engines),
                  slow_pages=sum(each["slow_pages"] for each in engines))  # fmt: skip
    settled: set[str] = set()
    database = f"file:{root / 'data' / 'crawl.sqlite'}?mode=ro"
    with contextlib.closing(sqlite3.connect(database, uri=True)) as db:
        for url, outcome in db.execute("SELECT url, outcome FROM pages"):
            host = url.split("/")[2].partition(":")[0]
            if host.startswith(malice.PREFIX):
                settled.add(host)
                found.outcomes[outcome] += 1
    found.unsettled = [name for name in malice.domains(hostile) if name not in settled]
    return found


def verdict(found: Found, alone: float) -> bool:
    cpu, wall, excused = found.loop["cpu"], found.loop["wall"], found.loop["excused"]
    rows: list[tuple[str, float, float, bool]] = [
        ("hostile hosts without an outcome", len(found.unsettled), 0, True),
        ("outcomes that are a fault of ours ('bug')", found.outcomes["bug"], 0, True),
        ("turns, CPU, 99.9 %, ms", cpu["p999_ms"], CPU_P999, True),
        ("turns, CPU, the longest, ms", cpu["max_ms"], TURN_MAX, True),
        ("turns, wall time, the longest not excused, ms", wall["max_ms"], TURN_MAX, True),
        ("speed of good hosts, share", found.rate / max(alone, 0.001), KEPT, False),
    ]
    ok = True
    for name, value, bound, most in rows:
        met = value <= bound if most else value >= bound
        ok &= met
        wanted = f"at {'most' if most else 'least'} {bound:g}"
        print(f"{name:46} {value:8.2f}  wanted: {wanted}: {'met' if met else 'NO'}")
    print(f"{cpu['turns']:,} turns, 99.9 % within {wall['p999_ms']:g} ms of wall time, "
          f"{excused['turns']} excused; {found.slow_pages} pages over 50 ms; "
          f"{found.rss_mb:.0f} MB")  # fmt: skip
    print("outcomes: " + ", ".join(f"{n} {c}" for n, c in found.outcomes.most_common()))
    if found.unsettled:
        print("without: " + " ".join(found.unsettled[:20]))
    return ok


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hosts", type=int, default=2000, help="hostile ones")
    parser.add_argument("--good", type=int, default=150)
    parser.add_argument("--seconds", type=float, default=75.0, help="of each crawl")
    parser.add_argument("--delay", type=float, default=1.0)
    parser.add_argument("--workers", type=int, default=500)
    parser.add_argument("--servers", type=int, default=2, help="processes of the simulated web")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    if args.quick:
        args.hosts, args.good, args.seconds, args.delay = 40, 10, 12.0, 0.5
    runs.raise_file_limit()
    before = crawl(args, 0).rate
    found = crawl(args, args.hosts)
    after = crawl(args, 0).rate if not args.quick else before
    alone = (before + after) / 2
    print(f"{args.hosts} hostile hosts, seed {args.seed}, beside {args.good} good ones: "
          f"{found.rate:.1f} good pages/s, without them {before:.1f} and {after:.1f}")  # fmt: skip
    return 0 if verdict(found, alone) or args.quick else 1


if __name__ == "__main__":
    sys.exit(main())
