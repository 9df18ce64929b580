"""A crawl made without a network whose pages have everything that an export shows: languages,
labels, dates, duplicates, redirects, failures. The number in a page's URL decides what it is."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from lycosa.archive.text import text_row
from lycosa.archive.warc import response_records
from lycosa.clock import wall_now
from lycosa.engine.exchange import Exchange
from lycosa.engine.page_rows import note_records, note_response
from lycosa.frontier.protocol import Batch, Release
from lycosa.page.blocks import lines_of
from lycosa.records import PageRow, QueuedUrl, Response
from lycosa.urls.fingerprint import content_hash
from support.made import link, made_request, page_of
from support.made_crawl import _crawl, _Engine, opened

HOSTS = (
    *("www.example.org", "blog.example.org", "example.no", "a.b.example.fr", "shop.example.co.uk"),
    *("xn--bcher-kva.example", "wikipedie.org", "user.blogspot.com", "vatican.va"),
)
LANGUAGES = ("en", "de", "hu", "is", "ca")
REQUEST = b"GET / HTTP/1.1\r\n\r\n"


def url_of(number: int) -> str:
    host = HOSTS[number % len(HOSTS)]
    scheme = "http" if number % 7 == 0 else "https"
    query = f"?q={number}&lang=en" if number >= len(HOSTS) and number % 11 == 0 else ""
    path = "/" if number < len(HOSTS) else f"/de/caf%C3%A9/{number}"
    return f"{scheme}://{host}{path}{query}"


def is_ok(number: int) -> bool:
    return number % 10 not in (3, 7) and number % 50 != 11


def first_copy(number: int) -> int:
    """Of every twenty pages one has the same body as the first of its kind."""
    return 5 if number % 20 == 5 else number


def text_of(number: int) -> str:
    first = first_copy(number)
    return f"Menu\nPage {first} says schöne Grüße and more words about spiders, {first} times.\nEnd"


def make_rich(
    root: Path,
    numbers: Iterable[int] = range(200),
    store: str = "sqlite",
    engines: int = 2,
    warc: bool = True,
    join: bool = False,
    segment_bytes: int = 20_000,
) -> None:
    """A crawl that has fetched all these."""
    with opened(root, store, join) as (frontier, node):
        frontier.add([link(url_of(n), depth=n % 4) for n in numbers], rank=0)
        made = [
            RichEngine(frontier, root, node, warc=warc, segment_bytes=segment_bytes)
            for _ in range(engines)
        ]
        _crawl(frontier, list(made))


class RichEngine(_Engine):
    """An engine whose pages have everything."""

    def work(self) -> bool:
        leases = self.frontier.lease(self.engine_id, 1)
        batch = Batch(stats={"outcomes": {}, "ok": 0, "pages": 0})
        for lease in leases:
            batch.pages += [self._page(url) for url in lease.urls]
            batch.released.append(Release(lease.domain_id, 1))
        reply = self.exchanger.perform(Exchange(batch))
        assert reply.error is None, reply.error
        return bool(leases)

    def _page(self, url: QueuedUrl) -> PageRow:
        number = number_of(url.url)
        row = page_of(url, fetched_ms=wall_now())
        if number % 50 == 11:
            row.status, row.outcome = 0, "timeout"
            return row
        if number % 10 == 3:
            row.status, row.outcome = 404, "http-404"
        elif number % 10 == 7:
            row.status, row.outcome, row.redirect = 301, "redirect", "https://example.no/new"
        else:
            _note_text(row, number)
        response = _response(row, number)
        note_response(row, response)
        if self.warc:
            digest = row.payload_digest
            note_records(row, response_records(response, REQUEST, row.fetched_ms, self.ids, digest))
        return row


def number_of(url: str) -> int:
    """What `url_of` made the URL of."""
    last = url.partition("?")[0].rpartition("/")[2]
    if last:
        return int(last)
    return next(n for n, host in enumerate(HOSTS) if host == url.split("/")[2])


def _scores(text: str, begin: int, end: int) -> bytes:
    """Lines of the main text have a good score."""
    return bytes(97 if begin <= start < end else 3 for start, _ in lines_of(text))


def _note_text(row: PageRow, number: int) -> None:
    text = text_of(number)
    begin, end = text.index("Page"), text.index("\nEnd")
    row.language = LANGUAGES[number % len(LANGUAGES)]
    row.language_score, row.charset = 93, "utf-8"
    row.label, row.label_reason = ("listing", "links") if number % 4 == 0 else ("content", "text")
    row.title = f"Title {number}"
    row.text_chars, row.main_chars = len(text), end - begin
    row.content_hash, row.simhash = content_hash(text), -5 - first_copy(number)
    row.text_row = text_row(
        row.url,
        row.fetched_ms,
        row.status,
        title=row.title,
        lang="en",
        text=text,
        depth=row.depth,
        content_type="text/html",
        content_hash=row.content_hash,
        main=text[begin:end],
        scores=_scores(text, begin, end),
        languages=[(row.language, 0.93), ("fr", 0.04)],
        label=row.label,
        label_reason=row.label_reason,
        published="2026-02-03",
        site_name="Spiders",
        canonical=row.url,
        simhash=row.simhash,
    )


def _response(row: PageRow, number: int) -> Response:
    location = f"Location: {row.redirect}\r\n" if row.redirect else ""
    head = (
        f"HTTP/1.1 {row.status} OK\r\nContent-Type: text/html; charset=utf-8\r\n{location}"
        'ETag: "x"\r\nLast-Modified: Tue, 03 Feb 2026 10:00:00 GMT\r\n\r\n'
    )
    body = f"<title>Title</title><p>{text_of(number)}".encode() if row.outcome == "ok" else b"<p>no"
    return Response(
        made_request(row.url), row.status, head.encode(), body, address="192.0.2.1", ended=0.25
    )
