"""A made-up web that SQL and Python can both compute: the URLs of a domain, the links of a page.

Keys are spread as hashes are, by multiplication modulo 2**31 and 2**32: the same in every dialect.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from lycosa.frontier.protocol import Batch, Deferral, Link, Release
from lycosa.frontier.states import found_order
from lycosa.records import Lease, Origin, PageRow, QueuedUrl, Url

GROUP = 5  # URLs of one domain that came together, as the new links of one page do
DONE = 50  # URLs done in each domain that the measurement visits
DONE_FROM = 900  # their numbers: a domain's queued URLs are numbered from 0
PER_DOMAIN = 1000  # numbers a domain has
FRESH_FROM = 2_000_000_000  # numbers of URLs that are new

PAGE_LINKS = 60  # of which:
OWN_NEW = 3
OTHER_NEW = 2  # in other domains; one in ten of them in a domain never heard of
OTHER_KNOWN = 5

# Keys in SQL; {n} is a number, at most 2**32.
ID_SQL = (
    "((({n}) * 1403630843 + 777) % 2147483648) * 4294967296 + (({n}) * 2654435761) % 4294967296"
)
FP_SQL = (
    "((({n}) * 1640531527 + 12345) % 2147483648) * 4294967296 + (({n}) * 2246822519) % 4294967296"
)
URL_SQL = (
    "'https://www.site' || {d} || '.example/articles/2026/a-title-of-some-words-' || {i} || '.html'"
)


def domain_key(n: int) -> int:
    return ((n * 1403630843 + 777) % 2**31) * 2**32 + (n * 2654435761) % 2**32


def url_key(n: int) -> int:
    return ((n * 1640531527 + 12345) % 2**31) * 2**32 + (n * 2246822519) % 2**32


def url_of(d: int, i: int) -> Url:
    return Url(f"https://www.site{d}.example/articles/2026/a-title-of-some-words-{i}.html")


def number_of(name: str) -> int:
    """The number of a domain, from its name."""
    return int(name[4 : -len(".example")])


class Pages:
    """What an engine would have fetched: batches of pages with their links."""

    def __init__(self, urls: int, domains: int, seed: int = 1, part: str = "all") -> None:
        self._rng = random.Random(seed)
        self._per_domain = max(1, urls // domains)
        self._domains = domains
        self._fresh = FRESH_FROM + self._rng.randrange(2**30)
        self._number = 0
        self._part = part  # 'visits': pages have no links; 'leases': there are no pages either
        self.new_links = 0

    def batch(self, visits: list[tuple[Lease, QueuedUrl]], keep: set[int], now_ms: int) -> Batch:
        """One page for each visit; domains in `keep` are not given back."""
        self._number += 1
        batch = Batch(number=self._number)
        for index, (lease, url) in enumerate(visits):
            if self._part == "leases":
                pass
            elif index % 50 == 49:
                batch.deferred.append(Deferral(lease.domain_id, url, now_ms + 280_000, 1))
            else:
                batch.pages.append(self._page(lease, url, now_ms))
                batch.links += self._links(lease) if self._part == "all" else ()
            if index % 10 == 0 and self._part != "leases":
                name = f"https://www.{lease.name}"
                batch.origins.append((lease.domain_id, Origin(name, now_ms, 200, b"r" * 300)))
            if lease.domain_id not in keep:
                counts = {"pages": lease.pages + 1, "queued": lease.queued}
                batch.released.append(Release(lease.domain_id, now_ms + 70_000, **counts))
        batch.segments = [("text", 1, self._number * 1000, False)]
        batch.stats = {"pages": self._number}
        return batch

    def _page(self, lease: Lease, url: QueuedUrl, now_ms: int) -> PageRow:
        return PageRow(
            domain_id=lease.domain_id, fp=url.fp, url=url.url, order=url.order, depth=url.depth,
            fetched_ms=now_ms, status=200, outcome="ok", content_type="text/html; charset=utf-8",
            wire_bytes=20_000, text_chars=4_000, content_hash=self._rng.getrandbits(62),
            title="A title of a page, as long as titles are", text_segment=1,
            text_frame=self._number, text_offset=len(url.url),
        )  # fmt: skip

    def _links(self, lease: Lease) -> Iterator[Link]:
        rng, d = self._rng, number_of(lease.name)
        for _ in range(OTHER_KNOWN):
            yield self._known(rng.randrange(self._domains), rng.randrange(self._per_domain))
        queued = min(self._per_domain, PAGE_LINKS // 3)
        yield from (self._known(d, i) for i in range(queued))
        rest = PAGE_LINKS - OTHER_KNOWN - OWN_NEW - OTHER_NEW - queued
        yield from (self._known(d, DONE_FROM + i) for i in range(min(DONE, rest)))
        for place in range(OWN_NEW + OTHER_NEW):
            self._fresh += 1
            self.new_links += 1
            if place < OWN_NEW or d >= self._domains:
                yield _link(d, self._fresh, self._fresh)
            elif self._fresh % 10 == 0:
                yield _link(self._fresh, self._fresh, self._fresh)
            else:
                yield _link(rng.randrange(self._domains), self._fresh, self._fresh)

    def _known(self, d: int, i: int) -> Link:
        return _link(d, d * PER_DOMAIN + i, i)


def _link(d: int, n: int, i: int) -> Link:
    return (domain_key(d), url_key(n), url_of(d, i), 2, f"site{d}.example", 0)


def order_base(now_ms: int) -> int:
    """The place in the queue of a domain's first URL; the others follow."""
    return found_order(1, now_ms - 86_400_000)
