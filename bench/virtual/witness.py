"""Who watches a crawl and knows nothing of its store: what was offered, what is done, who holds
what, and when each domain was visited last.

Every check takes the same short time however large the crawl is: numbers in arrays, by domain or by
URL. Invariants by their names in docs/architecture.md: P1, the delay between two visits of a
domain; P2, one engine holds a domain; F1, a URL is queued or done, never lost and never done twice.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable

from lycosa.records import Lease, QueuedUrl
from virtual.sites import Sites, parsed

UNKNOWN, QUEUED, DONE = range(3)  # states of a URL
SHOWN = 20  # violations that are printed
ENOUGH = 200  # of them: what follows from the first ones is not worth a look


class Witness:
    """Told of everything that happens, and complains."""

    def __init__(self, sites: Sites, delay_ms: int) -> None:
        self.sites = sites
        self.delay_ms = delay_ms
        self.states = bytearray(sites.domains * sites.urls)
        self.queued = 0  # URLs in that state
        self.done = 0
        self.holder = array("q", bytes(8 * sites.domains))  # engine by domain, 0: none
        self.held = 0
        self.last_end = array("q", [-(1 << 60)]) * sites.domains
        self.delays = array("q", [delay_ms]) * sites.domains  # that the site asks for, once it did
        self.visited = bytearray(sites.domains)  # how often, up to 255
        self.visits = 0
        self.shortest_ms = 1 << 60  # of the pauses at domains without a delay of their own
        self.checks = 0
        self.violations: list[str] = []
        self.violated = 0

    def complain(self, what: str) -> None:
        self.violated += 1
        if self.violated <= SHOWN:
            self.violations.append(what)
            print(f"  VIOLATION: {what}", flush=True)

    # -- visits -----------------------------------------------------------------------------------

    def visit(self, d: int, engine: int, start_ms: int, end_ms: int) -> None:
        """P1, P2: an engine visits a domain from one moment to another."""
        pause = start_ms - self.last_end[d]
        if pause < self.delays[d]:
            self.complain(f"P1: {self.sites.names[d]} visited {pause} ms after the last visit")
        if pause < self.shortest_ms and self.delays[d] == self.delay_ms:
            self.shortest_ms = pause
        if self.holder[d] != engine:
            who = f"held by {self.holder[d]}"
            self.complain(f"P2: {self.sites.names[d]} visited by engine {engine}, {who}")
        self.last_end[d] = end_ms
        self.visits += 1
        self.checks += 3
        if self.visited[d] < 255:
            self.visited[d] += 1

    def cut(self, d: int, now_ms: int) -> None:
        """The visitor died: the site saw the end of its connection."""
        self.last_end[d] = min(self.last_end[d], now_ms)

    def learn(self, d: int, delay_ms: int) -> None:
        self.delays[d] = delay_ms

    def forget_delay(self, d: int) -> None:
        """Nobody is left who knows it."""
        self.delays[d] = self.delay_ms

    # -- tokens -----------------------------------------------------------------------------------

    def leased(self, d: int, engine: int, lease: Lease, committed_delay: int) -> None:
        """P2: a domain goes to an engine. What was committed of its delay comes with it."""
        if self.holder[d]:
            other = self.holder[d]
            self.complain(f"P2: {lease.name} leased to engine {engine}, held by {other}")
        else:
            self.held += 1
        self.holder[d] = engine
        if lease.delay_ms < committed_delay:
            self.complain(f"P1: the delay of {lease.name} was forgotten")
        self.checks += 2
        self.handed(d, lease.urls)

    def freed(self, ds: Iterable[int], engine: int) -> None:
        """An engine gave domains back, or was declared dead."""
        for d in ds:
            if self.holder[d] == engine:
                self.holder[d] = 0
                self.held -= 1
            else:
                self.complain(f"P2: {self.sites.names[d]} freed by engine {engine}")

    # -- URLs -------------------------------------------------------------------------------------

    def handed(self, d: int, urls: list[QueuedUrl]) -> list[int]:
        """F1: only what is queued is handed out, to whoever holds its domain, each once."""
        found = []
        for url in urls:
            domain, j = parsed(url.url)
            if domain != d or self.states[self.sites.number(d, j)] != QUEUED:
                self.complain(f"F1: {url.url} handed out, and not queued")
            found.append(j)
        if len(set(found)) != len(found):
            self.complain(f"F1: a URL of {self.sites.names[d]} handed out twice at once")
        self.checks += len(urls)
        return found

    def offered(self, number: int) -> bool:
        """A committed link leads to a URL; returns whether it is new."""
        if self.states[number] != UNKNOWN:
            return False
        self.states[number] = QUEUED
        self.queued += 1
        return True

    def fetched(self, d: int, j: int, on_the_way: bool) -> None:
        """F1: a committed page is done, and was not done before."""
        number = self.sites.number(d, j)
        state = self.states[number]
        if state == DONE or (state == UNKNOWN and not on_the_way):
            self.complain(f"F1: {self.sites.url(d, j)} done twice, or never offered")
            return
        self.queued -= state == QUEUED
        self.done += 1
        self.states[number] = DONE
        self.checks += 1

    def again(self, d: int, j: int) -> None:
        """A page that was done is queued again, by somebody's wish."""
        number = self.sites.number(d, j)
        if self.states[number] != DONE:
            self.complain(f"F1: {self.sites.url(d, j)} taken back, and was not done")
            return
        self.states[number] = QUEUED
        self.done -= 1
        self.queued += 1

    def settled(self, d: int, j: int, told: bool) -> None:
        """F1: the store says whether a URL is done."""
        self.checks += 1
        if told != (self.states[self.sites.number(d, j)] == DONE):
            self.complain(f"F1: of {self.sites.url(d, j)} the store says done: {told}")
