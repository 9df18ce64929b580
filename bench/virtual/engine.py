"""One simulated engine: it leases domains, visits them in virtual time, and commits about once a
second through the real verbs of the store.

It keeps what the protocol asks of engines: no visit that could outlive its lease, a domain given
back only with or after its last page, a batch whose outcome it did not hear of sent again as it
was. What becomes of it is decided in `faults`. It tells the witness of each visit, and of each
commit when the store has applied it.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from lycosa.errors import Fenced
from lycosa.frontier.protocol import Batch, Deferral, Release
from lycosa.records import FOUND, Lease, Origin, PageRow, QueuedUrl
from virtual.sites import parsed

if TYPE_CHECKING:
    from virtual.crawl import Crawl

T = TypeVar("T")

LEASE_MS = 180_000
RENEW_MS = LEASE_MS // 20
LONGEST_MS = 10_000  # of a visit
SHORTEST_MS = 150
RULES = b"r" * 40  # of a robots.txt
RETRY_MS = 90_000
KEPT = 0.4  # of the domains stay with their engine until it finds no URL of theirs
# Of the visits: what becomes of them beside a page.
DEFERRED, FAILED, REDIRECTED = 0.02, 0.01, 0.01
SLOW_SITES = 0.01  # of the domains ask for a delay of their own
SLOW_MS = (100_000, 140_000)


@dataclass(slots=True)
class Domain:
    """One that an engine holds."""

    d: int
    lease: Lease
    run: list[QueuedUrl]  # the next ones, in order
    delay_ms: int
    keep: bool
    end_ms: int = 0  # of its last visit


@dataclass
class Told:
    """What a batch does, by numbers, for the witness."""

    pages: list[tuple[int, int, bool]] = field(default_factory=list)
    links: list[int] = field(default_factory=list)
    released: list[int] = field(default_factory=list)
    delays: list[tuple[int, int]] = field(default_factory=list)
    failed: list[tuple[int, int]] = field(default_factory=list)


class Engine:
    """Ticks once a second; between two ticks its visits begin and end at times of their own."""

    def __init__(self, crawl: Crawl) -> None:
        self.crawl = crawl
        self.store: Any = crawl.connect()
        self.id: int = self._timed("register", self.store.register, "sim", 1, "sim", "/sim")
        self.alive = True
        self.leaving = False
        self.held: dict[int, Domain] = {}
        self.batch, self.told = Batch(), Told()
        self.clock = crawl.now_ms  # up to which its visits are simulated
        self._due: list[tuple[int, int]] = []  # (ms, d): the next visits
        self._flying: list[tuple[int, int]] = []  # (end in ms, d)
        self._fresh = 0  # leased and not yet visited
        self._dry: list[int] = []  # kept, and out of URLs
        self._number = 0
        self._deadline = crawl.now_ms + LEASE_MS
        self._renewed = 0

    # -- visits -----------------------------------------------------------------------------------

    def advance(self, until: int) -> None:
        """Begin and end visits, in the order of their times."""
        due, flying, workers = self._due, self._flying, self.crawl.workers
        while True:
            end = flying[0][0] if flying else until + 1
            begin = until + 1
            if due and len(flying) < workers and not self.leaving:
                begin = max(due[0][0], self.clock)
            if min(begin, end) > until:
                break
            if end <= begin:
                self.clock = max(self.clock, end)
                self._ended(self.held[heapq.heappop(flying)[1]], end)
            elif begin + LONGEST_MS > self._deadline:
                break
            else:
                self.clock = begin
                self._begin(self.held[heapq.heappop(due)[1]], begin)
        self.clock = until

    def _begin(self, domain: Domain, now: int) -> None:
        share = self.crawl.chance.random()
        end = now + SHORTEST_MS + int(share * share * share * (LONGEST_MS - SHORTEST_MS))
        self.crawl.witness.visit(domain.d, self.id, now, end)
        heapq.heappush(self._flying, (end, domain.d))

    def _ended(self, domain: Domain, now: int) -> None:
        """A visit is over: its page goes into the batch."""
        if not domain.end_ms:
            self._fresh -= 1
        domain.end_ms = now
        url, what = domain.run.pop(0), self.crawl.chance.random()
        d, j = domain.d, parsed(url.url)[1]
        if not domain.lease.origins:
            self._first_visit(domain, now)
        if what < DEFERRED:
            self.batch.deferred.append(
                Deferral(domain.lease.domain_id, url, now + RETRY_MS, url.attempts + 1)
            )
            domain.run, domain.keep = [], False  # its run is old: what waits is behind the others
        elif what < DEFERRED + FAILED:
            self._record(domain, url, j, now, 0, "connect")
            self.told.failed.append((d, j))
            self._link(d, j, url.depth)  # so that the world stays closed
        elif what < DEFERRED + FAILED + REDIRECTED:
            self._redirected(domain, url, j, now)
        else:
            self._record(domain, url, j, now, 200, "ok")
            self._link(d, j, url.depth)
        self._next(domain)

    def _next(self, domain: Domain) -> None:
        if domain.run and domain.keep:
            heapq.heappush(self._due, (domain.end_ms + domain.delay_ms, domain.d))
        elif domain.keep and not self.leaving:
            self._dry.append(domain.d)
        else:
            self._release(domain)

    def _first_visit(self, domain: Domain, now: int) -> None:
        """It brought robots.txt, which may ask for a longer delay."""
        ident, name = domain.lease.domain_id, domain.lease.name
        origin = Origin(f"https://{name}", now, 200, RULES)
        domain.lease.origins.append(origin)
        self.batch.origins.append((ident, origin))
        if self.crawl.slow(domain.d):
            domain.delay_ms = SLOW_MS[domain.d % 2]
            self.batch.delays.append((ident, domain.delay_ms))
            self.told.delays.append((domain.d, domain.delay_ms))
            self.crawl.witness.learn(domain.d, domain.delay_ms)

    def _record(
        self, domain: Domain, url: QueuedUrl, j: int, now: int, status: int, outcome: str
    ) -> None:
        number = self.crawl.sites.number(domain.d, j)
        self.batch.pages.append(
            PageRow(
                domain.lease.domain_id, url.fp, url.url, url.order, url.depth, now, status, outcome,
                text_segment=int(outcome == "ok"), text_frame=number, content_hash=number,
            )
        )  # fmt: skip
        self.told.pages.append((domain.d, j, url.order == FOUND))

    def _redirected(self, domain: Domain, url: QueuedUrl, j: int, now: int) -> None:
        """To the next page of the domain; one that was done before is not kept twice."""
        self._record(domain, url, j, now, 301, "redirect")
        sites, target = self.crawl.sites, (j + 1) % self.crawl.sites.urls
        ident, fp, text, depth, *_ = sites.link(domain.d, target, url.depth)
        said = (ident, fp) in self._timed("settled", self.store.settled, [(ident, fp)])
        self.crawl.witness.settled(domain.d, target, said)
        domain.run = [each for each in domain.run if each.fp != fp]
        self._link(domain.d, j, url.depth)
        if not said:
            self._record(domain, QueuedUrl(fp, text, depth, FOUND), target, now, 200, "ok")
            self._link(domain.d, target, depth)

    def _link(self, d: int, j: int, depth: int) -> None:
        sites = self.crawl.sites
        for other, number in sites.links(d, j):
            self.batch.links.append(sites.link(other, number, depth + 1))
            self.told.links.append(sites.number(other, number))

    def _release(self, domain: Domain) -> None:
        lease = domain.lease
        polite = max(domain.end_ms + domain.delay_ms, lease.ready_ms)
        self.batch.released.append(
            Release(lease.domain_id, polite, pages=lease.pages + 1, queued=lease.queued)
        )
        self.told.released.append(domain.d)
        del self.held[domain.d]

    # -- exchanges --------------------------------------------------------------------------------

    def tick(self) -> None:
        """What a real engine does about once a second: commit, refill, lease."""
        now = self.crawl.now_ms
        self.advance(now)
        if self.leaving and not self._flying:
            self._give_all_back()
        if not self.batch.empty() or now - self._renewed >= RENEW_MS:
            self.commit(twice=self.crawl.chance.random() < self.crawl.lost_outcomes)
        else:
            self._timed("watch", self.store.watch)
        if self.leaving:
            self._leave()
            return
        self._refill()
        self._lease()

    def commit(self, twice: bool = False) -> None:
        """`twice`: the outcome was not heard of, and the batch is sent again as it is."""
        batch = self.batch
        self._number += 1
        batch.number = self._number
        batch.segments = [("text", self.id, self._number * 1000, False)]
        batch.stats = {"pages": self._number}
        sent = self.crawl.now_ms
        for _ in range(1 + twice):
            self._timed("commit", self.store.commit, self.id, batch)
        self.crawl.applied(self)
        self.batch, self.told = Batch(), Told()
        self._deadline, self._renewed = sent + LEASE_MS, sent
        self.crawl.counts["outcomes lost"] += twice

    def _refill(self) -> None:
        """The next URLs of domains that are kept; one without any is given back."""
        dry, self._dry = self._dry, []
        if not dry:
            return
        ids = {self.held[d].lease.domain_id: d for d in dry}
        runs = self._timed("refill", self.store.refill, list(ids))
        for ident, d in ids.items():
            domain = self.held[d]
            domain.run = runs[ident]
            self.crawl.witness.handed(d, domain.run)
            domain.keep = bool(domain.run)
            self._next(domain)

    def _lease(self) -> None:
        want = self.crawl.workers - len(self._flying) - self._fresh
        if want <= 0:
            return
        for lease in self._timed("lease", self.store.lease, self.id, want):
            d = self.crawl.leased(self, lease)
            delay = max(self.crawl.delay_ms, lease.delay_ms)
            keep = self.crawl.chance.random() < KEPT
            domain = Domain(d, lease, list(lease.urls), delay, keep)
            self.held[d] = domain
            if domain.run:
                self._fresh += 1
                heapq.heappush(self._due, (max(lease.ready_ms, self.crawl.now_ms), d))
            else:
                domain.end_ms = lease.ready_ms - delay  # nothing to do: ready as it was
                self._release(domain)

    # -- ends -------------------------------------------------------------------------------------

    def _give_all_back(self) -> None:
        for domain in list(self.held.values()):
            if not domain.end_ms:
                domain.end_ms = domain.lease.ready_ms - domain.delay_ms
            self._release(domain)
        self._due, self._dry, self._fresh = [], [], 0

    def _leave(self) -> None:
        if not self.held:
            self._timed("retire", self.store.retire, self.id)
            self.crawl.left(self)
            self.close()

    def stop_wire(self) -> None:
        """Its process is gone: so are its connections."""
        for _, d in self._flying:
            self.crawl.witness.cut(d, self.crawl.now_ms)

    def writes_as_dead(self) -> bool:
        """Whether the store takes a batch of it, now that it was declared dead."""
        self._number += 1
        self.batch.number = self._number
        try:
            self.store.commit(self.id, self.batch)
        except Fenced:
            return False
        return True

    def close(self) -> None:
        self.alive = False
        self.store.close()

    def _timed(self, verb: str, call: Callable[..., T], *args: Any) -> T:
        return self.crawl.clock.timed(verb, call, *args)
