"""A crawl made without a network: real stores, real segments, pages that nobody fetched."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from lycosa.archive.ledger import Ledger
from lycosa.archive.segments import SegmentWriter
from lycosa.archive.text import text_row
from lycosa.archive.warc import (
    record_ids,
    record_uuid,
    response_length,
    response_records,
    warcinfo,
)
from lycosa.clock import wall_now
from lycosa.engine.exchange import Exchange, Exchanger
from lycosa.frontier.protocol import Batch, Frontier, Release
from lycosa.node.start import create, open_crawl
from lycosa.page.blocks import lines_of
from lycosa.records import PageRow, QueuedUrl, Response
from lycosa.settings.values import CrawlSettings, NodeSettings, RunLimits
from lycosa.urls.fingerprint import content_hash
from support.made import link, made_request, page_of

EMAIL = "tests@lycosa.example"
LABELS = ("content", "content", "listing", "soft-404")
LANGUAGES = ("en", "de", "en")
WORDS = ("web", "spider", "silk", "orb", "weaver", "thread", "dew", "meadow", "museum", "egg")


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
        links = [link(f"https://{name}{n % domains}.test/{n}", depth=1) for n in range(pages)]
        frontier.add(links, rank=0)
        made = (
            _Engine(frontier, root, node, warc=warc, segment_bytes=segment_bytes)
            for _ in range(engines)
        )
        _crawl(frontier, list(made))


def finish(root: Path, store: str = "sqlite") -> None:
    """Go on with a crawl until nothing is queued."""
    with opened(root, store, resume=True) as (frontier, node):
        _crawl(frontier, [_Engine(frontier, root, node, warc=True, segment_bytes=6000)])
        assert frontier.backlog()[0] == 0


def _crawl(frontier: Frontier, engines: list[_Engine]) -> None:
    """Until nothing is queued."""
    while sum(engine.work() for engine in engines):
        pass
    for engine in engines:
        engine.end()
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


class _Engine:
    """What an engine does, without a network."""

    def __init__(
        self, frontier: Frontier, root: Path, node: str, *, warc: bool, segment_bytes: int
    ) -> None:
        self.engine_id = frontier.register("host", 1, node, str(root))
        self.frontier = frontier
        self.ids = record_ids()
        self.ledger = Ledger(root, self.engine_id, segment_bytes)
        text = SegmentWriter(root, "text", self.engine_id, segment_bytes)
        kept = None
        if warc:
            kept = SegmentWriter(root, "warc", self.engine_id, 8 * segment_bytes, head=self._info)
        self.exchanger = Exchanger(frontier, self.engine_id, lambda: 1.0, text, kept, self.ledger)
        self.warc = warc
        self.chance = random.Random(self.engine_id)

    def _info(self, name: str) -> bytes:
        return warcinfo(
            name, wall_now(), self.ids,
            software="lycosa", operator=EMAIL, user_agent="agent", part_of="tests",
        )  # fmt: skip

    def work(self) -> bool:
        leases = self.frontier.lease(self.engine_id, 1)
        batch = Batch(stats={"outcomes": {}, "ok": 0, "pages": 0})
        for lease in leases:
            for url in lease.urls:
                batch.pages.append(self._page(url))
                self.ledger.started([(lease.name, wall_now())])
                now = wall_now()
                self.ledger.ended(
                    lease.name, now, now, requests=1, address="192.0.2.1", outcome="ok"
                )
            pages = lease.pages + len(lease.urls)
            batch.released.append(Release(lease.domain_id, 1, pages=pages))
        reply = self.exchanger.perform(Exchange(batch))
        assert reply.error is None, reply.error
        return bool(leases)

    def end(self) -> None:
        reply = self.exchanger.perform(Exchange(Batch()), closing=True)
        assert reply.error is None, reply.error
        self.frontier.retire(self.engine_id)
        self.ledger.close()

    def _page(self, url: QueuedUrl) -> PageRow:
        row = page_of(url, fetched_ms=wall_now())
        row.content_type = "text/html"
        if self.chance.random() < 0.1:
            row.status, row.outcome = 404, "http-404"
        else:
            text = " ".join(self.chance.choices(WORDS, k=self.chance.randrange(5, 120)))
            self._judge(row, text)
        if self.warc:
            row.warc = response_records(self._response(row), b"GET / HTTP/1.1\r\n\r\n",
                                        row.fetched_ms, self.ids)  # fmt: skip
            row.warc_length, row.warc_record = response_length(row.warc), record_uuid(row.warc)
            row.payload_digest = hashlib.sha1(row.warc[1], usedforsecurity=False).digest()
        return row

    def _judge(self, row: PageRow, text: str) -> None:
        """What a page says of itself and what is said of it: different by URL, always the same."""
        number = int(row.url.rpartition("/")[2])
        head, main = f"Menu {number}", text.partition(" ")[2]
        visible = f"{head}\n{main}"
        row.title, row.text_chars = f"Spider {number}", len(visible)
        row.content_hash, row.main_chars = content_hash(visible), len(main)
        row.label, row.label_reason = LABELS[number % len(LABELS)], "made"
        row.language, row.language_score = LANGUAGES[number % len(LANGUAGES)], 97
        row.simhash = -1 - number
        scores = bytes([5]) + bytes([95]) * len(lines_of(main))
        row.text_row = text_row(
            row.url, row.fetched_ms, row.status, title=row.title, lang="en", text=visible,
            depth=row.depth, content_type="text/html", content_hash=row.content_hash, main=main,
            scores=scores, languages=[(row.language, 0.97)], label=row.label,
            label_reason=row.label_reason, published="2026-01-31", site_name="Webs",
            canonical=row.url, simhash=row.simhash,
        )  # fmt: skip

    def _response(self, row: PageRow) -> Response:
        body = f"<p>{' '.join(self.chance.choices(WORDS, k=60))}".encode()
        head = b"HTTP/1.1 %d OK\r\nContent-Type: text/html\r\n\r\n" % row.status
        return Response(made_request(row.url), row.status, head, body, address="192.0.2.1")
