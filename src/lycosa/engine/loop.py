"""One engine: one process, one loop around libcurl, the resolver and a heap of domains.

Wires the pure core to its edges: poller, fetcher, resolver, ledger, store thread, and the pipes
to the supervisor. It decides nothing about crawling. Its first line of input is its orders;
then it hears `stop`; when the pipe closes the supervisor is gone, and it ends at once.

Every turn checks the lease before it serves a socket (P4): past it, all transfers are closed
unsent.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import time
from collections import deque
from functools import partial
from pathlib import Path

from lycosa import __version__
from lycosa.archive.ledger import Ledger
from lycosa.archive.segments import SegmentWriter
from lycosa.archive.warc import record_ids, warcinfo
from lycosa.clock import LONG_MS, engine_now
from lycosa.engine.address_table import table_of
from lycosa.engine.control import lateness
from lycosa.engine.core import LEASE_MARGIN, AddressFound, Core, CoreRules
from lycosa.engine.diary import Diary, DiaryThread
from lycosa.engine.exchange import Exchange, Exchanger, Reply, StoreThread
from lycosa.engine.gauges import Gauges
from lycosa.engine.harvest import Harvest, HarvestRules
from lycosa.engine.memory import Collector, share_heap
from lycosa.engine.open_files import Files
from lycosa.engine.orders import EngineOrders
from lycosa.engine.parsing_mark import Mark
from lycosa.engine.pipe import Pipe
from lycosa.engine.scheduler import Scheduler
from lycosa.engine.visit import VisitRules
from lycosa.errors import EXIT_ORPHAN, LycosaError, StoreGone, engine_exit
from lycosa.fetch.addresses import CDN_RANGES, SharedAddresses
from lycosa.fetch.certificates import as_path
from lycosa.fetch.dns import Answer, Resolver, routes_ipv6
from lycosa.fetch.fetcher import Fetcher, FetchLimits, FetchSettings
from lycosa.fetch.poller import Poller, Ready
from lycosa.frontier.backoff import Patience
from lycosa.frontier.protocol import Frontier, open_frontier
from lycosa.log import get_logger, setup
from lycosa.metrics import Stats
from lycosa.page.decode import ACCEPT_ARCHIVED, ACCEPT_ENCODING
from lycosa.records import Failure, Request, Response
from lycosa.urls.canonical import split
from lycosa.urls.scope import Scope

SEGMENT_BYTES = 1 << 30
NAMES = 50_000  # addresses of hosts that are remembered, 500 bytes each: those of all held domains
# Seconds of a turn that may go to each kind of work, by the clock on the wall: whoever else wants
# the core or the interpreter must not make turns long. What is left waits for the next turn.
SERVE_BUDGET = 0.007  # sockets
SOCKETS = 64  # looked at in one turn: more than the budget is good for would be asked for twice
FULL_BUDGET = 0.001  # sockets, while many responses wait: what has come goes before what comes
RESPONSE_BUDGET = 0.010  # responses
START_BUDGET = 0.004  # new visits
SWITCH = 0.0005  # seconds after which the store thread gives the interpreter back to the loop
BACKLOG = 32  # responses that wait, above which no visit is started
REPORT_EVERY = 1.0
WARN_EVERY = 10.0
STOP_GRACE = 10.0  # seconds in which fetches in flight may finish after `stop`
PRESSED = 5.0  # seconds for which a shortage of memory is told

log = get_logger("engine")


class Engine:
    """The wiring of one engine, by the orders of its supervisor."""

    def __init__(self, orders: EngineOrders) -> None:
        self.orders = orders
        self.crawl = orders.crawl
        self.root = orders.node.data_dir
        self.to_ms = orders.to_ms
        self.workers = orders.fetches
        self._files = Files(self.workers)
        self.poller = Poller()
        self.pipe = Pipe()
        self._patience = Patience(self.crawl.lease_time)
        self.frontier, self.owner = self._enter()
        self._make_network()
        self._make_archive()
        self._make_core()
        self.store = StoreThread(self.exchanger, self.poller.wake)
        self._failed: tuple[Exchange, bool, float] | None = None
        self._stop_at = 0.0
        self._closing = False
        self.exit_code: int | None = None
        late = lateness(orders.memory.control, first=orders.index == 0)
        self._gauges = Gauges(self.core.stats, late, orders.node.engines)
        self._reported = 0.0
        self._commit_began = 0.0
        self._warned = float("-inf")

    def _now_ms(self) -> int:
        return int(engine_now() * 1000 + self.to_ms)

    # -- wiring -------------------------------------------------------------------------------

    def _enter(self) -> tuple[Frontier, int]:
        """Open the store and get a number there, as soon as it can be reached."""
        rules = self.crawl.store_rules()
        while True:
            try:
                store, turns = self.orders.node.store, self.orders.memory.turns
                frontier = open_frontier(store, self.root, rules, self._now_ms, turns=turns)
                place = (self.orders.node_name, str(self.root))
                owner = frontier.register(socket.gethostname(), os.getpid(), *place)
                self._patience.over()
                return frontier, owner
            except StoreGone as error:
                self._wait_outside(self._patience.after(error))

    def _wait_outside(self, seconds: float) -> None:
        self.pipe.report({"owner": 0, "stats": Stats().to_dict()})
        if select.select([0], [], [], seconds)[0]:
            data = os.read(0, 4096)
            if not data:
                os._exit(EXIT_ORPHAN)
            if b"stop\n" in data:
                raise SystemExit(0)

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
        self.ledger = Ledger(self.root, self.owner, SEGMENT_BYTES)
        self.diary = Diary(self.ledger, self.crawl.delay)
        self.diary_thread = DiaryThread(self.ledger, self.poller.wake)
        self._to_send: deque[Request] = deque()  # what had to be in the ledger is there
        self.diary.note_clock(self.to_ms, LONG_MS if self.frontier.server_clock else 0)
        text = SegmentWriter(self.root, "text", self.owner, SEGMENT_BYTES)
        warc = None
        if self.orders.node.warc:
            warc = SegmentWriter(self.root, "warc", self.owner, SEGMENT_BYTES, self._warcinfo)
        renew = self.crawl.lease_time / 20
        self.scope = Scope(self.crawl.scope_rules())
        self.exchanger = Exchanger(
            self.frontier, self.owner, engine_now, text, warc, self.ledger, renew, self.scope
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
        visit = VisitRules(crawl.delay, crawl.visit_timeout, sitemaps=crawl.sitemaps)
        harvest = HarvestRules(
            obey_nofollow=not crawl.ignore_nofollow,
            max_pages_per_domain=crawl.max_pages_per_domain,
            max_queued_per_domain=crawl.max_queued_per_domain,
            keep_warc=node.warc,
        )
        rules = CoreRules(
            visit,
            crawl.lease_time,
            crawl.ip_delay,
            orders.max_pages,
            node.engines,
            margin=min(LEASE_MARGIN, crawl.lease_time / 10),
        )
        self.core = Core(
            rules,
            Scheduler(crawl.delay, self.workers),
            Harvest(harvest, scope, self.fetcher.request_head, self.ids),
            scope,
            self.to_ms,
            address_of=self._address_of,
            exempt=SharedAddresses((*CDN_RANGES, *node.ip_delay_exempt)).exempt,
            addresses=table_of(node.engines, orders.memory.addresses, orders.addresses_from),
            parsing=Mark(orders.memory.marks, orders.index).set,
            bug=lambda url: log.exception("a fault of ours cost a page", url=url),
        )

    def _address_of(self, url: str) -> str | None:
        answer = self.resolver.cached(split(url).host)
        return None if answer is None else answer.first

    def _look_up(self) -> None:
        """Find the addresses that the core waits for."""
        for host, then in self.core.questions():
            self.resolver.resolve(host, partial(self._resolved, then))

    def _resolved(self, then: AddressFound, answer: Answer) -> None:
        self._send(then(answer.first, engine_now()))

    # -- the loop -----------------------------------------------------------------------------

    def run(self) -> int:
        """Turn until the end; returns the exit code."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the supervisor hears it and says stop
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        self.pipe.unblock()
        self.poller.watch(0, True, False, self._hear)
        sys.setswitchinterval(SWITCH)
        collector = Collector()
        while self.exit_code is None:
            self._turn(collector)
        return self.exit_code

    def _turn(self, collector: Collector) -> None:
        gauges = self._gauges
        now = engine_now()
        gauges.waits(now, self.core.waits_for_store(now))
        ready = self.poller.poll(self._timeout(now), SOCKETS)
        now = engine_now()
        gauges.begins(now)
        full = len(self.fetcher.finished) >= BACKLOG
        self._serve(ready, now + (FULL_BUDGET if full else SERVE_BUDGET))
        self.resolver.turn()
        self.fetcher.turn(engine_now())
        # What can't be cut into pieces has a turn without the work that can: S3.
        if not (collector.turn() or self._exchange(engine_now())):
            self._responses(engine_now() + RESPONSE_BUDGET)
            if self.diary.note_ends(self.core):
                self.diary_thread.write_before([])
            self._start(engine_now() + START_BUDGET)
        self._send_written(engine_now() + START_BUDGET)
        self._look_up()
        self._report(engine_now())
        gauges.ends(engine_now())

    def _serve(self, ready: list[Ready], end: float) -> None:
        """P4: the lease is looked at before every socket, for a process may be stopped anywhere.
        Sockets that nobody had time for are ready again at the next poll."""
        for each in ready:
            if self._lapsed():
                return
            self.poller.serve((each,))
            if engine_now() > end:
                break
        self._lapsed()

    def _start(self, end: float) -> None:
        """Begin visits, unless responses wait to be worked through, there is no room for more, or
        those that began before have not been sent yet."""
        requests: list[Request] = []
        while len(self.fetcher.finished) < BACKLOG and not self.fetcher.full and not self._to_send:
            more = self.core.start(engine_now())
            requests += more
            if not more or engine_now() > end:
                break
        self._send(requests)

    def _lapsed(self) -> bool:
        """Whether the lease ran out; then nothing of ours is on the wire any more."""
        if not self.core.deadline or engine_now() <= self.core.deadline:
            return False
        if self.fetcher.in_flight:
            log.warning("the lease ran out: all fetches are cut off", engine=self.owner)
            self.fetcher.cancel_all()
        return True

    def _timeout(self, now: float) -> float:
        """How long nothing can happen by itself."""
        if self.fetcher.finished or self._to_send:
            return 0.0
        scheduler = self.core.scheduler
        scheduler.ripen(now)  # or what is due, and can't be started, would make us poll and poll
        if self.core.can_start(now) and not self.fetcher.full:
            return 0.0  # a turn starts a bounded number of visits
        times = [self._reported + REPORT_EVERY - now]
        if not self.store.busy:
            times.append(0.05 if self._stop_at else self.core.due_at(now) - now)
        times += [t for t in (self.fetcher.timeout(), self.resolver.timeout()) if t is not None]
        waiting = scheduler.next_time()
        if waiting is not None:
            times.append(waiting - now)
        return max(0.0, min(times))

    def _responses(self, end: float) -> None:
        """Work through finished fetches."""
        while self.fetcher.finished:
            response = self.fetcher.finished.popleft()
            if response.failure:
                self._tell(response)
            before = time.thread_time()  # S3 is about work: others may have the core as well
            self._send(self.core.answer(response, engine_now()))
            self._gauges.page(time.thread_time() - before)
            if engine_now() > end:
                break

    def _tell(self, response: Response) -> None:
        log.debug(
            "a request failed",
            url=response.request.url,
            failure=response.failure,
            reason=response.reason,
            address=response.address,
        )
        if response.failure in Failure.OURS:
            self._shortage(response.failure)

    def _send(self, requests: list[Request]) -> None:
        """Starts and longer delays go to the ledger before any request goes to the network."""
        if self.diary.note_starts(self.core) or self.diary_thread.busy:
            self.diary_thread.write_before(requests)
        else:
            for request in requests:
                self._send_now(request)

    def _send_written(self, end: float) -> None:
        """Requests that had to wait for the ledger."""
        self._to_send += self.diary_thread.written()
        while self._to_send:
            self._send_now(self._to_send.popleft())
            if engine_now() > end:
                break

    def _send_now(self, request: Request) -> None:
        if self._lapsed():
            unsent = Response(request, failure=Failure.STOPPED, ended=engine_now())
            self.fetcher.finished.append(unsent)
        else:
            self.fetcher.start(request)

    def _shortage(self, failure: str) -> None:
        """Not the host's fault. Out of open files: fewer fetches at once."""
        if failure == Failure.NAMESERVER:
            self._warn("no name server can be reached: the command 'check' says more")
            return
        self.core.stats.local_shortage += 1
        if failure == Failure.MEMORY:
            self.fetcher.pressed = engine_now()
        else:
            self._set_workers(self._files.short(self.core.scheduler.visiting))

    def _set_workers(self, workers: int) -> None:
        self.core.scheduler.workers = workers
        self.core.stats.short_of_files = self._files.is_short

    # -- the store ----------------------------------------------------------------------------

    def _exchange(self, now: float) -> bool:
        """One step of it; returns whether an answer was worked through, or something was sent."""
        reply = self.store.poll()
        if reply is not None:
            self._absorb(reply, now)
            return True
        if self.store.busy:
            return False
        if self._failed is not None:
            self._try_again(now)
        elif self._stop_at:
            self._wind_down(now)
        elif self.core.due(now):
            self._submit(self.core.exchange(now), False, now)
        return self.store.busy

    def _submit(self, exchange: Exchange, closing: bool, now: float) -> None:
        self._commit_began = now
        self._under_way = (exchange, closing)
        self._size = len(exchange.batch.pages), len(exchange.batch.links)
        self.store.submit(exchange, closing)

    def _absorb(self, reply: Reply, now: float) -> None:
        if reply.error is not None:
            self._store_failed(reply.error, now)
            return
        lag = self.core.stats.store_lag_s = now - self._commit_began
        self.core.backlog.settled(*self._size, lag)
        if reply.to_ms is not None and reply.to_ms != self.core.to_ms:
            self.diary.note_clock(reply.to_ms, reply.doubt_ms)
        self.core.absorb(reply, now)
        self._patience.over()
        if self._closing:
            self.exit_code = 0

    def _store_failed(self, error: BaseException, now: float) -> None:
        if isinstance(error, StoreGone):
            self._failed = (*self._under_way, now + self._patience.after(error))
            self.core.backlog.away()
        elif code := engine_exit(error):
            self._end(code, str(error))
        else:
            raise error

    def _warn(self, text: str) -> None:
        """Say it, but not more often than every ten seconds."""
        now = engine_now()
        if now - self._warned >= WARN_EVERY:
            self._warned = now
            log.warning(text, engine=self.owner)

    def _try_again(self, now: float) -> None:
        if self._failed is not None and now >= self._failed[2]:
            exchange, closing, _ = self._failed
            self._failed = None
            self._submit(exchange, closing, now)

    def _wind_down(self, now: float) -> None:
        """After `stop`: let fetches finish for a while, then commit and give everything back."""
        if self.core.scheduler.visiting and now > self._stop_at:
            self.fetcher.cancel_all()
        idle = self.core.scheduler.visiting == 0
        if idle or self.core.scheduler.many_leaving or self.core.due(now):
            exchange = self.core.exchange(now)
            self._closing = idle and not self.core.scheduler.held
            self._submit(exchange, self._closing, now)

    def _end(self, code: int, why: str) -> None:
        log.error(why, engine=self.owner)
        self.fetcher.cancel_all()
        self.exit_code = code

    # -- the supervisor -----------------------------------------------------------------------

    def _hear(self, fd: int, events: int) -> None:
        stop = self.pipe.hear()
        if stop is None:
            # The supervisor is gone: nobody guards the directory any more.
            self.fetcher.cancel_all()
            os._exit(EXIT_ORPHAN)
        if stop and not self._stop_at:
            self._stop_at = engine_now() + STOP_GRACE
            self.core.stop()

    def _report(self, now: float) -> None:
        if now - self._reported < REPORT_EVERY:
            return
        self._reported = now
        stats, scheduler = self.core.stats, self.core.scheduler
        scheduler.rate = self._gauges.look(now)
        if self.store.busy:
            stats.store_lag_s = max(stats.store_lag_s, now - self._commit_began)
        stats.in_flight = self.fetcher.in_flight
        stats.held = len(scheduler.held)
        stats.ready = scheduler.ready_count
        stats.crowded = self.core.crowded()
        stats.dns_pending = self.resolver.pending
        stats.uncommitted = len(self.core.batch.pages)
        stats.bodies_mb = self.fetcher.buffered / 1e6
        stats.short_of_memory = now - self.fetcher.pressed < PRESSED or self.fetcher.full
        self._set_workers(self._files.recover())
        self.pipe.report({"owner": self.owner, "stats": stats.to_dict()})
        stats.loop_max_ms = 0.0


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
