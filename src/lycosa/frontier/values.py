"""The values that stores take in or hand out: what an engine commits, what it hears then, and what
readers get.

Owns their fields, and nothing else; the verbs that they go through are in `protocol`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from lycosa.records import Origin, PageRow, QueuedUrl, SharedRobots, Url
from lycosa.urls.canonical import host_of
from lycosa.urls.domains import domain_of

# A URL on its way in: (domain_id, fp, url, depth, domain name, flags). A tuple, because a page
# has a hundred of them.
Link = tuple[int, int, Url, int, str, int]
_PACKED = struct.Struct("=qH")  # what comes before a URL in a LinkBlock


class LinkBlock(NamedTuple):
    """Links of one page to its own domain, without flags. Most links are such, and most are known:
    the compiled modules hand them from the page to the log without an object for each."""

    domain_id: int
    name: str
    depth: int
    number: int
    data: bytes  # of each its fingerprint, the length of its URL, and the URL

    def links(self) -> Iterator[Link]:
        """One by one, for all others."""
        at, data = 0, self.data
        while at < len(data):
            fp, size = _PACKED.unpack_from(data, at)
            at += _PACKED.size + size
            yield self.domain_id, fp, Url(data[at - size : at].decode()), self.depth, self.name, 0


@dataclass(slots=True)
class Deferral:
    """A queued URL that waits: it moves to the waiting lane of its domain's queue."""

    domain_id: int
    url: QueuedUrl  # as it was handed out
    until_ms: int
    attempts: int


@dataclass(slots=True)
class Purge:
    """All queued URLs of one origin fail for good (`outcome`), or are dropped and counted."""

    domain_id: int
    origin: str  # '' for the whole domain
    outcome: str
    forget: bool = False  # a cap or an exclusion: deleted and counted, not recorded
    errands: bool = False  # those too: nobody may send us there


@dataclass(slots=True)
class Release:
    """A domain given back; the store decides whether it is ready or idle."""

    domain_id: int
    polite_ms: int  # no visit before
    failures: int = 0
    pages: int = 0
    queued: int = 0


@dataclass(slots=True)
class Batch:
    """Everything that happened in an engine since its last commit."""

    number: int = 0
    pages: list[PageRow] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    blocks: list[LinkBlock] = field(default_factory=list)  # more links
    deferred: list[Deferral] = field(default_factory=list)
    origins: list[tuple[int, Origin]] = field(default_factory=list)
    delays: list[tuple[int, int]] = field(default_factory=list)  # (domain_id, delay_ms) learnt
    purges: list[Purge] = field(default_factory=list)
    dropped: list[tuple[int, QueuedUrl, str]] = field(default_factory=list)  # by reason, '': done
    errands: list[Link] = field(default_factory=list)  # to be made for origins that wait
    answers: list[SharedRobots] = field(default_factory=list)  # of errands that were made
    slots: list[tuple[str, int]] = field(default_factory=list)  # addresses given back, from when
    released: list[Release] = field(default_factory=list)
    records: list[tuple[bytes, ...]] = field(default_factory=list)  # for the WARC, of no page
    edges: dict[tuple[str, str], int] = field(default_factory=dict)  # links by source and target
    segments: list[tuple[str, int, int, bool]] = field(default_factory=list)  # kind, id, length
    stats: dict[str, Any] = field(default_factory=dict)
    in_blocks: int = 0  # links

    def take(self, block: LinkBlock) -> None:
        """Links of a page to its own domain."""
        self.blocks.append(block)
        self.in_blocks += block.number

    @property
    def link_count(self) -> int:
        """How many links it has."""
        return len(self.links) + self.in_blocks

    def all_links(self) -> list[Link]:
        """Those in blocks, too. The store takes them in this order, and of one URL the first:
        what a page links to and robots.txt calls a sitemap is a sitemap."""
        flagged = [link for link in self.links if link[5]]
        plain = [link for link in self.links if not link[5]]
        return [*flagged, *(link for block in self.blocks for link in block.links()), *plain]

    def visited(self) -> set[int]:
        """The domains that an engine must hold to commit it. Where a redirect led (an order below
        0) is not among them."""
        return {
            *(page.domain_id for page in self.pages if page.order >= 0),
            *(each.domain_id for each in self.deferred),
            *(each.domain_id for each in self.released),
        }

    def empty(self) -> bool:
        """Whether committing it would change nothing but the lease and the counters."""
        return not (
            self.pages
            or self.links
            or self.blocks
            or self.deferred
            or self.origins
            or self.delays
            or self.purges
            or self.dropped
            or self.errands
            or self.answers
            or self.slots
            or self.released
            or self.records
        )


@dataclass(slots=True)
class Committed:
    """What an engine must know after a commit."""

    now_ms: int
    total_pages: int  # of the whole crawl, engines of all nodes
    stop: bool  # somebody asked the crawl to stop
    rules_version: int  # changes when engines must hear of new rules (`rules_changed`)
    engines: int = 0  # of all nodes that work on the crawl; 0: of one node, which knows
    least_held: int | None = None  # by an engine that would like more domains; None: nobody
    added: dict[int, int] = field(default_factory=dict)  # new URLs by domain
    drops: dict[str, int] = field(default_factory=dict)  # refused by the store, by reason
    purged: dict[str, int] = field(default_factory=dict)  # failed for good in bulk, by outcome
    refused: list[SharedRobots] = field(default_factory=list)  # errands out of scope

    def join(self, other: Committed) -> None:
        """What came in with another transaction of the same engine is told with this one."""
        for ident, count in other.added.items():
            self.added[ident] = self.added.get(ident, 0) + count
        for reason, count in other.drops.items():
            self.drops[reason] = self.drops.get(reason, 0) + count
        self.refused += other.refused


@dataclass(frozen=True, slots=True)
class Change:
    """What is changed in a crawl that may be running: settings to store, and with a new delay, in
    ms, the shortest by which domains may be scheduled and the one that holds from now on."""

    settings: dict[str, Any]
    delay_ms: tuple[int, int] | None = None


class LeftOut(NamedTuple):
    """A URL that an exclusion took out of the queue."""

    id: int
    domain_id: int
    fp: int
    url: Url
    depth: int
    flags: int

    def link(self) -> Link:
        return (
            self.domain_id,
            self.fp,
            self.url,
            self.depth,
            domain_of(host_of(self.url)),
            self.flags,
        )


class PagePlace(NamedTuple):
    """Where what is kept of a page lies."""

    id: int
    domain_id: int
    fp: int
    url: str
    fetched_ms: int
    content_hash: int
    outcome: str
    text_segment: int
    text_frame: int
    text_offset: int
    warc_segment: int
    warc_offset: int


NOTES_SECONDS = 0  # in place of the seconds of a line: what the engines of a node noted last


class Place(NamedTuple):
    """Where the output of an engine lies."""

    host: str
    directory: str
    node: str


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What was found out about a server."""

    where: str
    version: str
    round_trip_ms: float
    crawl: bool  # whether it holds one
    connections: int  # that are free
