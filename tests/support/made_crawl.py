"""A crawl made without a network: real stores, real segments, pages that nobody fetched."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from lycosa.archive.ledger import Ledger
from lycosa.archive.segments import SegmentWriter
from lycosa.archive.text import text_row
from lycosa.archive.warc import record_ids, response_records, warcinfo
from lycosa.clock import wall_now
from lycosa.engine.exchange import Exchange, Exchanger
from lycosa.frontier.protocol import Batch, Frontier, Link, Release
from lycosa.node.start import create, open_crawl
from lycosa.records import Kind, Lease, PageRow, QueuedUrl, Request, Response
from lycosa.settings.values import CrawlSettings, NodeSettings, RunLimits
from lycosa.urls.canonical import domain_id, fingerprint
from lycosa.urls.fingerprint import content_hash

EMAIL = "tests@lycosa.example"
WORDS = ("web", "spider", "silk", "orb", "weaver", "thread", "dew", "meadow", "venom", "egg")


def crawl_settings() -> CrawlSettings:
    return CrawlSettings(email=EMAIL, delay=0.0)


def make(
    root: Path,
    store: str = "sqlite",
    pages: int = 120,
    engines: int = 2,
    warc: bool = True,
    segment_bytes: int = 2500,
    join: bool = False,
) -> None:
    """A crawl that has fetched everything, several small segments for each engine."""
    with opened(root, store, join) as (frontier, node):
        domains = max(1, pages // 10)
        name = root.name if join else "d"
        links = [_link(f"{name}{n % domains}.test", f"/{n}") for n in range(pages)]
        frontier.add(links, rank=0)
        _crawl(frontier, root, node, engines, warc, segment_bytes)


def finish(root: Path, store: str = "sqlite") -> None:
    """Go on with a crawl until nothing is queued."""
    with opened(root, store, resume=True) as (frontier, node):
        _crawl(frontier, root, node, 1, True, 6000)
        assert frontier.backlog()[0] == 0


def _crawl(
    frontier: Frontier, root: Path, node: str, engines: int, warc: bool, segment_bytes: int
) -> None:
    workers = [_Worker(frontier, root, node, warc, segment_bytes) for _ in range(engines)]
    while sum(worker.work() for worker in workers):
        pass
    for worker in workers:
        worker.end()
    frontier.put_settings({"seeds_loaded": 1, "finished": 1})


@contextmanager
def opened(
    root: Path, store: str = "sqlite", resume: bool = False
) -> Iterator[tuple[Frontier, str]]:
    """The frontier of a crawl in a directory, as a node opens it."""
    root.mkdir(exist_ok=True)
    node = NodeSettings(data_dir=root, store=store)
    presence = open_crawl(crawl_settings(), node, RunLimits(), [], resume)
    with closing(presence.frontier):
        yield presence.frontier, presence.name


def make_empty(root: Path) -> None:
    """A crawl on SQLite that has not begun."""
    root.mkdir()
    create(root / "crawl.sqlite", crawl_settings())


def _link(domain: str, path: str) -> Link:
    url = f"https://{domain}{path}"
    return (domain_id(domain), fingerprint(url), url, 1, domain, 0)


class _Worker:
    """What an engine does, without a network."""

    def __init__(self, frontier: Frontier, root: Path, node: str, warc: bool, size: int) -> None:
        self.owner = frontier.register("host", 1, node, str(root))
        self.frontier = frontier
        self.ids = record_ids()
        self.ledger = Ledger(root, self.owner, size)
        text = SegmentWriter(root, "text", self.owner, size)
        kept = SegmentWriter(root, "warc", self.owner, 8 * size, self._info) if warc else None
        clock: Callable[[], float] = lambda: 1.0  # noqa: E731
        self.exchanger = Exchanger(frontier, self.owner, clock, text, kept, self.ledger)
        self.warc = warc
        self.chance = random.Random(self.owner)

    def _info(self, name: str) -> bytes:
        return warcinfo(name, wall_now(), self.ids, "lycosa", EMAIL, "agent", "tests")

    def work(self) -> bool:
        leases = self.frontier.lease(self.owner, 1)
        batch = Batch(stats={"outcomes": {}, "ok": 0, "pages": 0})
        for lease in leases:
            for url in lease.urls:
                batch.pages.append(self._page(lease, url))
                self.ledger.started([(lease.name, wall_now())])
                self.ledger.ended(lease.name, wall_now(), wall_now(), 1, "192.0.2.1", "ok")
            batch.released.append(Release(lease.domain_id, 1))
        reply = self.exchanger.perform(Exchange(batch))
        assert reply.error is None, reply.error
        return bool(leases)

    def end(self) -> None:
        reply = self.exchanger.perform(Exchange(Batch()), closing=True)
        assert reply.error is None, reply.error
        self.frontier.retire(self.owner)
        self.ledger.close()

    def _page(self, lease: Lease, url: QueuedUrl) -> PageRow:
        row = PageRow(
            lease.domain_id, url.fp, url.url, url.order, url.depth, wall_now(), 200, "ok",
            "text/html",
        )  # fmt: skip
        if self.chance.random() < 0.1:
            row.status, row.outcome = 404, "http-404"
        else:
            text = " ".join(self.chance.choices(WORDS, k=self.chance.randrange(5, 120)))
            row.text_chars, row.content_hash = len(text), content_hash(text)
            row.text_row = text_row(
                row.url, row.fetched_ms, 200, "title", "en", text,
                depth=row.depth, content_type="text/html", content_hash=row.content_hash,
            )  # fmt: skip
        if self.warc:
            row.warc = response_records(self._response(row), b"GET / HTTP/1.1\r\n\r\n",
                                        row.fetched_ms, self.ids)  # fmt: skip
        return row

    def _response(self, row: PageRow) -> Response:
        request = Request(row.url, lease_host(row.url), 443, True, Kind.PAGE, 0.0)
        body = f"<p>{' '.join(self.chance.choices(WORDS, k=60))}".encode()
        head = b"HTTP/1.1 %d OK\r\nContent-Type: text/html\r\n\r\n" % row.status
        return Response(request, row.status, head, body, address="192.0.2.1")


def lease_host(url: str) -> str:
    return url.split("/")[2]
