"""Small values that the stores hand out or take in.

Owns their fields, and nothing else; the protocol that they belong to is in `frontier`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from lycosa.records import Url
from lycosa.urls.canonical import host_of
from lycosa.urls.domains import domain_of

# A URL on its way in: (domain_id, fp, url, depth, domain name, flags). A tuple, because a page
# has a hundred of them.
Link = tuple[int, int, Url, int, str, int]


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
