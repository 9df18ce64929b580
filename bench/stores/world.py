"""The load on a store: domains with sizes as real sites have them, and the links of their pages.

Of ten domains five are finished: all their URLs are done, and links still lead to them. Four were
visited and have URLs queued, the sizes of these follow a Pareto law; one was only heard of. Ids and
fingerprints are the real ones. A page has 100 links in the mean, fewer on small sites, five of them
to other domains. Most are known; on a site that is visited for the first time nearly all are new,
so that it is 34 new links in the mean.
Everything follows from the numbers of domains, URLs and visits: nothing is kept, and all engines
know the same. Tables of the store are unknown here.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from lycosa.engine.sent_links import SentLinks
from lycosa.frontier.protocol import Batch, Deferral, Link, Release
from lycosa.records import Lease, Origin, PageRow, QueuedUrl
from lycosa.urls.domains import domain_id
from lycosa.urls.fingerprint import fingerprint
from stores.paths import mixed, name_of, number_of, origin_of, url_of

PAGE_LINKS = 122  # on a site that has as many pages
FOREIGN = 5  # of them, of which:
POPULAR = 2  # to domains that many link to, and to the same few pages of these
EVEN = 2  # to known pages of any domain
UNKNOWN = 0.2  # to domains never heard of; what is left of FOREIGN are new pages of any domain
OWN = PAGE_LINKS - FOREIGN
LATER_NEW = 18  # own new links of a page, unless it is the first of its site: then nearly all
MENU = 30  # own links that all pages of a site share

FINISHED, VISITED, HEARD = range(3)  # kinds of domains
KINDS = (*[FINISHED] * 5, *[VISITED] * 4, HEARD)
PARETO = 1.2  # of the sizes of sites
SMALLEST, LARGEST = 34, 8_000  # URLs of a visited site; the store takes 10,000 queued ones
ROUNDS = 4  # visits in which the fill finds the URLs of a site
ROBOTS = 300  # bytes


@dataclass
class Load:
    """The domains of a store with about so many queued URLs."""

    urls: int
    domains: int = 0
    sizes: list[int] = field(default_factory=list)  # known URLs by domain

    def __post_init__(self) -> None:
        queued = 0
        while queued < self.urls or len(self.sizes) % len(KINDS):
            size = _size(len(self.sizes))
            if kind_of(len(self.sizes)) != FINISHED:
                queued += size
            self.sizes.append(size)
        self.domains = len(self.sizes)

    def known(self, d: int, visits: int) -> int:
        """How many URLs of a domain are known after so many visits: the first ones."""
        size, kind = (self.sizes[d], kind_of(d)) if d < self.domains else (1, HEARD)
        if kind == HEARD:
            return OWN + LATER_NEW * (visits - 1) if visits else size
        filled = ROUNDS if kind == VISITED else size
        return size + LATER_NEW * max(0, visits - filled)

    def of_kind(self, kind: int) -> Iterator[int]:
        return (d for d in range(self.domains) if kind_of(d) == kind)


def kind_of(d: int) -> int:
    return KINDS[d % len(KINDS)]


def _size(d: int) -> int:
    share = (mixed(d, 5) + 1) / 2**32
    kind = kind_of(d)
    if kind == VISITED:
        return min(LARGEST, int(SMALLEST * share ** (-1 / PARETO)))
    if kind == FINISHED:
        return int(SMALLEST**share)  # most of them small: the large ones are not finished
    return 1 + mixed(d, 6) % 3


class Site:
    """A domain, for making links to it."""

    __slots__ = ("d", "ident", "name", "origin")

    def __init__(self, d: int) -> None:
        self.d, self.name = d, name_of(d)
        self.ident = domain_id(self.name)
        self.origin = origin_of(d, self.name)

    def link(self, i: int, depth: int = 1) -> Link:
        url = url_of(self.d, self.origin, i)
        return (self.ident, fingerprint(url), url, depth, self.name, 0)


def page_row(lease: Lease, url: QueuedUrl, number: int, now_ms: int) -> PageRow:
    return PageRow(
        domain_id=lease.domain_id, fp=url.fp, url=url.url, order=url.order, depth=url.depth,
        fetched_ms=now_ms, status=200, outcome="ok", content_type="text/html; charset=utf-8",
        wire_bytes=20_000, text_chars=4_000, content_hash=mixed(url.fp, number) << 24,
        title="A title of a page, as long as titles are", text_segment=1,
        text_frame=number, text_offset=len(url.url),
    )  # fmt: skip


def robots_of(lease: Lease, now_ms: int) -> tuple[int, Origin]:
    """What a first visit brings beside its page."""
    origin = origin_of(number_of(lease.name), lease.name)
    return lease.domain_id, Origin(origin, now_ms, 200, b"r" * ROBOTS)


class Pages:
    """What an engine would have fetched: batches of pages with their links."""

    def __init__(self, load: Load, engine: int, seed: int) -> None:
        self._load = load
        self._rng = random.Random(seed * 1000 + engine)
        self._unknown = (seed * 16 + engine + 1) * 10_000_000 + KINDS.index(HEARD)
        self._sent = SentLinks()  # as an engine has it: links that repeat are not sent
        self._number = 0
        self.links = 0  # of all pages
        self.foreign = 0

    def batch(self, visits: list[tuple[Lease, QueuedUrl]], keep: set[int], now_ms: int) -> Batch:
        """One page for each visit; domains in `keep` are not given back."""
        self._number += 1
        batch = Batch(number=self._number)
        for index, (lease, url) in enumerate(visits):
            if index % 50 == 49:
                batch.deferred.append(Deferral(lease.domain_id, url, now_ms + 280_000, 1))
            else:
                batch.pages.append(page_row(lease, url, self._number, now_ms))
                batch.links += filter(self._unsent, self._links(lease))
            if not lease.origins and lease.domain_id not in keep:
                batch.origins.append(robots_of(lease, now_ms))
            if lease.domain_id not in keep:
                counts = {"pages": lease.pages + 1, "queued": lease.queued}
                batch.released.append(Release(lease.domain_id, now_ms, **counts))
            lease.pages += 1
        batch.segments = [("text", 1, self._number * 1000, False)]
        batch.stats = {"pages": self._number}
        return batch

    def _unsent(self, link: Link) -> bool:
        self.links += 1
        if link[1] in self._sent:
            return False
        self._sent.add(link[1])
        return True

    def _links(self, lease: Lease) -> Iterator[Link]:
        site = Site(number_of(lease.name))
        known = self._load.known(site.d, lease.pages)
        new = self._load.known(site.d, lease.pages + 1) - known
        menu = min(known, MENU)
        others = self._rng.sample(range(menu, known), min(OWN - new - menu, known - menu))
        yield from map(site.link, range(menu))
        yield from map(site.link, others)
        yield from map(site.link, range(known, known + new))
        yield from self._to_others()

    def _to_others(self) -> Iterator[Link]:
        rng, domains, sizes = self._rng, self._load.domains, self._load.sizes
        self.foreign += FOREIGN
        for _ in range(POPULAR):
            d = int(domains ** rng.random()) - 1
            yield Site(d).link(rng.randrange(min(8, sizes[d])), 0)
        for _ in range(EVEN):
            d = rng.randrange(domains)
            yield Site(d).link(rng.randrange(sizes[d]), 0)
        for _ in range(FOREIGN - POPULAR - EVEN):
            if rng.random() < UNKNOWN:
                self._unknown += len(KINDS)
                yield Site(self._unknown).link(0, 0)
            else:
                yield Site(rng.randrange(domains)).link(rng.randrange(20_000, 60_000), 0)
