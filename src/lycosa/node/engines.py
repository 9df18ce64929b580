"""The engine processes of a node: starts them, takes in their reports, stops and kills them.

`engine_orders` makes what an engine is told out of the settings. Nothing is decided here: `deaths`
says which engines are dead or hang, the supervisor when engines stop or are started again.
"""

from __future__ import annotations

import resource
import selectors
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from math import inf

from lycosa.clock import engine_now
from lycosa.engine import summaries
from lycosa.engine.open_files import share
from lycosa.engine.orders import EngineOrders
from lycosa.engine.poison import Mark
from lycosa.log import get_logger
from lycosa.metrics import Stats
from lycosa.node import deaths, engine_process, shared_memory
from lycosa.node.datadir import TRUST
from lycosa.node.engine_process import EngineProcess, open_files
from lycosa.node.figures import SeenEngine
from lycosa.node.presence import Presence
from lycosa.settings.values import CrawlSettings, NodeSettings

TRIES, QUICK = 10, 0.001  # questions for the time; seconds within which an answer is good

log = get_logger("node")


def engine_orders(
    crawl: CrawlSettings, node: NodeSettings, max_pages: int, presence: Presence
) -> EngineOrders:
    """What all engines of a node are told, with the index of the first. Makes their memory."""
    root = node.data_dir.resolve()
    # Where earlier runs went last is not known: no address is visited before the pause that may
    # be due there.
    resumed = bool(presence.every_engine())
    addresses_from = engine_now() + crawl.ip_delay if resumed else 0.0
    return EngineOrders(
        crawl=replace(crawl, exclude=()),
        node=replace(node, data_dir=root, notify=()),
        node_name=presence.name,
        index=0,
        fetches=_fetches_per_engine(node),
        max_pages=max_pages,
        to_ms=clock_gap(presence.frontier.now_ms),
        addresses_from=addresses_from,
        trust=str(root / TRUST) if node.tls_verify else "",
        memory=shared_memory.make(node.engines, addresses_from),
    )


def clock_gap(now_ms: Callable[[], int]) -> float:
    """The store's clock minus the engine's in ms, by the quickest of some answers. An engine would
    think that it is later than it is by the time that an answer took, and visit domains too early:
    a supervisor may lose its core while it asks."""
    gap, quickest = 0.0, inf
    for _ in range(TRIES):
        asked = engine_now()
        found = now_ms()
        took = engine_now() - asked
        if took < quickest:
            gap, quickest = found - asked * 1000, took
        if took < QUICK:
            break
    return gap


def _fetches_per_engine(node: NodeSettings) -> int:
    """Concurrent fetches: what was asked for, or what the open-file limit allows."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    allowed = share(
        node.max_workers, node.engines, None if hard == resource.RLIM_INFINITY else hard
    )
    if allowed < share(node.max_workers, node.engines, None):
        log.warning(
            f"the open-file limit is {hard}: {allowed * node.engines} concurrent fetches instead "
            f"of {node.max_workers}; raise it with 'ulimit -n' for more"
        )
    return allowed


class Engines:
    """All engines of a node. `lock`: of the data directory, which engines inherit."""

    def __init__(self, orders: EngineOrders, lock: int) -> None:
        self._orders = orders
        self._lock = lock
        self._selector = selectors.DefaultSelector()
        self._running: dict[int, EngineProcess] = {}  # by index
        self._ended = Stats(engines=0)  # counts of engines that ended during this run
        self._notes_of_ended: summaries.NoteSummary = {}
        self._paused = False  # by this node, see `pause`

    @property
    def fetches(self) -> int:
        """How many fetches all of them together may have under way at once."""
        return self._orders.fetches * self._orders.node.engines

    def __len__(self) -> int:
        """How many run."""
        return len(self._running)

    def ids(self) -> set[int]:
        """The ids of those that run; 0 for any that has not told it."""
        return {engine.id for engine in self._running.values()}

    def stats(self) -> Stats:
        """The counts of all engines of this run, the gauges of those that run."""
        return Stats.merge([self._ended, *(each.stats for each in self._running.values())])

    def notes(self) -> summaries.NoteSummary:
        """What all engines of this run noted."""
        running = (each.notes for each in self._running.values())
        return summaries.merged([self._notes_of_ended, *running])

    def seen(self) -> list[SeenEngine]:
        """The engines that run, one by one."""
        return [
            SeenEngine(each.index, each.id, each.stats, open_files(each.process.pid))
            for each in self._running.values()
        ]

    def mark(self, engine: EngineProcess) -> Mark:
        """Which page an engine is parsing, or was when it died."""
        return Mark(self._orders.memory.marks, engine.index)

    # -- starting and stopping ----------------------------------------------------------------

    def start(self, index: int) -> None:
        """Start one engine, in its own place among the engines of this node."""
        Mark(self._orders.memory.marks, index).clear()
        inherited = (self._lock, *shared_memory.descriptors(self._orders.memory))
        engine = engine_process.start(replace(self._orders, index=index), inherited)
        self._running[index] = engine
        if self._paused:
            engine.tell(b"pause")
        self.watch(engine.fileno(), partial(self._read, engine))

    def start_again(self, index: int) -> None:
        """Start an engine in the place of one that died. An engine that is alone on its node keeps
        the table of addresses in its own memory (`address_table.table_of`): the table died with
        it, and the new engine waits as long as a pause may be due anywhere."""
        until = engine_now() + self._orders.crawl.ip_delay
        self._orders = replace(self._orders, addresses_from=until)
        self.start(index)

    def stop(self) -> None:
        """Ask all engines to finish what is under way, commit and end."""
        for engine in self._running.values():
            engine.tell(b"stop")

    def pause(self, paused: bool) -> None:
        """Let all engines of this node, and those that are started later, start no visit; or, with
        False, let them go on."""
        self._paused = paused
        for engine in self._running.values():
            engine.tell(b"pause" if paused else b"unpause")

    def steer(self, crawl: CrawlSettings, max_workers: int, max_pages: int) -> None:
        """Engines that are started from now on are told these. Those that run hear it themselves,
        with their next commit."""
        orders = replace(self._orders, crawl=replace(crawl, exclude=()), max_pages=max_pages)
        if max_workers != orders.node.max_workers:
            node = replace(orders.node, max_workers=max_workers)
            orders = replace(orders, node=node, fetches=_fetches_per_engine(node))
        self._orders = orders

    def kill(self, ids: Collection[int], why: str) -> None:
        """Kill some engines; they are found dead when their processes have ended."""
        for engine in self._running.values():
            if engine.id in ids:
                log.warning(why, index=engine.index)
                engine.process.kill()

    def kill_hanging(self, now: float) -> None:
        """Kill engines that hang; they are found dead when their processes have ended."""
        for engine in self._running.values():
            if deaths.hangs(now, engine.heard, engine.stopped):
                log.warning("an engine hangs and is replaced", index=engine.index)
                engine.process.kill()

    def kill_all(self) -> None:
        """Kill all engines at once; pages that they have not committed are still queued."""
        for engine in self._running.values():
            engine.process.kill()
        for engine in self._running.values():
            engine.process.wait()

    def close(self) -> None:
        """After the last engine has ended."""
        shared_memory.close(self._orders.memory)
        self._selector.close()

    # -- watching -----------------------------------------------------------------------------

    def watch(self, fd: int, then: Callable[[], object]) -> None:
        """Call `then` in `wait` whenever there is something to read."""
        self._selector.register(fd, selectors.EVENT_READ, then)

    def wait(self, seconds: float) -> None:
        """Wait until something is heard, and take in what engines report."""
        for key, _ in self._selector.select(seconds):
            key.data()

    def _read(self, engine: EngineProcess) -> None:
        if not engine.read():
            self._selector.unregister(engine.fileno())

    def ended(self) -> Iterator[tuple[EngineProcess, int]]:
        """Engines that have ended since the last call, each with its exit code. Whoever iterates
        may start others."""
        for engine in list(self._running.values()):
            code = engine.process.poll()
            if code is not None:
                self._forget(engine)
                yield engine, code

    def _forget(self, engine: EngineProcess) -> None:
        del self._running[engine.index]
        engine.read_rest()
        self._notes_of_ended = summaries.merged([self._notes_of_ended, engine.notes])
        self._ended = Stats.merge([self._ended, engine.counters()])
        with suppress(KeyError, ValueError):  # its pipe was closed before
            self._selector.unregister(engine.fileno())
        engine.close()
