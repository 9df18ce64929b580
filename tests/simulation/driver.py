"""Whole crawls in virtual time: the real core, scheduler and SQLite store, a simulated network.

The checks here know nothing of the crawler's decisions: they watch requests on the wire.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from web import Web

from lycosa.engine.core import Core, CoreRules
from lycosa.engine.exchange import Exchanger, Reply
from lycosa.engine.harvest import Harvest, HarvestRules
from lycosa.engine.scheduler import Scheduler
from lycosa.engine.store_clock import StoreClock
from lycosa.engine.visit_result import VisitRules
from lycosa.errors import Fenced
from lycosa.frontier.protocol import StoreRules
from lycosa.frontier.sqlite.frontier import SqliteFrontier
from lycosa.records import Failure, Flag, Kind, Request, Response
from lycosa.urls.scope import Scope, ScopeRules
from support.made import link
from support.tokens import check_each_step

TO_MS = 1_800_000_000_000.0  # the store's clock when virtual time is 0
BUCKETS = (0, 4, 16)  # for links to domains of others, by seed; 0: so small a crawl has none
LEASE = 180.0
VISIT = 90.0


@dataclass
class Wire:
    """What the outside sees of one domain."""

    in_flight: int = 0
    last_end: float = float("-inf")
    visit: object = None
    robots_at: float = float("-inf")
    delay: float = 0.0
    pages: list[str] = field(default_factory=list)


def is_errand(request: Request) -> bool:
    """In this web only they ask for a robots.txt under another name."""
    return request.kind == Kind.ROBOTS and not request.url.endswith("/robots.txt")


class Violation(AssertionError):
    """An invariant does not hold."""


class Engine:
    """One virtual engine process."""

    def __init__(self, world: Simulation, index: int) -> None:
        self.world = world
        self.store = world.connect()
        self.engine_id = self.store.register("sim", index)
        self.core = _core(world, index)
        self.exchanger = Exchanger(
            self.store,
            self.engine_id,
            lambda: world.now,
            renew_every=LEASE / 20,
            scope=self.core.scope,
        )
        self.alive = True
        self.paused = False
        self.in_flight: dict[int, Request] = {}
        self._tick_at = float("inf")
        self._reply: Reply | None = None
        self._visits = 0
        self._rated = world.now

    def wake(self, at: float) -> None:
        if at < self._tick_at:
            self._tick_at = at
            self.world.at(at, lambda: self._wake(at))

    def _wake(self, at: float) -> None:
        if at == self._tick_at:
            self._tick_at = float("inf")
            self.tick()

    def tick(self) -> None:
        world, core = self.world, self.core
        if not self.alive or self.paused:
            return
        self._check_lease()
        self.send(core.start(world.now).requests)
        if core.due(world.now):
            self._exchange()
        if world.now - self._rated >= 10:
            core.scheduler.rate = (core.stats.visits - self._visits) / (world.now - self._rated)
            self._visits, self._rated = core.stats.visits, world.now
        waiting = core.scheduler.next_time()
        self.wake(max(world.now + 0.02, min(world.now + 1.0, waiting or float("inf"))))

    def _check_lease(self) -> None:
        """P4: what a stopped process does first when it wakes."""
        if self.core.deadline and self.world.now > self.core.deadline:
            for request in list(self.in_flight.values()):
                self.world.hang_up(request)
                self.answer(Response(request, failure=Failure.STOPPED, ended=self.world.now))

    def _exchange(self) -> None:
        reply = self.exchanger.perform(self.core.exchange(self.world.now))
        if isinstance(reply.error, Fenced):
            self.world.fenced(self)
        elif reply.error is not None:
            raise reply.error
        else:
            self.core.absorb(reply, self.world.now)

    def send(self, requests: Iterable[Request]) -> None:
        for request in requests:
            self.in_flight[id(request)] = request
            self.world.request(self, request)

    def answer(self, response: Response) -> None:
        if self.in_flight.pop(id(response.request), None) is None or not self.alive:
            return
        self.send(self.core.answer(response, self.world.now).requests)
        self.wake(self.world.now)

    def kill(self) -> None:
        """The kernel closes the sockets of a dead process."""
        self.alive = False
        for request in self.in_flight.values():
            self.world.hang_up(request)
        self.store.close()


def _core(world: Simulation, index: int) -> Core:
    scope = Scope(ScopeRules(exclude=world.exclude, seeded_only=world.seeded_only))
    harvest = Harvest(HarvestRules(), scope, lambda request: b"", iter(()))
    visit = VisitRules(world.delay, VISIT)
    rules = CoreRules(visit, LEASE, ip_delay=world.ip_delay, engines=world.engine_count)
    return Core(
        rules,
        Scheduler(world.delay, world.workers),
        harvest,
        scope,
        StoreClock(TO_MS),
        address_of=lambda url: world.address(urlsplit(url).hostname or ""),
    )


class Simulation:
    """Virtual time, engines, the wire and its checks."""

    def __init__(
        self,
        seed: int,
        path: Path,
        web: Web,
        *,
        engines: int = 2,
        workers: int = 200,
        delay: float = 70.0,
        ip_delay: float = 0.0,
        exclude: tuple[str, ...] = (),
        seeded_only: bool = False,
        address: Callable[[str], str] = lambda host: "",
        check_steps: bool = True,  # that every domain has its one token: a look at all domains
    ) -> None:
        self.random = random.Random(seed)
        self.buckets = BUCKETS[seed % len(BUCKETS)]
        self.path = path
        self.web = web
        self.delay = delay
        self.ip_delay = ip_delay
        self.exclude = exclude
        self.seeded_only = seeded_only
        self.address = address  # of a host; '': none that counts
        self.workers = workers
        self.engine_count = engines
        self.now = 0.0
        self.visits = 0
        self.requests = 0
        self.check_steps = check_steps
        self.wires: dict[str, Wire] = {}
        self.places: dict[str, Wire] = {}  # what an address sees of errands
        self.rules_at: dict[str, float] = {}  # when the rules at a URL were sent
        self.asked: list[tuple[float, str]] = []  # all requests
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._open: dict[int, Wire] = {}  # by id of the request
        self._open_errands: dict[int, Wire] = {}
        self._count = itertools.count()
        self.store = self.connect(create=True)
        self._load()
        self.engines = [Engine(self, index) for index in range(engines)]
        for engine in self.engines:
            engine.wake(0.0)

    def connect(self, create: bool = False) -> SqliteFrontier:
        rules = StoreRules(
            delay_ms=round(self.delay * 1000),
            lease_ms=round(LEASE * 1000),
            seeded_only=self.seeded_only,
            buckets=self.buckets,
        )
        store = SqliteFrontier(
            self.path, rules, lambda: int(self.now * 1000 + TO_MS), create=create
        )
        store.db.execute("PRAGMA synchronous = OFF")  # no power cuts in virtual time
        if self.check_steps:
            check_each_step(store)
        return store

    def _load(self) -> None:
        self.store.add([link(url, flags=Flag.SEED) for url in self.web.seeds()], rank=0)

    def at(self, time: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._events, (time, next(self._count), action))

    def run(self, until: float) -> None:
        """Run until the crawl has ended or time is up."""
        self.at(0.0, lambda: self._look(until))
        self.ended = False
        while self._events and not self.ended:
            time, _, action = heapq.heappop(self._events)
            self.now = max(self.now, time)
            action()

    def _look(self, until: float) -> None:
        self.store.rescue()
        self.ended = self.now >= until or self.store.finished()
        self.at(self.now + 20, lambda: self._look(until))

    def fenced(self, engine: Engine) -> None:
        """As the supervisor does: the engine ends, another takes its place."""
        engine.kill()
        self.replace(engine)

    def replace(self, engine: Engine) -> None:
        place = self.engines.index(engine)
        self.engines[place] = Engine(self, place)
        self.engines[place].wake(self.now)

    # -- the wire -----------------------------------------------------------------------------

    def request(self, engine: Engine, request: Request) -> None:
        wire = self.wires.setdefault(request.host, Wire(delay=self.delay))
        self._check(wire, request)
        wire.in_flight += 1
        self.requests += 1
        self.asked.append((self.now, request.url))
        self._note_errand(request)
        started = self.now
        end = min(started + self.web.latency(), request.deadline)
        self._open[id(request)] = wire
        self.at(end, lambda: self._respond(engine, wire, request, started))

    def hang_up(self, request: Request) -> None:
        """The crawler's side closed the connection: for the site the request is over."""
        wire = self._open.pop(id(request), None)
        if wire is not None:
            wire.in_flight -= 1
            wire.last_end = self.now
        place = self._open_errands.pop(id(request), None)
        if place is not None:
            place.in_flight -= 1
            place.last_end = self.now

    def _note_errand(self, request: Request) -> None:
        """One at a time at an address, and a pause between two."""
        address = self.address(request.host)
        if not is_errand(request) or not address:
            return
        place = self.places.setdefault(address, Wire())
        if place.in_flight:
            raise Violation(f"P2: {request.url} while another errand is at {address}")
        if self.now - place.last_end < self.ip_delay - 1e-6:
            raise Violation(f"P2: {request.url} too soon after the last errand at {address}")
        place.in_flight += 1
        self._open_errands[id(request)] = place

    def _check(self, wire: Wire, request: Request) -> None:
        """P1, P2, P3 as the site's owner would see them."""
        if wire.in_flight:
            raise Violation(f"P2: {request.url} at {self.now} while another is in flight")
        same_visit = wire.visit is request.token
        if is_errand(request) and same_visit:
            raise Violation(f"P1: {request.url} is a second request of one visit")
        if not same_visit:
            self.visits += 1
            if self.now - wire.last_end < wire.delay - 1e-6:
                gap = self.now - wire.last_end
                raise Violation(f"P1: {request.url} {gap:.3f} s after the last visit")
            wire.visit, wire.pages = request.token, []
        if request.kind == Kind.PAGE:
            self._check_page(wire, request)

    def _check_page(self, wire: Wire, request: Request) -> None:
        site = self.web.sites[request.host]
        path = request.url[len(f"https://{site.name}") :]
        known_at = wire.robots_at
        if site.aim:
            known_at = self.rules_at.get(self.web.rules_at(site.aim), float("-inf"))
        if self.now - known_at > 24 * 3600 or not site.allowed(path):
            raise Violation(f"P3: {request.url} against robots.txt")
        if wire.pages and not path.endswith("/moved"):
            raise Violation(f"P1: {request.url} is a second page of one visit")
        wire.pages.append(request.url)

    def _respond(self, engine: Engine, wire: Wire, request: Request, started: float) -> None:
        """The site's side is over; the engine hears of it if it lives."""
        if id(request) not in self._open:
            return
        self.hang_up(request)
        response = self.web.answer(request, started, self.now)
        site = self.web.sites[request.host]
        if is_errand(request):
            self.rules_at[request.url] = self.now
        elif request.kind == Kind.ROBOTS and response.status in (200, 404):
            wire.robots_at = self.now
            wire.delay = max(self.delay, site.crawl_delay)
        if not engine.paused:
            engine.answer(response)
