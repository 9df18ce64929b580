"""One run of the real program on a simulated web, and what it cost.

Owns the command line of a measured crawl and how its figures are read: CPU of the whole process
tree from the kernel's own account when it ends, pages from the store, connections from the
simulated web. Judges nothing and prints nothing.
"""

from __future__ import annotations

import compileall
import contextlib
import fcntl
import functools
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Protocol

import lycosa
from lycosa.simweb.pages import Pages
from lycosa.simweb.reqlog import Entry
from lycosa.simweb.serve import SimWeb
from lycosa.simweb.spec import WorldSpec
from lycosa.simweb.world import World
from measure.postgres import Server

# Of a web with the shape of the real one.
SMALLEST_SITE = 50  # pages; the median is 88, the largest of thousands have 8,000
MOST_LINKS = 1.22  # of a page, times the mean: small sites have fewer
OUT_LINKS = 0.041  # share of them that lead to other domains: 5 of 122


@dataclass(frozen=True)
class Job:
    """What to crawl and how."""

    https: bool = False
    size: int = 80_000  # bytes of HTML, on average
    links: int = 60
    pages: int = 10_000
    per_host: int = 1  # pages fetched of each host
    site_pages: int = 0  # pages that each host has; 0: as many as are fetched
    warc: bool = False
    store: str = "sqlite"  # or 'postgres'
    workers: int = 400
    engines: int = 1
    delay: float = 0.2
    servers: int = 1  # processes of the simulated web
    slow_seconds: float = 0.0  # that every host holds its answers
    code: str = ""  # another checkout, whose program is run in place of ours
    visits: int = 0  # pages for each seed, in a web with the shape of the real one; 0: another web

    @property
    def name(self) -> str:
        scheme = "https" if self.https else "http"
        hosts = "new host each" if self.per_host == 1 else f"{self.per_host} pages a host"
        if self.visits:
            hosts = f"real, {self.visits} a seed"
        kept = "WARC" if self.warc else "text"
        return f"{scheme:5} {self.size // 1000:3} KB  {hosts:15} {kept}  {self.store}"

    @property
    def limits(self) -> tuple[str, ...]:
        """Flags that end the crawl where hosts have more pages than it may fetch. It ends long
        before a host's second visit is due, so links stay queued, as in any broad crawl."""
        if self.visits:
            return ("--max-pages", str(self.pages))
        if not self.site_pages or self.per_host > 1:
            return ()
        return ("--max-pages", str(self.pages), "--delay", "600")

    def distinct_links(self) -> float:
        """Different links of a home page, in the mean."""
        world = World(self.world)
        pages, counts = Pages(world), []
        for name in world.seeds()[:200]:
            place = world.place(name)
            assert place is not None
            hrefs = re.findall(b'<a href="([^"]*)"', pages.own_part(place, place.site.root, 0))
            counts.append(len(set(hrefs)))
        return statistics.mean(counts)

    def environment(self) -> dict[str, str]:
        """In which its program is started."""
        if not self.code:
            return dict(os.environ)
        return {**os.environ, "PYTHONPATH": str(Path(self.code) / "src")}

    @property
    def seeds(self) -> int:
        """How many domains the crawl begins with; 0: all. The others it finds by links."""
        return -(-self.pages // self.visits) if self.visits else 0

    @property
    def world(self) -> WorldSpec:
        if self.visits:
            return WorldSpec(
                seed=1, domains=-(-self.seeds * 3 // 2), pages=SMALLEST_SITE,
                links=round(self.links * MOST_LINKS), page_bytes=self.size,
                https=float(self.https), out_links=OUT_LINKS, plain=True, real=True,
            )  # fmt: skip
        return WorldSpec(
            seed=1, domains=max(1, self.pages // self.per_host),
            pages=self.site_pages or self.per_host, page_bytes=self.size, links=self.links,
            https=float(self.https), out_links=0.1 if self.site_pages else 0.0,
            plain=True, slow=float(self.slow_seconds > 0), slow_seconds=self.slow_seconds,
        )  # fmt: skip


@dataclass
class Cost:
    """What one run took. Times per page in microseconds of CPU."""

    pages: float = 0.0
    cpu_us: float = 0.0  # the process tree, start-up included
    pages_s: float = 0.0
    rss_mb: float = 0.0  # the largest process at its largest: an engine
    server_us: float = 0.0  # the PostgreSQL server, not in cpu_us
    web_us: float = 0.0  # the simulated web, not in cpu_us
    tcp: float = 0.0  # connections per page
    tls: float = 0.0  # handshakes per page
    exchanges: float = 0.0  # with the store, per page
    new: float = 0.0  # links per page that were not known
    reference_ms: float = 0.0
    load: float = 0.0


def median(costs: list[Cost]) -> Cost:
    """Each figure's median."""
    names = [field.name for field in fields(Cost)]
    return Cost(**{n: statistics.median(getattr(cost, n) for cost in costs) for n in names})


def reference_ms() -> float:
    """CPU of a fixed piece of work, which tells how fast this machine is just now."""
    begin = time.process_time()
    total = 0
    for number in range(1_000_000):
        total += number & 7
    return (time.process_time() - begin) * 1000


@contextlib.contextmanager
def turn(path: Path | None) -> Iterator[None]:
    """Holds a lock file, so that two measurements on one machine never overlap."""
    if path is None:
        yield
        return
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    time.sleep(0.3)  # a process that waits for the lock gets it before this one takes it again


def tree_cpu(pid: int) -> float:
    """Seconds of CPU of a process, its children, and those of them that have ended."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return 0.0
    own = sum(map(int, words[11:15])) / os.sysconf("SC_CLK_TCK")
    return own + sum(tree_cpu(int(child)) for child in children)


def alive(process: subprocess.Popen[bytes]) -> bool:
    """Whether it runs. One that has ended is left uncollected, so that `wait4` tells its CPU."""
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None


def children_of(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def raise_file_limit() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def seeds_of(job: Job, web: SimWeb) -> Iterable[str]:
    scheme = "https" if job.https else "http"
    names = web.seeds()
    return (f"{scheme}://{name}/\n" for name in names[: job.seeds or len(names)])


class Web(Protocol):
    """What a crawl must know of a web to find its way there."""

    @property
    def nameserver(self) -> str: ...
    @property
    def port_map(self) -> str: ...


def command(job: Job, web: Web, root: Path, store: str, *more: str) -> list[str]:
    """The crawl of a web, its seeds in `root`/seeds.txt, its data in `root`/data."""
    words = [
        "crawl", root / "seeds.txt", "--email", "bench@lycosa.example", "--data-dir", root / "data",
        "--delay", job.delay, "--ip-delay", 0, "--engines", job.engines, "--no-view",
        "--max-workers", job.workers, "--allow-private-addresses", "--store", store,
        "--nameserver", web.nameserver, "--port-map", web.port_map, "--log-level", "warning",
    ]  # fmt: skip
    if job.warc:
        words.append("--warc")
    if not job.code or (Path(job.code) / "src/lycosa/dashboard").is_dir():  # older code has none
        words.append("--no-dashboard")
    return [sys.executable, "-m", "lycosa", *map(str, words), *job.limits, *more]


def status(root: Path, store: str, job: Job | None = None) -> dict[str, Any]:
    """What `lycosa status` says; {} while it has nothing to tell."""
    words = ["status", "--data-dir", root / "data", "--store", store, "--json"]
    command = [sys.executable, "-m", "lycosa", *map(str, words)]
    told = subprocess.run(command, capture_output=True, env=job.environment() if job else None)
    found: dict[str, Any] = json.loads(told.stdout) if told.returncode == 0 else {}
    return found


def run(
    job: Job,
    server: Server | None = None,
    *,
    more: tuple[str, ...] = (),
    watch: Callable[[subprocess.Popen[bytes], Path], None] | None = None,
    served: Callable[[list[Entry]], None] | None = None,
    store: str = "",
) -> Cost:
    """Crawls to the end. `watch` is called once the program has started, and may look at it;
    `served` when it has ended, with all requests that the web has answered."""
    _compile(job.code)
    with tempfile.TemporaryDirectory(prefix="lycosa-bench-") as name:
        root = Path(name)
        if not store:
            store = server.database() if server and job.store == "postgres" else "sqlite"
        with SimWeb(job.world, root / "log", processes=job.servers) as web:
            (root / "seeds.txt").write_text("".join(seeds_of(job, web)))
            cost = _measure(job, web, root, store, server, more, watch)
        counts = web.counts()
        if served:
            served(web.log())
        cost.tcp = counts["connections"] / cost.pages
        cost.tls = counts["handshakes"] / cost.pages
        return cost


@functools.cache
def _compile(code: str) -> None:
    """Compiles lycosa's modules, as pip does for users. Where Python is told to write no bytecode,
    every start would compile them all, which takes a third of a start."""
    folder = Path(code) / "src/lycosa" if code else Path(lycosa.__file__).parent
    compileall.compile_dir(folder, quiet=2)


def _measure(
    job: Job,
    web: SimWeb,
    root: Path,
    store: str,
    server: Server | None,
    more: tuple[str, ...],
    watch: Callable[[subprocess.Popen[bytes], Path], None] | None,
) -> Cost:
    cost = Cost(load=os.getloadavg()[0], reference_ms=reference_ms())
    before = server.cpu() if server else 0.0
    began, web_before = time.monotonic(), web.cpu_seconds()
    process = subprocess.Popen(
        command(job, web, root, store, *more), stdout=subprocess.DEVNULL, env=job.environment()
    )
    if watch:
        watch(process, root)
    _, code, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(code)
    seconds = time.monotonic() - began
    if process.returncode != 0:
        raise SystemExit(f"the crawl failed with exit code {process.returncode}")
    found = status(root, store, job)
    cost.pages = float(found["pages"])
    cost.cpu_us = (usage.ru_utime + usage.ru_stime) * 1e6 / cost.pages
    cost.pages_s = cost.pages / seconds
    begun_with = job.seeds or len(web.seeds())
    cost.new = (found["pages"] + found["queued"] - begun_with) / cost.pages
    cost.rss_mb = usage.ru_maxrss * 1024 / 1e6
    cost.server_us = (server.cpu() - before) * 1e6 / cost.pages if server else 0.0
    cost.web_us = (web.cpu_seconds() - web_before) * 1e6 / cost.pages
    engines: list[dict[str, float]] = found["engines"]
    cost.exchanges = sum(each.get("exchanges", 0) for each in engines) / cost.pages
    cost.reference_ms = (cost.reference_ms + reference_ms()) / 2
    return cost
