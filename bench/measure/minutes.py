"""A long crawl of a simulated web, minute by minute, and whether what came is what was wanted.

Owns how a running crawl on SQLite is looked at without disturbing it: the kernel tells memory and
CPU, the engines' rows tell lag, fetches and domains held, the file tells SQLite's log. Which
figures matter is not known here.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lycosa.errors import EXIT_STOPPED
from lycosa.reading.status import loop_of
from lycosa.simweb.check import Report
from lycosa.simweb.serve import SimWeb
from lycosa.simweb.spec import WorldSpec
from measure import runs
from measure.runs import Job

LOOK = 0.5  # seconds between two looks: a lag is in an engine's row until its next commit
GRACE = 30.0  # seconds that the crawl may last beyond the minutes that are looked at


@dataclass
class Minute:
    """What one minute brought. Pages and URLs are those of the crawl so far."""

    seconds: float = 0.0  # that it really took
    pages: int = 0
    urls: int = 0  # known ones, done or queued
    cpu: float = 0.0  # seconds of the process tree, so far
    rss_mb: float = 0.0  # of the largest engine, at the end of the minute
    peak_mb: float = 0.0  # of the same, the most so far
    lag_s: float = 0.0  # of the store, the worst
    log_mb: float = 0.0  # of SQLite, the longest
    flight: float = 0.0  # fetches under way, of all engines: the median of the looks
    held: float = 0.0  # domains, the same
    loop: dict[str, Any] = field(default_factory=dict)  # since the beginning
    limit: str = ""


class Watch:
    """Looks at a running crawl without disturbing it."""

    def __init__(self, process: subprocess.Popen[bytes], root: Path) -> None:
        self.process, self.root = process, root
        self._database = root / "data" / "crawl.sqlite"

    def minute(self, until: float) -> Minute:
        """Looks again and again until then; raises SystemExit if the crawl has ended."""
        found, began = Minute(), time.monotonic()
        flight, held = [0.0], [0.0]
        while time.monotonic() < until and runs.alive(self.process):
            time.sleep(min(LOOK, max(0.0, until - time.monotonic())))
            with contextlib.suppress(OSError):
                log = Path(f"{self._database}-wal").stat().st_size / 1e6
                found.log_mb = max(found.log_mb, log)
            if engines := self._engines():
                found.lag_s = max([found.lag_s, *(each["store_lag_s"] for each in engines)])
                flight.append(sum(each["in_flight"] for each in engines))
                held.append(sum(each["held"] for each in engines))
        if not runs.alive(self.process):
            raise SystemExit("the crawl has ended before its time: it needs more hosts")
        found.flight, found.held = statistics.median(flight), statistics.median(held)
        sizes = [_memory_mb(pid) for pid in runs.children_of(self.process.pid)]
        found.rss_mb, found.peak_mb = max(sizes, default=(0.0, 0.0))
        found.cpu = runs.tree_cpu(self.process.pid)
        told = runs.status(self.root, "sqlite")
        found.pages, found.limit = told.get("pages", 0), told.get("limit", "")
        found.urls = found.pages + told.get("queued", 0)
        found.loop = loop_of(told.get("engines", []))
        found.seconds = time.monotonic() - began
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


def _memory_mb(pid: int) -> tuple[float, float]:
    """What a process has in memory now, and had at the most."""
    try:
        words = Path(f"/proc/{pid}/status").read_text().split()
        now, peak = (int(words[words.index(name) + 1]) for name in ("VmRSS:", "VmHWM:"))
    except (OSError, ValueError):
        return 0.0, 0.0
    return now * 1024 / 1e6, peak * 1024 / 1e6


@contextlib.contextmanager
def crawling(
    job: Job, root: Path, seconds: float, spec: WorldSpec | None = None
) -> Iterator[tuple[SimWeb, Watch]]:
    """The web (of the job, or another one) and a crawl of it, until the time is over."""
    with SimWeb(spec or job.world, root / "log", processes=job.servers) as web:
        (root / "seeds.txt").write_text("".join(runs.seeds_of(job, web)))
        more = ("--max-duration", str(seconds + GRACE))
        process = subprocess.Popen(
            runs.command(job, web, root, "sqlite", *more), stdout=subprocess.DEVNULL
        )
        try:
            yield web, Watch(process, root)
        finally:
            if process.poll() is None:
                process.terminate()
            if process.wait(120) not in (0, EXIT_STOPPED):
                print(f"the crawl ended with {process.returncode}")


def audit(root: Path) -> bool:
    """What the crawl's own ledger says about its politeness."""
    words = [sys.executable, "-m", "lycosa", "audit", "--data-dir", str(root / "data")]
    done = subprocess.run(words, capture_output=True, text=True)
    print(done.stdout.strip() or done.stderr.strip())
    return done.returncode == 0


@dataclass(frozen=True)
class Wanted:
    """A figure and its limit."""

    name: str
    value: float
    limit: float
    unit: str = ""
    least: bool = False  # the limit is the least that is wanted, not the most

    @property
    def met(self) -> bool:
        return self.value >= self.limit if self.least else self.value <= self.limit


def judged(wanted: Iterable[Wanted]) -> bool:
    """Prints a line for each; returns whether all of it is met."""
    rows = list(wanted)
    for each in rows:
        bound = "at least" if each.least else "at most"
        print(f"{each.name:44} {each.value:8.1f} {each.unit:6} wanted: {bound} {each.limit:g}: "
              f"{'met' if each.met else 'NO'}")  # fmt: skip
    return all(each.met for each in rows)


def polite(report: Report, audited: bool) -> list[Wanted]:
    """That nobody saw a violation."""
    return [
        Wanted("violations seen by the web", len(report.violations), 0),
        Wanted("violations found by the audit", float(not audited), 0),
    ]
