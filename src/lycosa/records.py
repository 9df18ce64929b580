"""Plain values that rooms hand to each other.

Imports nothing of lycosa. Hot values are plain slotted dataclasses (a frozen one costs three
times as much to make). Two kinds of time appear here: `float` seconds on the engine's clock
(`clock.engine_now`), and `int` milliseconds of UTC wall time, named `*_ms`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import NewType

Url = NewType("Url", str)
"""An http(s) URL in its canonical form. Only `urls/canonical` makes one, and code that reads back
a stored one. The frontier takes nothing else, which the type checker enforces."""
NO_URL = Url("")


class Flag:
    """Bits of a queued URL. Plain numbers: an enum's `&` takes a microsecond."""

    NONE = 0
    BARE = 1  # a seed given as a bare domain: https first, then http in the same visit
    SEED = 2
    SITEMAP = 4
    ERRAND = 8  # a robots.txt that another domain redirects to: see `errands`
    KILL = 16  # counts engines that died while parsing it: see `engine/poison`; no flag is higher


class Kind(IntEnum):
    """What a request is for: limits and accepted types follow from it."""

    PAGE = 0
    ROBOTS = 1
    SITEMAP = 2


class Failure:
    """Why no usable response came. Stored and counted by these names."""

    NONE = ""
    NXDOMAIN = "dns-nxdomain"  # the name does not exist
    DNS = "dns"  # servfail, timeout, no address
    PRIVATE = "private-address"  # S1: not globally routable; never connected to
    OUTSIDE = "outside-network"  # not in a network that --only-network names; never connected to
    PORT = "blocked-port"  # of a robots.txt that redirects there; never connected to
    CONNECT = "connect"  # refused, unreachable
    CONNECT_TIMEOUT = "connect-timeout"  # connect or TLS handshake not done in time
    TLS = "tls"
    FIRST_BYTE = "first-byte-timeout"
    TIMEOUT = "timeout"
    RESET = "reset"  # closed or reset before a usable response
    PROTOCOL = "protocol"  # not HTTP, malformed, over libcurl's header limits
    LOCAL = "local"  # our own shortage (EMFILE): the host is not to blame, try again
    MEMORY = "memory"  # no room for its body: the host is not to blame, try again
    NAMESERVER = "name-server"  # ours can't be reached: no host is to blame, try again
    STOPPED = "stopped"  # we cancelled it

    # Failures of the host, not of one URL: they count against the origin.
    HOST = frozenset({NXDOMAIN, DNS, CONNECT, CONNECT_TIMEOUT, TLS})
    # Failures of this machine: they cost a URL nothing but time.
    OURS = frozenset({LOCAL, MEMORY, NAMESERVER})


FOUND = -1  # order of a URL that a visit met on its way, which may not be queued


class Truncated:
    """Why a body is not whole; the values of WARC-Truncated."""

    NO = ""
    LENGTH = "length"
    TIME = "time"
    DISCONNECT = "disconnect"
    TYPE = "unspecified"  # not a text type: the body was not downloaded


MAX_VALUE = 8_192  # bytes of a header's value that are read; longer than any URL we take
MAX_VALUES = 64  # headers of one name


@dataclass(slots=True)
class Request:
    """One HTTP GET; its address is looked up later."""

    url: str
    host: str  # as in the URL, IPv6 without brackets
    port: int
    https: bool
    kind: Kind
    deadline: float  # engine clock: the transfer ends by then, whatever its own limits
    keep_alive: bool = False  # leave the connection open: a request to the same origin follows
    only: str = ""  # the one address that may be connected to; '': any of the host's
    token: object = None  # the caller's own


@dataclass(slots=True)
class Response:
    """What came of a Request. `failure` is '' when there is a status to be used."""

    request: Request
    status: int = 0
    head: bytes = b""  # raw header block of the final response, status line and blank line included
    body: bytes = b""  # as received: content-encoded, but without chunking
    failure: str = Failure.NONE
    truncated: str = Truncated.NO
    address: str = ""  # connected to
    started: float = 0.0
    ended: float = 0.0
    connects: int = 0  # connections opened for it
    reason: str = ""  # of a failure, in the words of libcurl or the TLS library
    # Seconds of its phases; 0.0: there was none, as on a connection that was open.
    connect: float = 0.0
    tls: float = 0.0
    first_byte: float = 0.0  # from the request to the first byte of the answer
    _lower: bytes = b""  # the head in lower case, once somebody asked for a header

    def header(self, name: bytes) -> str:
        """The first header of that (lower-case) name, or ''."""
        values = self.headers(name)
        return values[0] if values else ""

    def joined(self, name: bytes) -> str:
        """All headers of that (lower-case) name as one list, joined by commas."""
        return header_list(self.head, self.lower(), name)

    def headers(self, name: bytes) -> list[str]:
        """All headers of that (lower-case) name."""
        return header_values(self.head, self.lower(), name)

    def lower(self) -> bytes:
        """The head in lower case."""
        if len(self._lower) != len(self.head):
            self._lower = self.head.lower()
        return self._lower


def header_values(head: bytes, lower: bytes, name: bytes) -> list[str]:
    """The values of a header, each cut at MAX_VALUE bytes: libcurl lets 100 KB pass.

    All code that reads headers gets them here. `lower` is the head in lower case.
    """
    values: list[str] = []
    needle = b"\n" + name + b":"
    at = lower.find(needle)
    while at >= 0 and len(values) < MAX_VALUES:
        begin = at + len(needle)
        end = head.find(b"\n", begin, begin + MAX_VALUE)
        line = head[begin : end if end >= 0 else begin + MAX_VALUE]
        # A value that is cut keeps its blanks, so that it is longer than any whole one.
        values.append((line.strip() if len(line) < MAX_VALUE else line).decode("latin-1"))
        at = lower.find(needle, begin)
    return values


def header_list(head: bytes, lower: bytes, name: bytes) -> str:
    """The values of a header as one list, joined by commas, of at most MAX_VALUE characters."""
    return ", ".join(header_values(head, lower, name))[:MAX_VALUE]


@dataclass(slots=True)
class QueuedUrl:
    """One row of a domain's queue."""

    fp: int  # signed 64 bit
    url: Url
    depth: int
    order: int
    attempts: int = 0
    flags: int = 0


@dataclass(slots=True)
class Origin:
    """What is known of one origin: its robots.txt, and how often in a row it failed."""

    origin: str  # "https://www.example.com" or "http://example.com:8080"
    fetched_ms: int = 0  # when robots.txt was obtained; 0: never
    status: int = 0  # its HTTP status
    rules: bytes = b""  # robots.Rules.dump()
    failures: int = 0
    retry_ms: int = 0  # not to be tried before
    reason: str = ""  # set: its URLs fail at once until retry_ms
    detail: str = ""  # its last failure, with the words of libcurl or the TLS library
    aim: Url = NO_URL  # set: where its robots.txt is, in another domain: it waits for the answer
    hops: int = 0  # redirects that led there
    asked_ms: int = 0  # since when it waits


@dataclass(slots=True)
class SharedRobots:
    """The answer of a URL that robots.txt files of other domains redirect to."""

    domain_id: int  # of the URL
    fp: int
    url: str
    fetched_ms: int
    status: int  # 0: it could not be had, or may not be asked for
    location: Url = NO_URL  # it redirects once more
    rules: bytes = b""  # robots.Rules.dump()


@dataclass(slots=True)
class Lease:
    """One leased domain with what an engine needs to visit it."""

    domain_id: int
    name: str
    ready_ms: int  # store clock
    delay_ms: int  # its own, 0 for the crawl's
    failures: int  # 429 and 503 in a row
    pages: int
    queued: int  # as stored at the last release: an estimate
    seeded: bool
    urls: list[QueuedUrl] = field(default_factory=list)
    origins: list[Origin] = field(default_factory=list)
    answers: list[SharedRobots] = field(default_factory=list)  # to what its origins wait for


@dataclass(slots=True)
class PageRow:
    """One URL that is done or failed for good: a row of `pages`."""

    domain_id: int
    fp: int
    url: Url
    order: int  # of the queue row it replaces; -1: found on the way (a redirect's target)
    depth: int
    fetched_ms: int
    status: int
    outcome: str  # 'ok', 'redirect', or why not
    content_type: str = ""
    wire_bytes: int = 0
    text_chars: int = 0
    content_hash: int = 0
    redirect: str = ""
    title: str = ""
    text_row: bytes = b""  # its line for the text archive, '' for none; not stored in the table
    warc: tuple[bytes, ...] = ()  # its WARC records; not stored in the table
    text_segment: int = 0
    text_frame: int = 0  # offset of the zstd frame in the segment
    text_offset: int = 0  # offset of the line in the unpacked frame
    warc_segment: int = 0
    warc_offset: int = 0
    # What a data set and a later crawl of the same pages need beside it. Filled where it is known.
    language: str = ""  # the best guess, ISO 639-1 where there is one
    language_score: int = 0  # its share of the text, in per cent
    label: str = ""  # what kind of page it is: see `page/labels`
    label_reason: str = ""
    main_chars: int = 0  # of the main text
    simhash: int = 0  # of the main text; near-duplicates differ in few bits
    payload_digest: bytes = b""  # SHA-1 of the body as received
    truncated: str = Truncated.NO
    duration_ms: int = 0  # from the request to the last byte
    address: str = ""  # of the server
    etag: str = ""
    modified_ms: int = 0  # what the server said: Last-Modified
    charset: str = ""
    referrer: int = 0  # fingerprint of the URL that redirected here; 0: none did
    warc_length: int = 0  # bytes of the response record
    warc_record: bytes = b""  # the UUID of the response record
