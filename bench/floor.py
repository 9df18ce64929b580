"""Measures what the same work costs without a crawler, and how far the crawler is from that.

The floor: the very pages that the crawl has fetched, in its order, each over a connection of its
own, with the robots.txt of its host before it where the crawl asked for one. The same libcurl and
TLS settings in a bare loop; inflate; lexbor parse, every href, the text; one JSON line to zstd and
one SQLite row, in batches. No DNS, no robots rules, no URL resolving, no frontier, no limits.

    python bench/floor.py             # http and https, 80 KB; medians of 5; crawl and floor in turn
    python bench/floor.py --reader lycosa    # pages read by lycosa's own reader instead of lexbor
    python bench/floor.py --reader harvest   # and languages, label and simhash of each
    python bench/floor.py --shape simple --size 240 --links 100
    python bench/floor.py --quick     # a few seconds, figures mean nothing

The web has the shape of the real one, four pages for each seed, as in bench/crawl.py; with --shape
simple each page is that of a new host. With lycosa's reader the ratio has a limit, and the exit
code is 1 if it is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import zstandard
from isal import isal_zlib
from selectolax.lexbor import LexborHTMLParser

from lycosa.fetch import libcurl
from lycosa.page.html import parse
from lycosa.page.labels import LabelFacts, label
from lycosa.page.language import languages
from lycosa.page.simhash import simhash
from lycosa.simweb.names import Names
from lycosa.simweb.reqlog import Entry
from lycosa.simweb.serve import SimWeb
from measure import runs
from measure.runs import Job

Read = Callable[[bytes], tuple[str, int]]
Visit = tuple[str, str, bool]  # an origin, a page of it, and whether robots.txt comes first

BATCH = 500  # pages per zstd frame and transaction
VISITS = 4  # pages for each seed, in the real shape
MOST = 1.7  # crawl / floor with lycosa's own reader, steady, in the real shape
ROBOTS = "/robots.txt"
CONTENT_TYPE = "text/html; charset=utf-8"
URL = "https://www.example.com/a/b.html"  # of every page, for its label


def by_lexbor(body: bytes) -> tuple[str, int]:
    """The text of a page, and how many hrefs it has."""
    tree = LexborHTMLParser(body)
    links = [node.attributes["href"] for node in tree.css("a[href]")]
    assert tree.body is not None
    return tree.body.text(separator="\n"), len(links)


def by_lycosa(body: bytes) -> tuple[str, int]:
    """The same by the reader of the crawl."""
    found = parse(body, CONTENT_TYPE)
    return found.text, len(found.links)


def by_harvest(body: bytes) -> tuple[str, int]:
    """That, and what else the crawl makes of a page: languages, label, simhash."""
    found = parse(body, CONTENT_TYPE)
    languages(found.main or found.text, found.lang)
    label(LabelFacts.of(found, URL, 200, lambda _: "", CONTENT_TYPE, "", body))
    simhash(found.main or found.text)
    return found.text, len(found.links)


READERS = {"lexbor": by_lexbor, "lycosa": by_lycosa, "harvest": by_harvest}


class Keep:
    """One line and one row per page."""

    def __init__(self, root: Path, read: Read) -> None:
        self._read = read
        self._file = (root / "text.jsonl.zst").open("ab")
        self._db = sqlite3.connect(root / "pages.sqlite", isolation_level=None)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")
        self._db.execute("CREATE TABLE pages (url TEXT, status INT, size INT, links INT)")
        self._lines: list[bytes] = []
        self._rows: list[tuple[str, int, int, int]] = []
        self.pages = 0

    def page(self, url: str, packed: bytes) -> None:
        """Inflate, parse, keep."""
        body = isal_zlib.decompress(packed, 31)
        text, links = self._read(body)
        self._lines.append(orjson.dumps({"url": url, "status": 200, "text": text}))
        self._rows.append((url, 200, len(body), links))
        self.pages += 1
        if len(self._rows) >= BATCH:
            self.flush()

    def flush(self) -> None:
        self._file.write(zstandard.ZstdCompressor().compress(b"\n".join(self._lines)))
        self._file.flush()
        os.fdatasync(self._file.fileno())
        self._db.execute("BEGIN")
        self._db.executemany("INSERT INTO pages VALUES (?, ?, ?, ?)", self._rows)
        self._db.execute("COMMIT")
        self._lines.clear()
        self._rows.clear()


class Handle:
    """One handle of libcurl, and the site it is busy with."""

    def __init__(self, headers: libcurl.Headers, quota: libcurl.Quota) -> None:
        self.origin = self.path = self.pin = ""
        self.robots = True
        self.inbox = libcurl.Inbox(self, quota)
        self.easy = libcurl.Easy(self, self.inbox, headers)
        options: dict[int, int | str] = {
            libcurl.USERAGENT: "floor",
            libcurl.HTTP_VERSION: libcurl.HTTP_1_1,
            libcurl.BUFFERSIZE: 64 * 1024,
            libcurl.NOSIGNAL: 1,
            libcurl.DNS_CACHE_TIMEOUT: 0,
            libcurl.SSL_EC_CURVES: "X25519:P-256:P-384:P-521",
            libcurl.SSL_SESSIONID_CACHE: 0,
            libcurl.SSL_VERIFYPEER: 0,
            libcurl.SSL_VERIFYHOST: 0,
        }
        for option, value in options.items():
            self.easy.set(option, value)

    def on_connected(self, _peer: str) -> bool:
        return True

    def on_body(self, _first: bytes) -> int:
        return 1 << 40


class Loop:
    """libcurl's multi interface around epoll, and nothing else."""

    def __init__(self, keep: Keep, visits: list[list[Any]], in_flight: int) -> None:
        self._keep = keep
        self._visits = iter(visits)
        self._epoll = select.epoll()
        self._known: set[int] = set()
        self._due = -1.0
        self._multi = libcurl.Multi(self._on_socket, self._on_timer, 2 * in_flight)
        self._headers = libcurl.Headers(["Accept: text/html", "Accept-Encoding: gzip"])
        self._quota = libcurl.Quota(1 << 40)
        self.failed = 0
        self._open = 0
        for _ in range(in_flight):
            self._next(Handle(self._headers, self._quota))

    def _next(self, handle: Handle) -> None:
        visit = next(self._visits, None)
        if visit is None:
            return
        handle.origin, handle.path, handle.robots, handle.pin = visit
        self._ask(handle)
        self._open += 1

    def _ask(self, handle: Handle) -> None:
        path = ROBOTS if handle.robots else handle.path
        handle.easy.aim(handle.origin + path, path, handle.pin, keep=handle.robots)
        self._multi.add(handle.easy)

    def _on_socket(self, fd: int, what: int) -> None:
        if what == libcurl.POLL_REMOVE:
            self._known.discard(fd)
            self._epoll.unregister(fd)
            return
        mask = (select.EPOLLIN if what & 1 else 0) | (select.EPOLLOUT if what & 2 else 0)
        if fd in self._known:
            self._epoll.modify(fd, mask)
        else:
            self._known.add(fd)
            self._epoll.register(fd, mask)

    def _on_timer(self, milliseconds: int) -> None:
        self._due = -1.0 if milliseconds < 0 else time.monotonic() + milliseconds / 1000

    def run(self) -> None:
        action = self._multi.act
        while self._open:
            wait = 1.0 if self._due < 0 else max(0.0, self._due - time.monotonic())
            for fd, events in self._epoll.poll(wait, 128):
                what = (1 if events & select.EPOLLIN else 0) | (
                    2 if events & select.EPOLLOUT else 0
                )
                action(fd, what or 4)
            if 0 <= self._due <= time.monotonic():
                self._due = -1.0
                action(libcurl.TIMEOUT, 0)
            self._collect()
        self._keep.flush()

    def _collect(self) -> None:
        for handle, code in self._multi.complete():
            assert isinstance(handle, Handle)
            if code:
                self.failed += 1
                self._ended(handle)
            elif handle.robots:
                handle.robots = False
                handle.inbox.empty()
                self._ask(handle)
            else:
                self._keep.page(handle.origin + handle.path, handle.inbox.body())
                self._ended(handle)

    def _ended(self, handle: Handle) -> None:
        handle.inbox.empty()
        self._open -= 1
        self._next(handle)


def child(root: Path) -> None:
    """The measured process: its visits are in a file, its CPU goes to standard output."""
    runs.raise_file_limit()
    job = json.loads((root / "visits.json").read_text())
    keep = Keep(root, READERS[job["reader"]])
    began = time.process_time()
    loop = Loop(keep, job["visits"], job["in_flight"])
    loop.run()
    used = time.process_time() - began
    print(json.dumps({"cpu": used, "pages": keep.pages, "failed": loop.failed}))


def visits_of(log: list[Entry]) -> list[Visit]:
    """The visits of a crawl, in their order, from what the web served."""
    log = sorted(log, key=lambda entry: entry.start)
    asked = {entry.origin for entry in log if entry.target == ROBOTS}
    visits: list[Visit] = []
    for entry in log:
        if entry.target != ROBOTS and entry.status == 200:
            visits.append((entry.origin, entry.target, entry.origin in asked))
            asked.discard(entry.origin)
    return visits


def floor(job: Job, reader: str, visits: list[Visit]) -> float:
    """Microseconds of CPU per page of the bare loop."""
    with tempfile.TemporaryDirectory(prefix="lycosa-floor-") as name:
        root = Path(name)
        with SimWeb(job.world, root / "log", processes=job.servers) as web:
            names = Names(web.world, 64)
            port = web.https_port if job.https else web.http_port
            pinned = [
                (*visit, f"::{names.lookup(visit[0].partition('://')[2])[1]}:{port}")
                for visit in visits
            ]
            text = json.dumps({"visits": pinned, "in_flight": job.workers, "reader": reader})
            (root / "visits.json").write_text(text)
            command = [sys.executable, __file__, "--child", str(root)]
            told = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert told["failed"] == 0 and told["pages"] == len(visits), told
    return float(told["cpu"]) * 1e6 / int(told["pages"])


def compare(job: Job, args: argparse.Namespace) -> bool:
    """Crawl and floor in turn; the ratio is that of the medians. Tells whether it is as wanted."""
    floors, crawls, starts = [], [], []
    visits: list[Visit] = []

    def served(log: list[Entry]) -> None:
        visits[:] = visits_of(log)

    for _ in range(args.repeats):
        with runs.turn(args.lock):
            starts.append(runs.run(replace(job, pages=1)))
            crawls.append(runs.run(job, served=served))
            floors.append(floor(job, args.reader, visits))
    bare = sorted(floors)[len(floors) // 2]
    cost, start = runs.median(crawls), runs.median(starts)
    steady = cost.cpu_us - start.cpu_us / cost.pages
    print(
        f"{'https' if job.https else 'http':5} {job.size // 1000} KB:  floor {bare:.0f} us/page,"
        f"  crawl {steady:.0f} steady, {cost.cpu_us:.0f} with start-up"
        f"  crawl / floor {steady / bare:.2f} steady, {cost.cpu_us / bare:.2f} with start-up"
        f"  ({len(visits)} pages, {sum(visit[2] for visit in visits)} robots.txt,"
        f" reference {cost.reference_ms:.0f} ms, load {cost.load:.1f})"
    )
    if not job.visits or args.reader != "lycosa":
        return True
    met = steady / bare <= MOST
    print(f"crawl / floor, steady: {steady / bare:.2f}, wanted: at most {MOST}: "
          f"{'met' if met else 'NO'}")  # fmt: skip
    return met


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=10_000)
    parser.add_argument("--shape", choices=("real", "simple"), default="real", help="of the web")
    parser.add_argument("--size", type=int, default=80, help="KB of HTML")
    parser.add_argument("--links", type=int, default=0, help="a page: 100, in simple webs 60")
    parser.add_argument("--workers", type=int, default=400, help="in flight, in both")
    parser.add_argument("--reader", choices=READERS, default="lexbor")
    parser.add_argument("--scheme", default="http,https")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--lock", type=Path, help="a file that is locked during each run")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        child(args.child)
        return 0
    if args.quick:
        args.pages, args.repeats = 30, 1
    job = Job(size=args.size * 1000, links=args.links or 60, pages=args.pages,
              workers=args.workers, site_pages=1000)  # fmt: skip
    if args.shape == "real":
        job = replace(job, links=args.links or 100, visits=VISITS, site_pages=0)
    told = f"{VISITS} pages a seed, real shape" if job.visits else "a new host each"
    print(f"{args.pages} pages, {told}, {args.workers} in flight")
    print(f"the floor reads pages by {args.reader}; TLS verification: off (default)")
    jobs = [replace(job, https=scheme == "https") for scheme in args.scheme.split(",")]
    met = [compare(each, args) for each in jobs]
    return 0 if all(met) or args.quick else 1


if __name__ == "__main__":
    sys.exit(main())
