"""One engine: one process, one loop around libcurl, the resolver and a heap of domains.

Wires the pure core to its edges: poller, fetcher, resolver, ledger, store thread, and the pipes
to the supervisor. It decides nothing about crawling. Its first line of input is its orders;
then it hears `stop`, `pause` and `unpause`; when the pipe closes the supervisor is gone, and it
ends at once.

Every turn checks the lease before it serves a socket (P4): past it, all transfers are closed
unsent.
"""

from __future__ import annotations

import os
import resource
import select
import signal
import socket
import sys
from pathlib import Path
from typing import Any

from lycosa import __version__
from lycosa.archive.ledger import Ledger
from lycosa.archive.segments import SegmentWriter
from lycosa.archive.warc import record_ids, warcinfo
from lycosa.clock import LONG_MS, cpu_now, engine_now
from lycosa.engine.actions import NOTHING
from lycosa.engine.address_table import table_of
from lycosa.engine.bandwidth import Bandwidth
from lycosa.engine.control import lateness
from lycosa.engine.core import BY_DISK, LEASE_MARGIN, STARTS, Core, CoreRules
from lycosa.engine.dispatch import Dispatcher
from lycosa.engine.exchange import Exchanger, StoreThread
from lycosa.engine.gauges import Gauges
from lycosa.engine.harvest import Harvest, HarvestRules
from lycosa.engine.ledger_thread import LedgerLines, LedgerThread
from lycosa.engine.memory import Collector, share_heap
from lycosa.engine.open_files import share
from lycosa.engine.orders import EngineOrders
from lycosa.engine.pipe import Pipe
from lycosa.engine.poison import Mark
from lycosa.engine.scheduler import Scheduler
from lycosa.engine.shortages import Shortages
from lycosa.engine.store_clock import StoreClock
from lycosa.engine.store_link import StoreLink
from lycosa.engine.visit_result import VisitRules
from lycosa.errors import EXIT_ORPHAN, LycosaError, StoreGone, engine_exit
from lycosa.fetch.addresses import CDN_RANGES, SharedAddresses
from lycosa.fetch.certificates import as_path
from lycosa.fetch.dns import Resolver, routes_ipv6
from lycosa.fetch.fetcher import Fetcher, FetchLimits, FetchSettings
from lycosa.fetch.poller import Poller, Ready
from lycosa.frontier.backoff import Patience
from lycosa.frontier.protocol import Frontier, open_frontier
from lycosa.log import get_logger, setup
from lycosa.metrics import Stats
from lycosa.page import html, label_search, language
from lycosa.page.decode import ACCEPT_ARCHIVED, ACCEPT_ENCODING
from lycosa.records import Kind
from lycosa.settings.steered import Steered
from lycosa.shifts import Shifts
from lycosa.urls.canonical import split
from lycosa.urls.scope import Scope

SEGMENT_BYTES = 1 << 30
NAMES = 50_000  # addresses of hosts that are remembered, 500 bytes each: those of all held domains
# Seconds of a turn that may go to each kind of work, by wall time: a turn must not become long
# because others want the core or the interpreter. What is left waits for the next turn.
SERVE_BUDGET = 0.007  # sockets
SOCKETS = 64  # asked of one poll: those that the budget does not suffice for are polled again
FULL_BUDGET = 0.001  # sockets, while many responses wait: they come first
RESPONSE_BUDGET = 0.010  # responses
START_BUDGET = 0.004  # new visits
SWITCH = 0.0005  # seconds after which the store thread lets the loop have the interpreter
BACKLOG = 32  # responses that wait, above which no visit is started
REPORT_EVERY = 1.0
NOTES_EVERY = 5.0  # seconds between reports that have the notes, which are larger
LAST_WORDS = 1.0  # seconds that the supervisor may take to hear the last report

log = get_logger("engine")


class Engine:
    """The wiring of one engine, by the orders of its supervisor."""

    def __init__(self, orders: EngineOrders) -> None:
        self.orders = orders
        self.crawl = orders.crawl
        self.root = orders.node.data_dir
        self.clock = StoreClock(orders.to_ms)
        self.workers = orders.fetches
        self.poller = Poller()
        self.pipe = Pipe()
        self.shifts = Shifts()
        self._patience = Patience(self.crawl.lease_time)
        self.frontier, self.engine_id = self._enter()
        self._make_network()
        self._make_archive()
        self._make_core()
        self.store = StoreThread(self.exchanger, self.poller.wake)
        cancel = self.fetcher.cancel_all
        self.link = StoreLink(
            *(self.engine_id, self.core, self.store, self.ledger_lines, self._patience, cancel),
            self._steered,
        )
        self.dispatch = Dispatcher(
            self.ledger_lines, self.ledger_thread, self.fetcher, self.resolver, self._lapsed
        )
        self.shortages = Shortages(
            self.engine_id, self.workers, self.core.scheduler, self.fetcher, self.core.stats
        )
        node, scheduler = orders.node, self.core.scheduler
        self.bandwidth = Bandwidth(
            node.max_bandwidth,
            orders.memory.bandwidth,
            orders.index,
            lambda: (scheduler.visiting, self.fetcher.buffered),
        )
        self.core.stats.max_bandwidth = node.max_bandwidth
        late = lateness(orders.memory.control, first=orders.index == 0)
        self._gauges = Gauges(self.core.stats, late, orders.node.engines)
        self._reported = self._noted = 0.0

    def _now_ms(self) -> int:
        return self.clock.ms(engine_now())

    # -- wiring -------------------------------------------------------------------------------

    def _enter(self) -> tuple[Frontier, int]:
        """Open the store and get a number there, as soon as it can be reached."""
        rules = self.crawl.store_rules()
        while True:
            try:
                store, turns = self.orders.node.store, self.orders.memory.turns
                frontier = open_frontier(
                    store, self.root, rules, self._now_ms, turns=turns, shifts=self.shifts
                )
                place = (self.orders.node_name, str(self.root))
                engine_id = frontier.register(socket.gethostname(), os.getpid(), *place)
                self._patience.over()
                return frontier, engine_id
            except StoreGone as error:
                self._wait_outside(self._patience.after(error))

    def _wait_outside(self, seconds: float) -> None:
        self.pipe.report({"engine_id": 0, "stats": Stats().to_dict()})
        if select.select([0], [], [], seconds)[0]:
            data = os.read(0, 4096)
            if not data:
                os._exit(EXIT_ORPHAN)
            if b"stop\n" in data:
                raise SystemExit(0)
            self.pipe.hear_again(data)

    def _make_network(self) -> None:
        node, trust = self.orders.node, self.orders.trust
        servers = self.orders.nameservers() or None
        self.resolver = Resolver(
            self.poller, servers, now=engine_now, cache_entries=NAMES, ipv6=routes_ipv6()
        )
        self.fetcher = Fetcher(
            self.poller,
            self.resolver,
            FetchSettings(
                user_agent=self.crawl.user_agent,
                trust=as_path(Path(trust)) if trust else "",
                allow_private=node.allow_private,
                allow_networks=node.allow_network,
                only_networks=node.only_network,
                port_map=node.port_map,
                accept_encoding=ACCEPT_ARCHIVED if node.warc else ACCEPT_ENCODING,
            ),
            FetchLimits(body=self.crawl.max_body),
            capacity=self.workers,
            now=engine_now,
        )

    def _make_archive(self) -> None:
        self.ids = record_ids()
        self.ledger = Ledger(self.root, self.engine_id, SEGMENT_BYTES)
        if self.frontier.server_clock:
            self.clock.doubt_ms = LONG_MS  # until the first commit: the supervisor measured it
        self.ledger_lines = LedgerLines(self.ledger, self.crawl.delay, self.clock)
        self.ledger_thread = LedgerThread(self.ledger, self.poller.wake)
        text = SegmentWriter(self.root, "text", self.engine_id, SEGMENT_BYTES)
        warc = None
        if self.orders.node.warc:
            warc = SegmentWriter(self.root, "warc", self.engine_id, SEGMENT_BYTES, self._warcinfo)
        renew = self.crawl.lease_time / 20
        self.scope = Scope(self.crawl.scope_rules())
        self.exchanger = Exchanger(
            *(self.frontier, self.engine_id, engine_now, text, warc, self.ledger, renew),
            scope=self.scope,
            edges=SegmentWriter(self.root, "edges", self.engine_id, SEGMENT_BYTES),
            node=self.orders.node_name,
            shifts=self.shifts,
        )

    def _warcinfo(self, name: str) -> bytes:
        return warcinfo(
            name,
            self._now_ms(),
            self.ids,
            f"lycosa/{__version__}",
            self.crawl.email,
            self.crawl.user_agent,
            self.root.resolve().name,
        )

    def _make_core(self) -> None:
        crawl, orders, node, scope = self.crawl, self.orders, self.orders.node, self.scope
        visit = VisitRules(
            crawl.delay, crawl.visit_timeout, sitemaps=crawl.sitemaps, agent=crawl.bot_name
        )
        harvest = HarvestRules(
            obey_nofollow=not crawl.ignore_nofollow,
            max_pages_per_domain=crawl.max_pages_per_domain,
            max_queued_per_domain=crawl.max_queued_per_domain,
            keep_warc=node.warc,
            languages=frozenset(crawl.language),
            keep_repeats=crawl.keep_repeats,
            agent=crawl.bot_name,
        )
        html.answer_to(crawl.bot_name)
        rules = CoreRules(
            visit,
            crawl.lease_time,
            crawl.ip_delay,
            orders.max_pages,
            node.engines,
            margin=min(LEASE_MARGIN, crawl.lease_time / 10),
        )
        language.detector()  # loaded here, lest the first page hold the loop
        label_search.phrases()
        self.core = Core(
            rules,
            Scheduler(crawl.delay, self.workers),
            Harvest(harvest, scope, self.fetcher.request_head, self.ids),
            scope,
            self.clock,
            address_of=self._address_of,
            exempt=SharedAddresses((*CDN_RANGES, *node.ip_delay_exempt)).exempt,
            addresses=table_of(node.engines, orders.memory.addresses, orders.addresses_from),
            parsing=Mark(orders.memory.marks, orders.index).set,
            bug=lambda url: log.exception("a fault of ours cost a page", url=url),
        )

        self.resolver.took = self.core.notes.looked_up

    def _address_of(self, url: str) -> str | None:
        answer = self.resolver.cached(split(url).host)
        return None if answer is None else answer.first

    # -- the loop -----------------------------------------------------------------------------

    def run(self) -> int:
        """Turn until the end; returns the exit code."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the supervisor hears it and says stop
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        self.pipe.unblock()
        self.poller.watch(0, True, False, self._hear)
        self._hear(0, 0)
        sys.setswitchinterval(SWITCH)
        collector = Collector()
        while self.link.exit_code is None:
            self._turn(collector)
        self._report_last()
        return self.link.exit_code

    def _turn(self, collector: Collector) -> None:
        gauges = self._gauges
        now = engine_now()
        gauges.waits(now, self.core.waits_for_store(now), self._held_back(now))
        ready = self.poller.poll(self._timeout(now), SOCKETS)
        gauges.begins(engine_now())  # waiting for the store thread is a part of the turn
        self.shifts.loop_begins()
        now = engine_now()
        full = len(self.fetcher.finished) >= BACKLOG
        self._serve(ready, now + (FULL_BUDGET if full else SERVE_BUDGET))
        self.resolver.turn()
        self.fetcher.turn(engine_now())
        # What can't be cut into pieces has a turn without the work that can: S3.
        if not (collector.turn() or self.link.turn(engine_now())):
            self._responses(engine_now() + RESPONSE_BUDGET)
            self._start(engine_now() + START_BUDGET)
        self.dispatch.send_written(engine_now() + START_BUDGET)
        self._report(engine_now())
        gauges.ends(engine_now())
        self.shifts.loop_ends()

    def _held_back(self, now: float) -> bool:
        """Whether visits could begin, if there were more bandwidth."""
        return bool(self.bandwidth.opens_in(now)) and self.core.can_start(now)

    def _serve(self, ready: list[Ready], end: float) -> None:
        """P4: the lease is checked before every socket, for the process may have been paused at
        any point. Sockets that there was no time for are ready again at the next poll."""
        for each in ready:
            if self._lapsed():
                return
            self.poller.serve((each,))
            if engine_now() > end:
                break
        self._lapsed()

    def _start(self, end: float) -> None:
        """Begin visits, unless responses wait to be worked through, there is no room for more, or
        requests of visits that began before have not been sent yet."""
        if self.dispatch.late:
            return
        todo, fetcher = NOTHING, self.fetcher
        while len(fetcher.finished) < BACKLOG and not fetcher.full:
            now = engine_now()
            if not (most := self.bandwidth.visits(now, STARTS)):
                break
            more = self.core.start(now, most)
            self.bandwidth.begun(len(more.starts) + len(more.lookups))
            todo += more
            if not more.requests or engine_now() > end:
                break
        self.dispatch.carry_out(todo)

    def _lapsed(self) -> bool:
        """Whether the lease ran out; then all fetches are cut off."""
        if not self.core.deadline or engine_now() <= self.core.deadline:
            return False
        if self.fetcher.in_flight:
            log.warning("the lease ran out: all fetches are cut off", engine=self.engine_id)
            self.fetcher.cancel_all()
        return True

    def _timeout(self, now: float) -> float:
        """Seconds for which the loop has nothing to do unless a socket is ready."""
        if self.fetcher.finished or self.dispatch.late:
            return 0.0
        scheduler = self.core.scheduler
        scheduler.move_due(now)  # or the loop would never sleep while a due domain can't be started
        could = self.core.can_start(now) and not self.fetcher.full
        wait = self.bandwidth.opens_in(now) if could else None
        if wait == 0.0:
            return 0.0  # a turn starts a bounded number of visits
        moments = (self._reported + REPORT_EVERY, self.link.due_at(now), scheduler.next_time())
        times = [moment - now for moment in moments if moment is not None]
        times += [
            t for t in (self.fetcher.timeout(), self.resolver.timeout(), wait) if t is not None
        ]
        return max(0.0, min(times))

    def _responses(self, end: float) -> None:
        """Work through finished fetches."""
        before = cpu_now()  # S3 is about a page's own work, not about others' on the core
        while self.fetcher.finished:
            response = self.fetcher.finished.popleft()
            self.bandwidth.note(response)
            self.core.notes.fetched(response)
            if response.failure:
                self.shortages.note(response)
            self.dispatch.carry_out(self.core.answer(response, engine_now()))
            after = cpu_now()
            took, before = after - before, after
            self._gauges.page(took)
            if response.request.kind == Kind.PAGE and not response.failure:
                self.core.notes.parsed(took)
            if engine_now() > end:
                break

    # -- the supervisor -----------------------------------------------------------------------

    def _hear(self, fd: int, events: int) -> None:
        words = self.pipe.hear()
        if words is None:
            # The supervisor is gone: another may lock the directory now.
            self.fetcher.cancel_all()
            os._exit(EXIT_ORPHAN)
        for word in words:
            if word == b"stop":
                self.link.stop(engine_now())
            elif word == b"pause":
                self.core.pause(BY_DISK)
            elif word == b"unpause":
                self.core.unpause(BY_DISK)

    def _steered(self, said: Steered) -> None:
        """The number of fetches may have changed, which the core leaves to others."""
        if said.node and "max_workers" in said.node:
            hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
            files = None if hard == resource.RLIM_INFINITY else hard
            engines = self.orders.node.engines
            self.shortages.change_fetches(share(said.node["max_workers"], engines, files))

    def _report(self, now: float) -> None:
        if now - self._reported < REPORT_EVERY:
            return
        self._reported = now
        stats, scheduler = self.core.stats, self.core.scheduler
        scheduler.rate = self._gauges.look(now)
        stats.store_lag_s = max(stats.store_lag_s, self.link.lag(now))
        stats.in_flight = self.fetcher.in_flight
        stats.held = len(scheduler.held)
        stats.ready = scheduler.ready_count
        stats.crowded = self.core.crowded()
        stats.dns_pending = self.resolver.pending
        stats.uncommitted = len(self.core.outbox.batch.pages)
        stats.bodies_mb = self.fetcher.buffered / 1e6
        self.shortages.look(now)
        report: dict[str, Any] = {"engine_id": self.engine_id, "stats": stats.to_dict()}
        if now - self._noted >= NOTES_EVERY:
            self._noted = now
            report["notes"] = self.core.notes.summary(now)
        self.pipe.report(report)
        stats.loop_max_ms = 0.0

    def _report_last(self) -> None:
        """What the supervisor could not have heard yet: it goes on with these counts."""
        self._reported = self._noted = float("-inf")
        self._report(engine_now())
        self.pipe.finish(LAST_WORDS)


def main() -> int:
    """Started by the supervisor, with its orders on standard input."""
    share_heap()
    orders = EngineOrders.from_json(sys.stdin.buffer.raw.readline())  # type: ignore[union-attr]
    setup(orders.node.log_level, orders.node.log_format)
    try:
        return Engine(orders).run()
    except LycosaError as error:
        log.error(str(error))
        return engine_exit(error) or 1
