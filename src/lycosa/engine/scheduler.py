"""Which domain an engine visits next, and which it keeps. Pure: events and `now` in, values out.

A leased domain is in exactly one place: ready (its time has come, in the order in which it came),
waiting (in a heap by the time at which it is ready), visited, out of URLs (its run is empty: it
needs a refill), or leaving (given back with the next commit). The scheduler knows nothing of HTTP,
of the store, or of what a visit does.
"""

from __future__ import annotations

import heapq
import itertools
from array import array
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from lycosa.engine.store_clock import StoreClock
from lycosa.frontier.protocol import Release
from lycosa.politeness.robots import Rules
from lycosa.records import Lease, Origin, QueuedUrl, SharedRobots

SPARE = 8  # domains that an engine may hold beyond twice what another has: not worth moving
KEEP = 1.25  # domains held, as a multiple of rate x delay
RECENT = 64  # fingerprints of a held domain known to be done: a redirect to one is not followed
AHEAD = 2  # domains asked for, as a multiple of what the rate needs: answers may take longer
# Domains asked for at once, for each second until the next answer: engines that start together
# share what there is. And at most: what is fetched meanwhile waits for the store in memory.
LEASE_STEP = 1000
LEASE_MOST = 2000
LEAVE_MOST = 5000  # domains given back at once, 6 us each: an engine that stops holds 100,000
PARSED_BYTES = 1024  # of an origin's rules that stay parsed between visits
KEPT_BYTES = 16 << 10  # of a domain's robots rules: one with more is not kept between visits


@dataclass(slots=True)
class KnownOrigin:
    """An origin of a held domain, with its rules parsed at most once."""

    record: Origin
    parsed: Rules | None = None
    answer: SharedRobots | None = None  # to what it waits for, as it came with the lease

    def rules(self) -> Rules:
        if self.parsed is None:
            self.parsed = Rules.load(self.record.rules)
        return self.parsed


@dataclass(slots=True)
class Held:
    """A leased domain."""

    id: int
    name: str
    seeded: bool
    delay: float  # seconds, at least the crawl's
    failures: int  # 429 and 503 in a row
    pages: int
    queued: int  # estimate
    ready: float  # engine clock
    run: list[QueuedUrl]  # a few, of which the first is the next
    origins: dict[str, KnownOrigin]
    asked: float = 0.0  # seconds that its sites ask for (Crawl-delay), also if the crawl's are more
    recent: array[int] = field(default_factory=lambda: array("q"))
    noted_ms: int = 0  # the delay of its own that is in the ledger; -1: one may be
    outdated: bool = False  # the store may know more of its origins by its next turn
    place: int = 0  # among those who wait for an address, see `address_turns`
    waits_at: str = ""  # that address
    address: str = ""  # where it is being visited, if others must wait for that
    # For the proof of politeness (`notes`): by what visits told, not by what was scheduled.
    ended: float = 0.0  # when the last visit did, if it was ours; engine clock
    needed: float = 0.0  # the pause that is due since then
    allowed_ms: int = 0  # before which the store allows no visit

    def remember(self, fp: int) -> None:
        """This URL is done."""
        self.recent.append(fp)
        if len(self.recent) > RECENT:
            del self.recent[0]

    def shrink(self) -> bool:
        """Make it small for the time between visits; False if it is too large to be kept."""
        size = 0
        for known in self.origins.values():
            size += len(known.record.rules)
            known.answer = None
            if len(known.record.rules) > PARSED_BYTES:
                known.parsed = None
        return size <= KEPT_BYTES


class Scheduler:
    """The leased domains of one engine, of which it visits `max_fetches` at once."""

    def __init__(self, delay: float, max_fetches: int) -> None:
        self.delay = delay
        self.max_fetches = max_fetches
        self.held: dict[int, Held] = {}
        self.visiting = 0
        self.store_has_more = False  # domains that are ready and that no engine holds
        self.least_held: int | None = None  # by an engine elsewhere that would like more
        self.rate = 0.0  # visits per second, smoothed
        self._ready: deque[Held] = deque()
        self._waiting: list[tuple[float, int, Held]] = []
        self._places = itertools.count()
        self._out_of_urls: dict[int, Held] = {}
        self._leaving: list[Held] = []

    # -- coming in ----------------------------------------------------------------------------

    def add(self, leases: Iterable[Lease], asked: int, now: float, now_ms: int) -> None:
        """Leases that the store granted; `asked` is how many it was asked for."""
        count = 0
        for lease in leases:
            count += 1
            self._place(self._hold(lease, now, now_ms))
        self.store_has_more = 0 < asked <= count

    def _hold(self, lease: Lease, now: float, now_ms: int) -> Held:
        held = Held(
            id=lease.domain_id,
            name=lease.name,
            seeded=lease.seeded,
            delay=max(self.delay, lease.delay_ms / 1000),
            failures=lease.failures,
            pages=lease.pages,
            queued=lease.queued,
            ready=now + max(0, lease.ready_ms - now_ms) / 1000,
            run=lease.urls,
            origins=_known(lease),
            asked=lease.delay_ms / 1000,
            noted_ms=-1 if lease.failures else self._noted_ms(lease.delay_ms),
            allowed_ms=lease.ready_ms,
        )
        self.held[held.id] = held
        return held

    def _noted_ms(self, asked_ms: int) -> int:
        """What the ledger has of a domain that asks for so much: more than the crawl's delay."""
        return asked_ms if asked_ms > self.delay * 1000 else 0

    def refilled(self, runs: dict[int, list[QueuedUrl]]) -> None:
        """More URLs of domains that had run out of them; those that got none leave."""
        for ident, urls in runs.items():
            held = self._out_of_urls.pop(ident, None)
            if held is not None:
                held.run.extend(urls)
                self._place(held) if urls else self._leaving.append(held)

    def _place(self, held: Held) -> None:
        if held.run:
            # Those that are ready at the same time are visited in the order in which they came.
            heapq.heappush(self._waiting, (held.ready, next(self._places), held))
        else:
            self._out_of_urls[held.id] = held

    # -- visits -------------------------------------------------------------------------------

    def next(self, now: float) -> Held | None:
        """A domain whose time has come, now being visited; None if there is none."""
        self.move_due(now)
        if not self._ready:
            return None
        self.visiting += 1
        return self._ready.popleft()

    def move_due(self, now: float) -> None:
        """Move the domains whose time has come from waiting to ready."""
        waiting, ready = self._waiting, self._ready
        while waiting and waiting[0][0] <= now:
            ready.append(heapq.heappop(waiting)[2])

    def put_back(self, held: Held, ready: float) -> None:
        """It was not visited after all (its address is busy): not before `ready`."""
        self.visiting -= 1
        held.ready = ready
        self._place(held)

    def give_back(self, held: Held, ready: float) -> None:
        """It was not visited, and would wait so long that the store may have it."""
        self.visiting -= 1
        held.ready = ready
        self._leaving.append(held)

    def visited(self, held: Held, now: float, ready: float) -> None:
        """A visit ended; the domain may be visited again at `ready`."""
        self.visiting -= 1
        held.ready = ready
        if self._keeps(held, now):
            self._place(held)
        else:
            self._leaving.append(held)

    def _keeps(self, held: Held, now: float) -> bool:
        """Keep a domain unless others in the store have waited longer, it waits long itself, or
        the engine holds too many. One that waits for more than its delay (it was busy) leaves: the
        store remembers until when."""
        wait = held.ready - now
        if wait > held.delay or wait > 2 * self.delay + 1 or not held.shrink() or held.outdated:
            return False
        if self.store_has_more or self._has_plenty():
            return False
        return len(self.held) <= self.rate * self.delay * KEEP + 2 * self.max_fetches

    def _has_plenty(self) -> bool:
        """Whether another engine wants domains and holds less than half as many."""
        return self.least_held is not None and len(self.held) > 2 * self.least_held + SPARE

    # -- talking to the store -----------------------------------------------------------------

    def domains_to_ask_for(self, now: float, lag: float) -> int:
        """How many more domains can be visited until the store has answered the next question,
        which comes in a second; `lag`: how long an answer takes."""
        self.move_due(now)
        if self._has_plenty():
            return 0
        free = self.max_fetches - self.visiting
        target = free + self.rate * AHEAD * (1.0 + lag)
        most = min(LEASE_MOST, round(LEASE_STEP * (1.0 + lag)))
        return max(0, min(most, round(target) - len(self._ready)))

    def wants_domains(self, now: float) -> bool:
        """Whether a fetch is free and no domain is ready for it."""
        self.move_due(now)
        return not self._ready and self.visiting < self.max_fetches

    def to_refill(self) -> list[int]:
        """Domains out of URLs, to be refilled once what happened to them is committed."""
        return list(self._out_of_urls)

    def take_leaving(self, clock: StoreClock) -> list[Release]:
        """The domains that are given back with the next commit, LEAVE_MOST at most."""
        released = [self._release(held, clock) for held in self._leaving[:LEAVE_MOST]]
        del self._leaving[:LEAVE_MOST]
        return released

    @property
    def many_leaving(self) -> bool:
        """Whether one commit is not enough for all that leave."""
        return len(self._leaving) > LEAVE_MOST

    def _release(self, held: Held, clock: StoreClock) -> Release:
        del self.held[held.id]
        # Rounded up: a millisecond early would break the delay.
        polite_ms = clock.ms(held.ready) + 1
        return Release(held.id, polite_ms, held.failures, held.pages, held.queued)

    def give_back_all(self) -> None:
        """The engine stops: every domain leaves that is not being visited."""
        for held in [
            *self._ready,
            *(entry[2] for entry in self._waiting),
            *self._out_of_urls.values(),
        ]:
            self._leaving.append(held)
        self._ready.clear()
        self._waiting.clear()
        self._out_of_urls.clear()

    def change_delay(self, delay: float, least: float, now: float) -> None:
        """The crawl's delay changed. Domains that wait since a visit do so for as much longer; or
        none waits for longer than the new delay, unless its site asks for it or is busy. `least`:
        the shortest delay by which they may be scheduled."""
        before, self.delay = self.delay, delay
        if delay == before:
            return
        for held in self.held.values():
            held.ready = _moved(held, min(least, before) if delay > before else before, delay, now)
            held.delay = max(delay, held.asked)
        moved, self._waiting = [entry[2] for entry in self._waiting], []
        moved += self._ready
        self._ready.clear()
        for held in moved:
            self._place(held)

    def try_all_origins(self) -> None:
        """Origins that were given up may be tried again: the crawl's rules have changed."""
        for held in self.held.values():
            for known in held.origins.values():
                if known.record.reason:
                    known.record.reason = ""
                    known.record.failures = known.record.retry_ms = 0

    def next_time(self) -> float | None:
        """When a waiting domain is ready next; None if none waits."""
        return self._waiting[0][0] if self._waiting else None

    @property
    def ready_count(self) -> int:
        return len(self._ready)


def _moved(held: Held, before: float, delay: float, now: float) -> float:
    """When a held domain may be visited after the crawl's delay has changed."""
    if delay < before:
        least = now + max(delay, held.asked)
        return held.ready if held.failures else min(held.ready, least)
    visited = held.pages or held.origins or held.failures
    longer = max(delay, held.asked) - max(before, held.asked)
    # Nobody has to wait for more than the whole delay from now on.
    return max(held.ready, min(held.ready + longer, now + delay)) if visited else held.ready


def _known(lease: Lease) -> dict[str, KnownOrigin]:
    answers = {answer.url: answer for answer in lease.answers}
    return {
        origin.origin: KnownOrigin(origin, answer=answers.get(origin.aim))
        for origin in lease.origins
    }
