"""What a reader of a crawl gets: pages, their texts and responses, a domain, an explanation.

Owns the names and types of their fields, which are stable: fields are added, never renamed. Values
are frozen, of plain types. Fingerprints and hashes are hexadecimal, digests and record ids as WARC
writes them, '' where there is none. A name that ends in `_ms` is milliseconds since 1970; beside it
is a property that ends in `_at`, the same moment as a `datetime` in UTC.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any, TypeVar
from uuid import UUID

from lycosa.archive.segments import segment_name
from lycosa.archive.warc import base32
from lycosa.page.blocks import spans
from lycosa.page.decode import decode
from lycosa.records import PageRow, header_list
from lycosa.urls.canonical import host_of
from lycosa.urls.domains import domain_once

DECODED_LIMIT = 64 << 20  # bytes of an unpacked body
DECODED_SECONDS = 10.0  # of CPU time to unpack it

_UNSIGNED = (1 << 64) - 1

Each = TypeVar("Each")


def moment(ms: int) -> datetime | None:
    """Milliseconds since 1970 as a datetime in UTC; None for 0."""
    return datetime.fromtimestamp(ms / 1000, UTC) if ms else None


@dataclass(frozen=True, slots=True)
class Page:
    """A URL that is done: a page, or why there is none (`outcome`)."""

    id: int  # in the order in which pages were recorded
    url: str
    depth: int  # links from a seed
    fetched_ms: int
    status: int  # of HTTP; 0: no response
    outcome: str  # 'ok', 'redirect', or why not
    content_type: str
    wire_bytes: int  # received
    text_chars: int  # of all visible text
    content_hash: str  # of it
    redirect: str  # where it leads
    title: str
    text_segment: int  # 0: no text is kept
    text_frame: int
    text_offset: int
    warc_segment: int  # 0: no response is kept
    warc_offset: int
    language: str  # ISO 639-1 where there is one, else 639-3; '' unknown
    language_score: int  # its share of the text, in per cent
    label: str  # 'content', 'listing', 'soft-404' …; '' for what is no page
    label_reason: str
    main_chars: int  # of the main text
    simhash: str  # of the main text: near-duplicates differ in few bits
    payload_digest: str  # of the body as received: 'sha1:' and base32
    truncated: str  # why the body is not whole: 'length', 'time', 'disconnect' …
    duration_ms: int  # from the request to the last byte
    address: str  # of the server
    etag: str
    modified_ms: int  # what the server said; 0 unknown
    charset: str
    referrer: str  # fingerprint of the URL that redirected here; "": none did
    warc_length: int  # bytes of the response record; 0 unknown
    warc_record: str  # its id

    @property
    def fetched_at(self) -> datetime:
        return datetime.fromtimestamp(self.fetched_ms / 1000, UTC)

    @property
    def modified_at(self) -> datetime | None:
        return moment(self.modified_ms)

    @property
    def host(self) -> str:
        return host_of(self.url)

    @property
    def domain(self) -> str:
        """The registrable domain: the unit of politeness."""
        return domain_once(host_of(self.url))

    @property
    def text_file(self) -> str:
        """The segment with its text, relative to the data directory of its node."""
        return segment_name("text", self.text_segment) if self.text_segment else ""

    @property
    def warc_file(self) -> str:
        """The segment with its response, relative to the data directory of its node."""
        return segment_name("warc", self.warc_segment) if self.warc_segment else ""


@dataclass(frozen=True, slots=True)
class TextPage(Page):
    """A page with its text."""

    text: str  # all visible text
    main: str  # the main text, without navigation, banners and the like
    scores: bytes  # 0 to 100 for each line of `text` that is not blank
    languages: tuple[tuple[str, float], ...]  # the best first, with its share
    lang: str  # what the page itself declares
    published: str  # ISO 8601 as far as known
    site_name: str
    canonical: str  # the address that the page calls its own
    redirect_from: str

    @property
    def blocks(self) -> list[tuple[int, int, int]]:
        """(start, end, score): each line that is not blank as characters of `text`."""
        return spans(self.text, self.scores)


@dataclass(frozen=True, slots=True)
class PageResponse(Page):
    """A page with the response as it came; only crawls with --warc keep it."""

    head: bytes  # status line and headers; chunking is undone, what it changed is in X-Crawler-*
    body: bytes  # as received: content-encoded

    @property
    def headers(self) -> list[tuple[str, str]]:
        """Names and values in the order in which they came."""
        lines = self.head.decode("latin-1").replace("\r\n ", " ").replace("\r\n\t", " ")
        pairs = (line.partition(":") for line in lines.split("\r\n")[1:] if line)
        return [(name.strip(), value.strip()) for name, _, value in pairs]

    def header(self, name: str) -> str:
        """The values of a header, joined by commas; '' if it is not there."""
        return header_list(self.head, self.head.lower(), name.lower().encode("latin-1", "replace"))

    def decoded(self, limit: int = DECODED_LIMIT) -> bytes:
        """The body with its Content-Encoding undone, at most `limit` bytes, as far as it can be."""
        return decode(self.body, self.header("content-encoding"), limit, DECODED_SECONDS)[0]


@dataclass(frozen=True, slots=True)
class RobotsFile:
    """What is known of one origin (scheme, host and port) and its robots.txt."""

    origin: str
    fetched_ms: int  # 0: never obtained
    status: int
    failures: int  # in a row
    last_failure: str
    lines: tuple[str, ...] = ()  # what it says to this crawl, in normal form; (): nothing
    aim: str = ""  # where it redirects, while that has not been read

    @property
    def fetched_at(self) -> datetime | None:
        return moment(self.fetched_ms)


@dataclass(frozen=True, slots=True)
class QueuedPage:
    """A URL that is to be fetched."""

    url: str
    domain: str
    depth: int  # links from a seed
    attempts: int  # that failed so far
    found_ms: int  # 0: not known, because it waits
    waits_until_ms: int  # not tried before; 0: it does not wait
    seed: bool  # the user named it
    sitemap: bool

    @property
    def found_at(self) -> datetime | None:
        return moment(self.found_ms)

    @property
    def waits_until_at(self) -> datetime | None:
        return moment(self.waits_until_ms)


@dataclass(frozen=True, slots=True)
class DomainVisit:
    """A visit to a domain, as the ledger of its engine tells it."""

    started_ms: int
    ended_ms: int  # of one that was cut off: when it began
    requests: int
    address: str  # of the server
    outcome: str  # '' of one that was cut off
    finished: bool  # False: it runs, or a kill cut it off
    engine_id: int
    pause: float | None  # seconds since the end of the visit before; None: not known

    @property
    def started_at(self) -> datetime | None:
        return moment(self.started_ms)

    @property
    def ended_at(self) -> datetime | None:
        return moment(self.ended_ms)


@dataclass(frozen=True, slots=True)
class Domain:
    """What is known of one domain."""

    name: str
    state: str  # 'held', 'idle', 'waiting' or 'ready'
    seeded: bool  # the user named it
    pages: int
    queued: int  # about so many
    ready_ms: int  # not visited before
    delay: float  # seconds that its robots.txt asks for between visits; 0: the crawl's own
    failures: int  # times in a row that it said it is overloaded
    outcomes: dict[str, int] = field(default_factory=dict)  # its URLs that are done
    languages: dict[str, int] = field(default_factory=dict)
    labels: dict[str, int] = field(default_factory=dict)
    origins: tuple[RobotsFile, ...] = ()
    counted: int = 0  # URLs that the three counts are of: some by chance, if it has very many
    pause: float = 0.0  # seconds that lie between its visits now, and
    pause_from: str = ""  # where that comes from: '--delay', 'robots.txt' or 'overloaded'
    head: tuple[QueuedPage, ...] = ()  # the first of its queue
    visits: tuple[DomainVisit, ...] = ()  # the last, the newest first, of the directories given
    behind: int = 0  # domains in line before it, if that is all that is known of its next visit

    @property
    def ready_at(self) -> datetime | None:
        return moment(self.ready_ms)


@dataclass(frozen=True, slots=True)
class DomainLine:
    """A domain in a list of domains."""

    name: str
    value: float  # what the list is sorted by: pages, queued URLs, failures or seconds
    state: str  # 'held', 'idle', 'waiting' or 'ready'
    seeded: bool
    pages: int
    queued: int  # about so many
    delay: float  # seconds that its robots.txt asks for between visits; 0: the crawl's own
    failures: int  # times in a row that it said it is overloaded
    ready_ms: int  # not visited before
    behind: int = 0  # domains in line before it, if that is all that is known of its next visit

    @property
    def ready_at(self) -> datetime | None:
        return moment(self.ready_ms)


class Listed(list[Each]):
    """A list that says what it is of: nobody looks through forty million rows for a person."""

    def __init__(self, found: Iterable[Each], of: str) -> None:
        super().__init__(found)
        self.of = of


@dataclass(frozen=True, slots=True)
class Explanation:
    """What became of a URL, and why."""

    url: str  # canonical
    fingerprint: str
    domain: str
    page: Page | None  # set: it is done
    queued: bool
    refused: str  # why scope refuses it: the name under which it is counted
    lines: tuple[str, ...]  # in words, as 'lycosa why' prints them


@dataclass(frozen=True, slots=True)
class Status:
    """How a crawl stands."""

    state: str  # 'finished', 'stopped', 'stopping', 'loading' or 'running'
    running: bool
    started_ms: int
    pages: int
    ok: int
    queued: int
    domains: int
    bytes_received: int
    requests: int
    outcomes: dict[str, int]
    drops: dict[str, int]
    lost: int  # pages that lost their text or response
    limit: str  # what holds the speed now
    pages_per_s: float  # over the last minute; 0.0 if it does not run
    ran_s: float  # seconds for which it has run, over all runs
    ended_ms: int  # when it last stopped or finished; 0 while it runs
    end: str  # when the work will be over, in words
    disk: dict[str, int]  # bytes by kind, of the nodes whose history is here
    retries: dict[str, int]  # failures that are tried again, by cause
    details: dict[str, Any]  # all that 'lycosa status --json' prints

    @property
    def started_at(self) -> datetime | None:
        return moment(self.started_ms)

    @property
    def ended_at(self) -> datetime | None:
        return moment(self.ended_ms)


# -- from rows to values --------------------------------------------------------------------------

_PAGE_FIELDS = tuple(each.name for each in fields(Page))[1:]
_values = attrgetter(*_PAGE_FIELDS)
_AT = {name: at for at, name in enumerate(_PAGE_FIELDS)}
_HEX = tuple(_AT[name] for name in ("content_hash", "simhash", "referrer"))
_DIGEST, _RECORD = _AT["payload_digest"], _AT["warc_record"]


def hexadecimal(number: int) -> str:
    """64 bits as 16 digits, as in the text; '' for 0."""
    return f"{number & _UNSIGNED:016x}" if number else ""


def _page_values(row: PageRow) -> list[Any]:
    values = list(_values(row))
    for at in _HEX:
        values[at] = hexadecimal(values[at])
    values[_DIGEST] = f"sha1:{base32(row.payload_digest)}" if row.payload_digest else ""
    values[_RECORD] = f"<urn:uuid:{UUID(bytes=row.warc_record)}>" if row.warc_record else ""
    return values


def page_of(ident: int, row: PageRow) -> Page:
    """A row of the table as a page."""
    return Page(ident, *_page_values(row))


def text_page_of(ident: int, row: PageRow, kept: dict[str, Any]) -> TextPage:
    """A page with its row of the text archive. What its older formats lack is empty."""
    values = _page_values(row)
    values[_AT["title"]] = kept.get("title", row.title)  # the table's may be cut
    values += (
        kept.get("text", ""),
        kept.get("main", ""),
        bytes.fromhex(kept.get("scores", "")),
        tuple(map(tuple, kept.get("languages", ()))),
        kept.get("lang", ""),
        kept.get("published", ""),
        kept.get("site_name", ""),
        kept.get("canonical", ""),
        kept.get("redirect_from", ""),
    )
    return TextPage(ident, *values)


def response_of(ident: int, row: PageRow, head: bytes, body: bytes) -> PageResponse:
    """A page with its response."""
    return PageResponse(ident, *[*_page_values(row), head, body])
