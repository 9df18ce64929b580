"""Fills a store through the verbs that every store has, as a crawl would have filled it.

Finished domains come first: all their URLs are added, fetched and committed. Then the others are
visited round by round, and each visit finds a part of the site's URLs, so that what lies together
in the store is what came together. Domains that were only heard of are found in the last round.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from lycosa.frontier.protocol import Batch, Link, Release
from lycosa.records import Lease
from stores.paths import number_of
from stores.world import (
    FINISHED,
    HEARD,
    ROUNDS,
    SMALLEST,
    VISITED,
    Load,
    Site,
    page_row,
    robots_of,
)

SEEDS = 20_000  # URLs added at once
LEASES = 1000


class Filler:
    """Works on an empty store, whose runs of URLs must be longer than a finished domain."""

    def __init__(self, store: Any, load: Load) -> None:
        self._store, self._load = store, load
        self._engine = store.register("fill", 1, "fill", "/fill")
        self._number = 0
        self._given: dict[int, int] = {}  # URLs found so far, by domain

    def fill(self) -> None:
        load = self._load
        self._store.load_in_bulk()
        self._add(site.link(i) for site in self._sites(FINISHED) for i in range(load.sizes[site.d]))
        while leases := self._store.lease(self._engine, LEASES):
            self._commit(leases)
        self._add(site.link(0) for site in self._sites(VISITED))
        count = sum(1 for _ in load.of_kind(VISITED))
        heard = [site.link(i) for site in self._sites(HEARD) for i in range(load.sizes[site.d])]
        waiting = iter(heard)
        for number in range(ROUNDS):
            left = count
            while left > 0 and (leases := self._store.lease(self._engine, min(left, LEASES))):
                left -= len(leases)
                links = [link for lease in leases for link in self._next(lease, number)]
                if number == ROUNDS - 1:
                    links += islice(waiting, -(-len(heard) * len(leases) // count))
                self._commit(leases, links)
        self._store.retire(self._engine)

    def _sites(self, kind: int) -> Iterator[Site]:
        return map(Site, self._load.of_kind(kind))

    def _add(self, links: Iterable[Link]) -> None:
        rank, links = 0, iter(links)
        while chunk := list(islice(links, SEEDS)):
            self._store.add(chunk, rank=rank)
            rank += SEEDS

    def _next(self, lease: Lease, number: int) -> Iterator[Link]:
        """The URLs of a site that its next page leads to."""
        d = number_of(lease.name)
        size, given = self._load.sizes[d], self._given.get(d, 1)
        until = size if number == ROUNDS - 1 else min(size, given + max(SMALLEST, size // ROUNDS))
        self._given[d] = until
        return map(Site(d).link, range(given, until))

    def _commit(self, leases: list[Lease], links: list[Link] | None = None) -> None:
        """Fetches a page of each domain, all of its pages if no links are given."""
        self._number += 1
        now = self._store.now_ms()
        batch = Batch(number=self._number, links=links or [])
        for lease in leases:
            urls = lease.urls if links is None else lease.urls[:1]
            batch.pages += [page_row(lease, url, self._number, now) for url in urls]
            if not lease.origins:
                batch.origins.append(robots_of(lease, now))
            pages = lease.pages + len(urls)
            batch.released.append(Release(lease.domain_id, now, pages=pages, queued=lease.queued))
        batch.segments = [("text", 1, self._number * 1000, False)]
        self._store.commit(self._engine, batch)
