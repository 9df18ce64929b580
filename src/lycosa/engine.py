"""One engine: one process, one loop around libcurl, the resolver and a heap of domains.

Wires the pure core to its edges: poller, fetcher, resolver, ledger, store thread, and the pipes
to the supervisor. It decides nothing about crawling. Its first line of input is its settings;
then it hears `stop`; when the pipe closes the supervisor is gone, and it ends at once.

Every turn checks the lease before it serves a socket (P4): past it, all transfers are closed
unsent.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import socket
import sys
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from lycosa import __version__
from lycosa.addresses import CDN_RANGES, SharedAddresses
from lycosa.archive.ledger import Ledger
from lycosa.archive.segments import SegmentWriter
from lycosa.archive.warc import record_ids, warcinfo
from lycosa.clock import LONG_MS, engine_now
from lycosa.config import CrawlSettings
from lycosa.core import LEASE_MARGIN, Core, CoreRules
from lycosa.datadir import TRUST
from lycosa.diary import Diary
from lycosa.dns import Answer, Resolver, routes_ipv6
from lycosa.errors import (
    EXIT_DISK_FULL,
    EXIT_FENCED,
    EXIT_ORPHAN,
    DiskFull,
    Fenced,
    LycosaError,
    StoreGone,
)
from lycosa.exchange import Exchange, Exchanger, Reply, StoreThread
from lycosa.fetch import Fetcher, FetchLimits, FetchSettings
from lycosa.frontier import Frontier, open_frontier
from lycosa.harvest import Harvest, HarvestRules
from lycosa.log import get_logger, setup
from lycosa.mark import Mark
from lycosa.memory import Memory
from lycosa.metrics import Stats
from lycosa.patience import Patience
from lycosa.poller import Poller, Ready
from lycosa.records import Failure, Request, Response
from lycosa.scheduler import Held, Scheduler
from lycosa.scope import Scope
from lycosa.slots import SharedTable
from lycosa.trust import as_path
from lycosa.urls import split
from lycosa.visit import VisitRules

SEGMENT_BYTES = 1 << 30
TURN_BUDGET = 0.020  # seconds of a turn spent on responses; the rest waits for the next turn
BACKLOG = 32  # responses that wait, above which no visit is started
SLOW_PAGE = 0.050  # seconds that no page should hold the loop (S3)
REPORT_EVERY = 1.0
WARN_EVERY = 10.0
MAX_UNREAD = 1 << 16  # bytes of reports kept for a supervisor that does not read
STOP_GRACE = 10.0  # seconds in which fetches in flight may finish after `stop`
SHORTAGE_FACTOR = 0.9  # concurrency after the machine ran out of open files


log = get_logger("engine")


class Engine:
    """The wiring of one engine; `settings` as the supervisor wrote them."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings = settings
        self.crawl = CrawlSettings.from_json(settings["crawl"])
        self.root = Path(settings["data_dir"])
        self.to_ms: float = settings["to_ms"]
        self.full_workers = self.workers = int(settings["workers"])
        self.poller = Poller()
        self._input = b""
        self._output = b""
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
        self._reported = 0.0
        self._cpu = time.process_time()
        self._visits = 0
        self._commit_began = 0.0
        self._memory = Memory()
        self._warned = float("-inf")

    def _ms(self, now: float) -> float:
        return now * 1000 + self.to_ms

    # -- wiring -------------------------------------------------------------------------------

    def _enter(self) -> tuple[Frontier, int]:
        """Open the store and get a number there, as soon as it can be reached."""
        rules = self.crawl.store_rules()
        while True:
            try:
                frontier = open_frontier(
                    self.settings["store"], self.root, rules, lambda: int(self._ms(engine_now()))
                )
                place = (self.settings["node"], str(self.root))
                owner = frontier.register(socket.gethostname(), os.getpid(), *place)
                self._patience.over()
                return frontier, owner
            except StoreGone as error:
                self._wait_outside(self._patience.after(error))

    def _wait_outside(self, seconds: float) -> None:
        self._write_report({"owner": 0, "stats": Stats().to_dict()})
        if select.select([0], [], [], seconds)[0]:
            data = os.read(0, 4096)
            if not data:
                os._exit(EXIT_ORPHAN)
            if b"stop\n" in data:
                raise SystemExit(0)

    def _make_network(self) -> None:
        node = self.settings
        servers = node["nameservers"] or None
        self.resolver = Resolver(self.poller, servers, now=engine_now, ipv6=routes_ipv6())
        self.fetcher = Fetcher(
            self.poller,
            self.resolver,
            FetchSettings(
                user_agent=self.crawl.user_agent,
                trust=as_path(self.root / TRUST) if node["tls_verify"] else "",
                allow_private=node["allow_private"],
                allow_networks=tuple(node["allow_networks"]),
                port_map={int(key): value for key, value in node["port_map"].items()},
            ),
            FetchLimits(body=self.crawl.max_body),
            capacity=self.workers,
            now=engine_now,
        )

    def _make_archive(self) -> None:
        self.ids = record_ids()
        self.ledger = Ledger(self.root, self.owner, SEGMENT_BYTES)
        self.diary = Diary(self.ledger, self.crawl.delay)
        self.diary.note_clock(self.to_ms, LONG_MS if self.frontier.server_clock else 0)
        text = SegmentWriter(self.root, "text", self.owner, SEGMENT_BYTES)
        warc = None
        if self.settings["warc"]:
            warc = SegmentWriter(self.root, "warc", self.owner, SEGMENT_BYTES, self._warcinfo)
        renew = self.crawl.lease_time / 20
        self.exchanger = Exchanger(
            self.frontier, self.owner, engine_now, text, warc, self.ledger, renew
        )

    def _warcinfo(self, name: str) -> bytes:
        return warcinfo(
            name,
            int(self._ms(engine_now())),
            self.ids,
            f"lycosa/{__version__}",
            self.crawl.email,
            self.crawl.user_agent,
            self.root.resolve().name,
        )

    def _make_core(self) -> None:
        crawl, node = self.crawl, self.settings
        scope = Scope(crawl.scope_rules())
        visit = VisitRules(crawl.delay, crawl.visit_timeout, sitemaps=crawl.sitemaps)
        harvest = HarvestRules(
            obey_nofollow=not crawl.ignore_nofollow,
            max_pages_per_domain=crawl.max_pages_per_domain,
            max_queued_per_domain=crawl.max_queued_per_domain,
            keep_warc=node["warc"],
        )
        rules = CoreRules(
            visit,
            crawl.lease_time,
            crawl.ip_delay,
            node["max_pages"],
            node["engines"],
            margin=min(LEASE_MARGIN, crawl.lease_time / 10),
        )
        self.core = Core(
            rules,
            Scheduler(crawl.delay, self.workers),
            Harvest(harvest, scope, self.fetcher.request_head, self.ids),
            scope,
            self.to_ms,
            address_of=self._address_of,
            exempt=SharedAddresses((*CDN_RANGES, *node["ip_delay_exempt"])).exempt,
            addresses=SharedTable(self.root) if node["engines"] > 1 else None,
            parsing=Mark(self.root, node["engine"]).set,
            bug=lambda url: log.exception("a fault of ours cost a page", url=url),
        )

    def _address_of(self, url: str) -> str | None:
        answer = self.resolver.cached(split(url).host)
        return None if answer is None else answer.first

    def _look_up(self) -> None:
        """Find the addresses that the core waits for."""
        lookups, self.core.lookups = self.core.lookups, []
        for held in lookups:
            self.resolver.resolve(split(held.run[0].url).host, partial(self._resolved, held))

    def _resolved(self, held: Held, answer: Answer) -> None:
        self._send(self.core.resolved(held, answer.first, engine_now()))

    # -- the loop -----------------------------------------------------------------------------

    def run(self) -> int:
        """Turn until the end; returns the exit code."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the supervisor hears it and says stop
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.set_blocking(0, False)
        os.set_blocking(1, False)
        self.poller.watch(0, True, False, self._hear)
        gc.collect()
        gc.freeze()
        gc.set_threshold(300_000, 50, 100)
        while self.exit_code is None:
            self._turn()
        return self.exit_code

    def _turn(self) -> None:
        ready = self.poller.poll(self._timeout(engine_now()))
        now = engine_now()
        self._serve(ready)
        self.resolver.turn()
        self.fetcher.turn(engine_now())
        self._responses(now)
        self.diary.note_ends(self.core)
        if len(self.fetcher.finished) < BACKLOG:
            self._send(self.core.start(engine_now()))
        self._look_up()
        self._exchange(engine_now())
        self._report(engine_now())
        took = (engine_now() - now) * 1000
        self.core.stats.loop_max_ms = max(self.core.stats.loop_max_ms, took)

    def _serve(self, ready: list[Ready]) -> None:
        """P4: the lease is looked at before every socket, for a process may be stopped anywhere."""
        for each in ready:
            if self._lapsed():
                return
            self.poller.serve((each,))
        self._lapsed()

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
        if self.fetcher.finished:
            return 0.0
        scheduler = self.core.scheduler
        if self.core.can_start(now):
            return 0.0  # a turn starts a bounded number of visits
        times = [self._reported + REPORT_EVERY - now]
        if not self.store.busy:
            times.append(0.05 if self._stop_at else self.core.due_at(now) - now)
        times += [t for t in (self.fetcher.timeout(), self.resolver.timeout()) if t is not None]
        waiting = scheduler.next_time()
        if waiting is not None:
            times.append(waiting - now)
        return max(0.0, min(times))

    def _responses(self, began: float) -> None:
        """Work through finished fetches, for as long as the sockets took: what has come must not
        wait behind what comes."""
        now = engine_now()
        end = now + max(TURN_BUDGET, now - began)
        while self.fetcher.finished:
            response = self.fetcher.finished.popleft()
            if response.failure:
                self._tell(response)
            before = time.thread_time()  # S3 is about work: others may have the core as well
            self._send(self.core.answer(response, engine_now()))
            self._note_page(time.thread_time() - before)
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

    def _note_page(self, seconds: float) -> None:
        stats = self.core.stats
        if seconds > SLOW_PAGE:
            stats.slow_pages += 1
        if seconds * 1000 > stats.page_max_ms:
            stats.page_max_ms = seconds * 1000

    def _send(self, requests: list[Request]) -> None:
        """Starts and longer delays go to the ledger before any request goes to the network."""
        self.diary.note_starts(self.core)
        for request in requests:
            if self._lapsed():
                unsent = Response(request, failure=Failure.STOPPED, ended=engine_now())
                self.fetcher.finished.append(unsent)
            else:
                self.fetcher.start(request)

    def _shortage(self, failure: str) -> None:
        """Not the host's fault. Out of open files: fewer fetches at once."""
        stats = self.core.stats
        if failure == Failure.NAMESERVER:
            self._warn("no name server can be reached: see 'lycosa check'")
            return
        stats.local_shortage += 1
        if not stats.short_of_files or self.core.scheduler.visiting < self.workers:
            self.workers = max(10, int(self.workers * SHORTAGE_FACTOR))
            self.core.scheduler.workers = self.workers
            stats.short_of_files = True

    # -- the store ----------------------------------------------------------------------------

    def _exchange(self, now: float) -> None:
        reply = self.store.poll()
        if reply is not None:
            self._absorb(reply, now)
        if self.store.busy or self.exit_code is not None:
            return
        if self._failed is not None:
            self._try_again(now)
        elif self._stop_at:
            self._wind_down(now)
        elif self.core.due(now):
            self._submit(self.core.exchange(now), False, now)

    def _submit(self, exchange: Exchange, closing: bool, now: float) -> None:
        self._commit_began = now
        self._under_way = (exchange, closing)
        self.store.submit(exchange, closing)

    def _absorb(self, reply: Reply, now: float) -> None:
        if reply.error is not None:
            self._store_failed(reply.error, now)
            return
        if reply.to_ms is not None and reply.to_ms != self.core.to_ms:
            self.diary.note_clock(reply.to_ms, reply.doubt_ms)
        self.core.absorb(reply, now)
        self.core.stats.store_lag_s = now - self._commit_began
        self._patience.over()
        if self._closing:
            with suppress(StoreGone):  # it holds nothing: its lease may run out
                self.frontier.retire(self.owner)
            self.exit_code = 0

    def _store_failed(self, error: BaseException, now: float) -> None:
        if isinstance(error, Fenced):
            self._end(EXIT_FENCED, str(error))
        elif isinstance(error, DiskFull):
            self._end(EXIT_DISK_FULL, str(error))
        elif isinstance(error, StoreGone):
            self._failed = (*self._under_way, now + self._patience.after(error))
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
        if idle or self.core.due(now):
            self._closing = idle
            self._submit(self.core.exchange(now), idle, now)

    def _end(self, code: int, why: str) -> None:
        log.error(why, engine=self.owner)
        self.fetcher.cancel_all()
        self.exit_code = code

    # -- the supervisor -----------------------------------------------------------------------

    def _hear(self, fd: int, events: int) -> None:
        try:
            data = os.read(fd, 4096)
        except BlockingIOError:
            return
        if not data:
            # The supervisor is gone: nobody guards the directory any more.
            self.fetcher.cancel_all()
            os._exit(EXIT_ORPHAN)
        self._input += data
        if b"stop\n" in self._input and not self._stop_at:
            self._stop_at = engine_now() + STOP_GRACE
            self.core.stop()

    def _report(self, now: float) -> None:
        since = now - self._reported
        if since < REPORT_EVERY:
            return
        stats, scheduler = self.core.stats, self.core.scheduler
        cpu = time.process_time()
        if self._reported:
            stats.cpu_share = (cpu - self._cpu) / since
            rate = (stats.visits - self._visits) / since
            scheduler.rate += (rate - scheduler.rate) * (0.5 if rate > scheduler.rate else 0.1)
        self._reported, self._cpu, self._visits = now, cpu, stats.visits
        stats.in_flight = self.fetcher.in_flight
        stats.held = len(scheduler.held)
        stats.ready = scheduler.ready_count
        stats.crowded = self.core.crowded()
        stats.dns_pending = self.resolver.pending
        stats.uncommitted = len(self.core.batch.pages)
        stats.rss_mb = self._memory.rss_mb()
        self._recover()
        self._write_report({"owner": self.owner, "stats": stats.to_dict()})
        stats.loop_max_ms = 0.0

    def _write_report(self, report: dict[str, Any]) -> None:
        """Never waits for the supervisor: what does not fit now goes out with a later report."""
        if len(self._output) < MAX_UNREAD:
            self._output += orjson.dumps(report) + b"\n"
        try:
            self._output = self._output[os.write(1, self._output) :]
        except BlockingIOError:
            pass
        except BrokenPipeError:
            os._exit(EXIT_ORPHAN)

    def _recover(self) -> None:
        """After a shortage concurrency comes back slowly."""
        if self.workers < self.full_workers and self.core.stats.short_of_files:
            self.workers = min(self.full_workers, self.workers + max(1, self.full_workers // 100))
            self.core.scheduler.workers = self.workers
            self.core.stats.short_of_files = self.workers < self.full_workers


def main() -> int:
    """Started by the supervisor, settings on standard input."""
    settings = orjson.loads(sys.stdin.buffer.raw.readline())  # type: ignore[union-attr]
    setup(settings["log_level"], settings["log_format"])
    try:
        return Engine(settings).run()
    except DiskFull as error:
        log.error(str(error))
        return EXIT_DISK_FULL
    except LycosaError as error:
        log.error(str(error))
        return 1


if __name__ == "__main__":
    sys.exit(main())
