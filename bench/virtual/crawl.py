"""The crawl: one virtual clock, engines and supervisors on a real store, and who watches them.

Events happen one after the other in the order of their virtual times, so what a commit did is known
before anything else happens. Real time plays no part but as a figure.
"""

from __future__ import annotations

import heapq
import itertools
import time
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from lycosa.frontier.keys import LOADING_KEY, SETTINGS_KEY
from lycosa.frontier.protocol import StoreRules, open_frontier
from lycosa.records import Lease
from stores.paths import number_of
from virtual.engine import LEASE_MS, SLOW_SITES, Engine
from virtual.faults import Faults
from virtual.sites import Sites
from virtual.sweeps import sweep, tokens
from virtual.witness import ENOUGH, Witness

T = TypeVar("T")

START_MS = 1_800_000_000_000
TICK_MS = 1000
SEEDS_AT_ONCE = 20_000
SEEDS_EVERY_MS = 500
LOOK_MS = 10_000  # of supervisors: is somebody dead, is the crawl finished?
AGAIN_MS = 15_000  # somebody wants pages again that failed
MOST_AGAIN = 50
STILL_MS = 1_200_000  # without a visit: the crawl stands still
TOLD_MS = 600_000  # after the last page: the end must be known
NEARLY = 0.95  # of the pages are done: no more faults


@dataclass(frozen=True)
class Plan:
    """What is simulated."""

    engines: int = 100
    domains: int = 1_000_000
    rounds: int = 3
    seed: int = 1
    delay_ms: int = 70_000
    workers: int = 400  # visits at once, of an engine
    known: int = 4  # links of a page to what may be known
    fault_ms: int = 5_000  # mean time between two faults; 0: none
    lost_outcomes: float = 0.005  # of the commits


class Stopwatch:
    """What the verbs of the store take, by the real clock."""

    def __init__(self) -> None:
        self.times: dict[str, array[float]] = {}
        self.cpu = 0.0

    def timed(self, verb: str, call: Callable[..., T], *args: Any) -> T:
        begin, cpu = time.perf_counter(), time.thread_time()
        try:
            return call(*args)
        finally:
            self.cpu += time.thread_time() - cpu
            self.times.setdefault(verb, array("f")).append(time.perf_counter() - begin)

    def wall(self) -> float:
        return sum(map(sum, self.times.values()))


class Crawl:
    """Runs until the store says that it is finished."""

    def __init__(self, plan: Plan, folder: Path, store: str) -> None:
        self.plan = plan
        self.delay_ms, self.workers = plan.delay_ms, plan.workers
        self.lost_outcomes = plan.lost_outcomes
        self.now_ms = START_MS
        self.chance = Random(plan.seed)
        self.sites = Sites(plan.domains, plan.rounds, plan.known, self.chance)
        self.witness = Witness(self.sites, plan.delay_ms)
        self.clock = Stopwatch()
        self.counts: Counter[str] = Counter()
        self.sweeps: list[str] = []
        self._folder, self._store = folder, store
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._delays: dict[int, int] = {}  # committed, by domain
        self._failed: list[tuple[int, int]] = []  # pages that failed and were not asked for again
        self._seeds = iter(self.sites.seeds())
        self._seeds_left = len(self.sites.seeds())
        self._rank = 0
        self._next_sweep = self.sites.domains
        self._last_visit_ms = START_MS
        self._last_visits = 0
        self._ended = False
        self.frontier: Any = self.connect(create=True)  # the supervisors'
        self.frontier.put_settings({SETTINGS_KEY: "{}"})
        self.engines: list[Engine] = []
        self._living: dict[int, Engine] = {}  # by number, as the store knows them
        self.faults = Faults(self, plan.fault_ms)

    def connect(self, create: bool = False) -> Any:
        rules = StoreRules(delay_ms=self.delay_ms, lease_ms=LEASE_MS)
        if self._store != "sqlite":
            from lycosa.frontier.postgres.frontier import PostgresFrontier

            return PostgresFrontier(self._store, rules, lambda: self.now_ms, create=create)
        made: Any = open_frontier(
            self._store, self._folder, rules, lambda: self.now_ms, create=create
        )
        made.db.execute("PRAGMA synchronous = OFF")  # no power cuts in virtual time
        return made

    def slow(self, d: int) -> bool:
        """Whether a site asks for a delay of its own."""
        return d * 0x9E3779B1 % 10_007 < SLOW_SITES * 10_007

    # -- time -------------------------------------------------------------------------------------

    def after(self, ms: int, action: Callable[[], None]) -> None:
        heapq.heappush(self._events, (self.now_ms + ms, next(self._order), action))

    def run(self, report: Callable[[Crawl], None] = lambda crawl: None) -> None:
        """`report` is called after every event."""
        for index in range(self.plan.engines):
            self.after(index * TICK_MS // self.plan.engines, self._start)
        self.after(0, self._load)
        self.after(LOOK_MS, self._look)
        self.after(AGAIN_MS, self._ask_again)
        self.faults.begin()
        while self._events and not self._ended:
            self.now_ms, _, action = heapq.heappop(self._events)
            action()
            if self.witness.visits >= self._next_sweep:
                self._next_sweep += self.sites.domains
                self._sweep()
            report(self)
            if self.witness.violated >= ENOUGH:
                print(f"  given up after {self.witness.violated} violations", flush=True)
                break
        self._close()

    def _sweep(self) -> None:
        self.sweeps.append(sweep(self.witness, self.frontier, self._folder, self._store))
        print(f"  after {self.witness.visits:,} visits: {self.sweeps[-1]}", flush=True)

    def _close(self) -> None:
        if self._ended:
            self._judge_the_end()
        for engine in self._living.values():
            engine.close()
        self.frontier.close()

    def _judge_the_end(self) -> None:
        self.faults.at_the_end(set(self.frontier.living()))
        self._sweep()
        queued = self.frontier.backlog()[0]
        if queued:
            self.witness.complain(f"F1: the store counts {queued} URLs queued at the end")
        left = self.sites.domains * self.sites.urls - self.witness.done
        if left:
            self.witness.complain(f"F1: {left} URLs were never fetched")

    # -- engines ----------------------------------------------------------------------------------

    def _start(self) -> None:
        engine = Engine(self)
        self.engines.append(engine)
        self._living[engine.id] = engine
        self.counts["engines"] += 1
        self._tick(engine)

    def replace(self, engine: Engine) -> None:
        """Another takes its place."""
        self.engines.remove(engine)
        self._start()

    def _tick(self, engine: Engine) -> None:
        if engine.alive:
            self.faults.tick(engine)
            self.after(TICK_MS, lambda: self._tick(engine))

    def leased(self, engine: Engine, lease: Lease) -> int:
        d = number_of(lease.name)
        self.witness.leased(d, engine.id, lease, self._delays.get(d, 0))
        return d

    def applied(self, engine: Engine) -> None:
        """The store has taken what an engine did last."""
        witness, told = self.witness, engine.told
        for d, j, on_the_way in told.pages:
            witness.fetched(d, j, on_the_way)
        for number in told.links:
            witness.offered(number)
        witness.freed(told.released, engine.id)
        self._delays.update(told.delays)
        self._failed += told.failed

    # -- supervisors ------------------------------------------------------------------------------

    def _load(self) -> None:
        """Seeds are queued while engines work already."""
        some = list(itertools.islice(self._seeds, SEEDS_AT_ONCE))
        self._seeds_left -= len(some)
        loading = {f"{LOADING_KEY}sim": self.now_ms if self._seeds_left else 0}
        links = [self.sites.link(d, 0, 0) for d in some]
        new = sum(self.witness.offered(self.sites.number(d, 0)) for d in some)
        said = self.frontier.add(links, seeds_done=loading, rank=self._rank)
        if said != new:
            self.witness.complain(f"F1: {said} seeds are new to the store, {new} in all")
        self._rank += len(some)
        if self._seeds_left:
            self.after(SEEDS_EVERY_MS, self._load)

    def _ask_again(self) -> None:
        """Pages that failed are asked for again, whoever holds their domains."""
        some, self._failed = self._failed[:MOST_AGAIN], self._failed[MOST_AGAIN:]
        keys = [self.sites.link(d, j)[:2] for d, j in some]
        told = self.frontier.requeue(keys) if keys else {}
        if sum(told.values()) != len(some):
            self.witness.complain(f"F1: of {len(some)} failed pages {told} are queued again")
        for d, j in some:
            self.witness.again(d, j)
        self.counts["pages asked for again"] += len(some)
        if not self.nearly_done():
            self.after(AGAIN_MS, self._ask_again)

    def nearly_done(self) -> bool:
        return self.witness.done >= NEARLY * self.sites.domains * self.sites.urls

    def rescue(
        self, known_dead: Collection[int] = (), delays: Mapping[str, int] | None = None
    ) -> None:
        """Domains of the dead are taken back, as the store judges it."""
        rescued = self.clock.timed("rescue", self.frontier.rescue, known_dead, delays)
        dead = set(self._living) - set(self.frontier.living()) if rescued or known_dead else set()
        for engine_id in sorted(dead):
            engine = self._living.pop(engine_id)
            held = [*engine.held, *engine.told.released]
            self.witness.freed(held, engine_id)
            self.counts["domains rescued"] += len(held)
            if engine_id not in known_dead:  # what it had learnt is lost with it
                for d, _ in engine.told.delays:
                    self.witness.forget_delay(d)
            self.faults.declared_dead(engine_id)

    def left(self, engine: Engine) -> None:
        """It retired: it holds nothing, and is no longer among the living."""
        del self._living[engine.id]

    def _look(self) -> None:
        """As supervisors do all the time."""
        self.rescue()
        witness = self.witness
        if witness.visits > self._last_visits:
            self._last_visits, self._last_visit_ms = witness.visits, self.now_ms
        finished = self.clock.timed("finished", self.frontier.finished)
        still = self.now_ms - self._last_visit_ms
        if finished and (witness.queued or self._seeds_left or witness.held):
            left = f"{witness.queued} URLs queued and {witness.held} domains held"
            witness.complain(f"F1: the store says that the crawl is finished, with {left}")
        elif not finished and still > (STILL_MS if witness.queued else TOLD_MS):
            tokens(witness, self.frontier.db)
            left = f"{witness.queued} URLs queued"
            witness.complain(f"F1: no visit for {still // 1000} s, not finished, {left}")
            finished = True
        self._ended = finished
        self.after(LOOK_MS, self._look)
