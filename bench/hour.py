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
import contextlib
import json
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lycosa.reading.status import loop_of
from lycosa.simweb.check import Report
from lycosa.simweb.serve import SimWeb
from measure import runs
from measure.runs import Job

SETTLED = 20  # minutes after which memory must hardly grow
GROWTH = 1.0  # MB a minute
MEMORY = 400.0  # MB
CPU_P999, TURN_MAX = 50.0, 250.0  # ms
HEADER = (
    "  min  pages/s   pages     MB  turns CPU p99.9/max ms  wall p99.9/max  excused"
    "  lag s  log MB  limit"
)


@dataclass
class Minute:
    """What one minute brought."""

    pages: int = 0
    rss_mb: float = 0.0  # of the larger engine, at its end
    lag_s: float = 0.0  # the worst
    log_mb: float = 0.0  # of SQLite, the longest
    loop: dict[str, Any] = field(default_factory=dict)  # since the beginning
    limit: str = ""


class Watch:
    """Looks at a running crawl without disturbing it."""

    def __init__(self, process: subprocess.Popen[bytes], root: Path) -> None:
        self.process, self.root = process, root
        self._database = root / "data" / "crawl.sqlite"

    def minute(self, until: float) -> Minute:
        """Look every second until then."""
        found = Minute()
        while time.monotonic() < until and runs.alive(self.process):
            time.sleep(min(1.0, max(0.0, until - time.monotonic())))
            with contextlib.suppress(OSError):
                log = Path(f"{self._database}-wal").stat().st_size / 1e6
                found.log_mb = max(found.log_mb, log)
            found.lag_s = max([found.lag_s, *(each["store_lag_s"] for each in self._engines())])
        found.rss_mb = max(map(_rss_mb, runs.children_of(self.process.pid)), default=0.0)
        told = runs.status(self.root, "sqlite")
        found.pages, found.limit = told.get("pages", 0), told.get("limit", "")
        found.loop = loop_of(told.get("engines", []))
        return found

    def _engines(self) -> list[dict[str, Any]]:
        """The figures that each engine committed last."""
        try:
            with contextlib.closing(
                sqlite3.connect(f"file:{self._database}?mode=ro", uri=True, timeout=1)
            ) as db:
                rows = db.execute("SELECT stats FROM engines WHERE stats <> ''").fetchall()
        except sqlite3.Error:
            return []  # it does not exist yet
        return [stats for (text,) in rows if "store_lag_s" in (stats := json.loads(text or "{}"))]


def _rss_mb(pid: int) -> float:
    try:
        words = Path(f"/proc/{pid}/status").read_text().split()
        return int(words[words.index("VmRSS:") + 1]) * 1024 / 1e6
    except (OSError, ValueError):
        return 0.0


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
    rows: list[tuple[str, float, float, str]] = [
        (f"growth from minute {SETTLED} on", growth(minutes), GROWTH, "MB/min"),
        ("memory of an engine, the most", memory, MEMORY, "MB"),
        ("turns, CPU, 99.9 %", cpu["p999_ms"], CPU_P999, "ms"),
        ("turns, CPU, the longest", cpu["max_ms"], TURN_MAX, "ms"),
        ("turns, wall time, the longest not excused", wall["max_ms"], TURN_MAX, "ms"),
        ("violations seen by the web", len(report.violations), 0, ""),
        ("violations found by the audit", float(not audited), 0, ""),
    ]
    for name, value, most, unit in rows:
        met = "met" if value <= most else "NO"
        print(f"{name:44} {value:8.1f} {unit:6} wanted: at most {most:g}: {met}")
    print(f"turns, wall time, 99.9 %: {wall['p999_ms']:g} ms; {last['excused']['turns']} long "
          f"turns while the control process was late, too; {report.visits:,} visits to "
          f"{report.domains:,} domains")  # fmt: skip
    return all(value <= most for _, value, most, _ in rows)


@contextlib.contextmanager
def crawling(args: argparse.Namespace, root: Path) -> Iterator[tuple[SimWeb, Watch]]:
    """The web and a crawl of it, until the time is over."""
    seconds = args.minutes * args.minute
    turns = int(seconds / args.delay) + 3
    job = Job(size=args.size * 1000, pages=args.hosts * turns, per_host=turns, engines=2,
              workers=args.workers, delay=args.delay, servers=args.servers,
              site_pages=3 * turns)  # fmt: skip
    with SimWeb(job.world, root / "log", processes=job.servers) as web:
        (root / "seeds.txt").write_text("".join(runs.seeds_of(job, web)))
        more = ("--max-duration", str(seconds + 30))
        process = subprocess.Popen(
            runs.command(job, web, root, "sqlite", *more), stdout=subprocess.DEVNULL
        )
        try:
            yield web, Watch(process, root)
        finally:
            if process.poll() is None:
                process.terminate()
            if process.wait(120) != 0:
                print(f"the crawl ended with {process.returncode}")


def audit(root: Path) -> bool:
    words = [sys.executable, "-m", "lycosa", "audit", "--data-dir", str(root / "data")]
    done = subprocess.run(words, capture_output=True, text=True)
    print(done.stdout.strip() or done.stderr.strip())
    return done.returncode == 0


def hour(args: argparse.Namespace) -> bool:
    print(f"{args.hosts:,} hosts at {args.delay:g} s, two engines, {args.size} KB pages, "
          f"{args.minutes} minutes")  # fmt: skip
    with contextlib.ExitStack() as stack:
        where = tempfile.TemporaryDirectory(prefix="lycosa-hour-", dir=args.dir)
        root = Path(stack.enter_context(where))
        minutes: list[Minute] = []
        with crawling(args, root) as (web, watch):
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
