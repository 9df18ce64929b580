"""One node: a supervisor with one engine per core on one data directory.

Owns the life of a crawl on this machine: checking what the user asked for before anything is
written, starting engines, hearing their reports, replacing those that die, showing progress, and
ending: when nothing is left, when a limit is reached, or when somebody asks for it.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
from contextlib import suppress
from typing import Any

import orjson

from lycosa.called import called
from lycosa.clock import engine_now
from lycosa.engine import parsing_mark
from lycosa.errors import (
    EXIT_DAMAGED,
    EXIT_DISK_FULL,
    EXIT_FENCED,
    EXIT_STOPPED,
    StoreError,
)
from lycosa.fetch import certificates as trust
from lycosa.frontier.backoff import Away
from lycosa.frontier.protocol import Frontier, check_server, is_server, open_frontier
from lycosa.frontier.readers import ACTIVE_LIMIT
from lycosa.limits import limiting
from lycosa.log import get_logger
from lycosa.metrics import Rates, Stats
from lycosa.node import datadir, rescue, start
from lycosa.node.commons import Commons
from lycosa.node.dbfile import DatabaseFile
from lycosa.node.engine_process import Worker, machine_settings
from lycosa.node.first_visits import FirstVisits
from lycosa.node.progress import Screen, Snapshot, line, summary
from lycosa.node.seed_loader import Loader
from lycosa.node.whole import whole_crawl
from lycosa.settings.values import CrawlSettings, NodeSettings, RunLimits
from lycosa.terminal import redact

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
STOP_SECONDS = 15.0  # after a stop was asked for, engines are killed
COUNT_EVERY = 5.0  # seconds between counts of the domains with something left
SILENT_SECONDS = 60.0  # an engine that says nothing for so long hangs
QUICK_DEATH = 10.0  # seconds; so many in a row, and the fault is ours, not a page's
QUICK_DEATHS = 5

log = get_logger("node")


def run_crawl(
    crawl: CrawlSettings,
    node: NodeSettings,
    limits: RunLimits,
    seeds: list[str],
    resume: bool,
    advice: str = "",
) -> int:
    """Start or resume a crawl and stay with it to its end; returns the exit code."""
    check = datadir.check_old if resume else datadir.check_new
    if is_server(node.store):
        check = datadir.check_shared
        check_server(node.store)
    certificates = trust.certificates() if node.tls_verify else None
    with start.spooled(seeds) as sources:
        start.check_seeds(sources, seeds)
        check(node.data_dir)
        lock = datadir.lock(node.data_dir)
        try:
            check(node.data_dir)
            frontier, name = start.open_frontier(crawl, node, limits, sources, resume)
            limits = start.shared_limits(frontier, limits)
            if advice:
                log.warning(advice)
            if certificates:
                trust.lay_out(certificates, node.data_dir / datadir.TRUST)
            with start.alone(frontier):
                return Supervisor(crawl, node, limits, frontier, lock, name).run()
        finally:
            os.close(lock)


class Supervisor:
    """Runs the engines of a node until the crawl ends."""

    def __init__(
        self,
        crawl: CrawlSettings,
        node: NodeSettings,
        limits: RunLimits,
        frontier: Frontier,
        lock: int,
        name: str = "",
    ) -> None:
        self.crawl = crawl
        self.node = node
        self.limits = limits
        self.frontier = frontier
        self.lock = lock
        self.name = name
        before = engine_now()
        self.to_ms = frontier.now_ms() - before * 1000
        self.workers: dict[int, Worker] = {}
        self.first_visits = FirstVisits()
        self.past = Stats(engines=0)  # of engines that ended during this run
        self.selector = selectors.DefaultSelector()
        self.screen = Screen()
        self.live = node.view and self.screen.usable()
        self.rates = Rates()
        self.began = engine_now()
        self.stopping = 0.0  # since when
        self.exit_code = 0
        self.failure = ""
        self.finished = False
        self.quick_deaths = 0
        self.away = Away()
        self.unrescued: set[int] = set()
        self.stored_pages, _ = frontier.totals()
        self.before = self.stored_pages
        self.past = self._earlier_runs()
        self.backlog = (0, 0)
        self.loader = Loader(node.data_dir, self._connect, name)
        self.server = frontier.server
        self.file = DatabaseFile(node.store, node.data_dir)
        self._signals = 0
        self._active = (float("-inf"), 0)  # when they were counted, domains with something left
        self._logged = self._checked = engine_now()
        self.per_engine = start.fitting_workers(node)
        # Where earlier runs went last is not known: no address is visited before the pause that
        # may be due there.
        self._addresses_from = engine_now() + crawl.ip_delay if frontier.everyone(name) else 0.0
        self.commons = Commons(node.engines, self._addresses_from)

    def _connect(self) -> Frontier:
        return open_frontier(
            self.node.store,
            self.node.data_dir,
            self.crawl.store_rules(),
            self.frontier.now_ms,
            name="lycosa seeds",
        )

    # -- the loop -----------------------------------------------------------------------------

    def run(self) -> int:
        read, write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        previous = {s: signal.signal(s, self._signal) for s in STOP_SIGNALS}
        self.selector.register(read, selectors.EVENT_READ)
        try:
            self._seed()
            while self.workers or not self._over():
                self._turn(read)
        finally:
            self._kill_all()
            self.commons.close()
            self.loader.stop()
            signal.set_wakeup_fd(-1)
            for number, handler in previous.items():
                signal.signal(number, handler)
            os.close(read)
            os.close(write)
        return self._end()

    def _seed(self) -> None:
        self.loader.start()
        # Which domains are seeded must be known before links can be judged by it.
        wanted = self.loader.done if self.crawl.seeded_only else self.loader.some
        while not wanted.wait(0.1) and not self._signals and self.loader.error is None:
            self._show()
        if self.name:
            self.away.ask(lambda: start.tell_opened(self.frontier, self.name), None)
        for index in range(self.node.engines):
            if not self._signals:
                self._spawn(index)

    def _over(self) -> bool:
        return bool(self.stopping or self._signals)

    def _turn(self, wakeup: int) -> None:
        for key, _ in self.selector.select(0.2):
            if key.fd == wakeup:
                os.read(wakeup, 512)
            else:
                self._read(key.data)
        now = engine_now()
        self._heed_signals()
        self._reap(now)
        if now - self._checked >= 0.5:
            self._checked = now
            self._check(now)
        self._show()

    def _signal(self, number: int, frame: object) -> None:
        self._signals += 1

    def _heed_signals(self) -> None:
        if self._signals:
            self.stop("asked to stop: finishing what is in flight", EXIT_STOPPED)
        if self._signals >= 2:
            self._kill_all()

    def _check(self, now: float) -> None:
        """What may end the run, and engines that hang."""
        if self.loader.error is not None and not self.stopping:
            self._fail(f"Loading the seeds failed: {self.loader.error}")
        if not self.file.same():
            self._fail(f"{self.node.data_dir} was moved or deleted: nothing more can be kept.")
            self._kill_all()
            return
        if self.stopping:
            if now - self.stopping > STOP_SECONDS:
                self._kill_all()
            return
        if 0 < self.limits.max_duration <= now - self.began:
            self.stop("the time limit is reached")
        else:
            self.away.ask(self._check_store, None)
        for worker in self.workers.values():
            if now - worker.heard > SILENT_SECONDS and worker.awake():
                log.warning("an engine hangs and is replaced", engine=worker.index)
                worker.process.kill()

    def _check_store(self) -> None:
        self.stored_pages, stop = self.frontier.totals()
        self._check_server()
        if stop:
            self.stop("asked to stop by the command", EXIT_STOPPED)
        elif 0 < self.limits.max_pages <= self.stored_pages:
            self.stop(f"{self.limits.max_pages} pages reached")
        elif self.loader.done.is_set() and self.frontier.finished():
            self.finished = True
            self.stop("")
        if self.unrescued:
            rescue.rescue(self.frontier, self.node.data_dir, self.unrescued)
            self.unrescued.clear()
        self._replace_expired()

    def _check_server(self) -> None:
        """A server that took another's place may have lost commits: engines are fenced and begin
        anew, seeds are loaded again as far as it forgot them."""
        if self.frontier.server == self.server:
            return
        self.server = self.frontier.server
        wait = self.crawl.lease_time + self.crawl.delay
        log.warning(
            "the store was replaced by another server or restored, and may have lost the last"
            f" commits: no visits for {wait:g} s, then what was lost is fetched again"
        )
        self.loader.start()

    def _replace_expired(self) -> None:
        """Leases that ran out. An engine of ours must not wake up again: it is killed now, and
        rescued when it has ended. Those of other nodes we only know by their leases."""
        expired = set(self.frontier.expired())
        if not expired:
            return
        owners = {worker.owner for worker in self.workers.values()}
        for worker in self.workers.values():
            if worker.owner in expired:
                log.warning("an engine slept through its lease", engine=worker.index)
                worker.process.kill()
        ours = set(self.frontier.living(self.name)) & expired - owners
        if ours and all(owners):  # each has told its number
            rescue.rescue(self.frontier, self.node.data_dir, ours)
        if expired - owners - ours:
            self.frontier.rescue()

    def stop(self, why: str, code: int = 0) -> None:
        """Ask all engines to finish, commit and end."""
        if self.stopping:
            return
        self.stopping, self.exit_code = engine_now(), self.exit_code or code
        if why:
            self._say(why)
        for worker in self.workers.values():
            worker.tell(b"stop\n")

    def _fail(self, why: str) -> None:
        self.failure = why
        self.exit_code = 1
        self.stop("")

    # -- engines ------------------------------------------------------------------------------

    def _spawn(self, index: int) -> None:
        parsing_mark.Mark(self.commons.marks, index).clear()
        process = subprocess.Popen(
            [sys.executable, "-m", "lycosa.engine"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=(self.lock, *self.commons.descriptors()),
        )
        now = engine_now()
        worker = Worker(index, process, now, now)
        self.workers[index] = worker
        assert process.stdout is not None
        os.set_blocking(process.stdout.fileno(), False)
        self.selector.register(process.stdout.fileno(), selectors.EVENT_READ, worker)
        worker.tell(orjson.dumps(self._engine_settings(index)) + b"\n")

    def _engine_settings(self, index: int) -> dict[str, Any]:
        return {
            # Exclusions may be many: engines read them from the store.
            "crawl": {**self.crawl.to_json(), "exclude": []},
            "node": self.name,
            "to_ms": self.to_ms,
            "engine": index,
            "workers": self.per_engine,
            "max_pages": self.limits.max_pages,
            "addresses_from": self._addresses_from,
            **self.commons.settings(),
            **machine_settings(self.node),
        }

    def _read(self, worker: Worker) -> None:
        assert worker.process.stdout is not None
        try:
            data = os.read(worker.process.stdout.fileno(), 1 << 16)
        except BlockingIOError:
            return
        if not data:
            self.selector.unregister(worker.process.stdout.fileno())
            return
        worker.hear(data)

    def _reap(self, now: float) -> None:
        for worker in list(self.workers.values()):
            code = worker.process.poll()
            if code is None:
                continue
            self._forget(worker)
            if code != 0:
                self._died(worker, code, now)

    def _forget(self, worker: Worker) -> None:
        del self.workers[worker.index]
        self.past = Stats.merge([self.past, worker.counters()])
        assert worker.process.stdout is not None and worker.process.stdin is not None
        try:
            self.selector.unregister(worker.process.stdout.fileno())
        except (KeyError, ValueError):
            pass
        worker.process.stdout.close()
        try:
            worker.process.stdin.close()
        except BrokenPipeError:
            pass

    def _died(self, worker: Worker, code: int, now: float) -> None:
        """Rescue what it held; replace it, unless the run is ending or it would die again."""
        if code == EXIT_DISK_FULL:
            self._fail("The disk is full: make room, then go on with --resume; nothing is lost.")
            return
        if code == EXIT_DAMAGED or self.file.damaged():
            self._fail(self.file.damage or "The database is damaged: see the message above.")
            return
        if worker.owner:
            self.unrescued.add(worker.owner)
        poisoned, rescued = self.away.ask(lambda: self._rescue(worker, code), (False, 0))
        if self.stopping:
            return
        log.warning(
            "an engine died and is replaced", engine=worker.index, exit=code, domains=rescued
        )
        quick = now - worker.started < QUICK_DEATH and not poisoned
        self.quick_deaths = self.quick_deaths + 1 if quick else 0
        self._addresses_from = now + self.crawl.ip_delay  # of a table that died with its engine
        if self.quick_deaths >= QUICK_DEATHS:
            self._fail("Engines die as soon as they start: see the messages above.")
        else:
            self._spawn(worker.index)

    def _rescue(self, worker: Worker, code: int) -> tuple[bool, int]:
        """Note the page that an engine died of, if it did; take back what it held, also under a
        number that it never had time to tell."""
        root = self.node.data_dir
        died_of = parsing_mark.Mark(self.commons.marks, worker.index)
        poisoned = code != EXIT_FENCED and rescue.suspect_page(self.frontier, died_of)
        alive = {each.owner for each in self.workers.values()}
        if all(alive):
            self.unrescued |= set(self.frontier.living(self.name)) - alive
        rescued = rescue.rescue(self.frontier, root, self.unrescued)
        self.unrescued.clear()
        return poisoned, rescued

    def _kill_all(self) -> None:
        """At once: what is not committed is still queued."""
        for worker in self.workers.values():
            worker.process.kill()
        for worker in list(self.workers.values()):
            worker.process.wait()

    # -- what a person sees -------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """How the crawl stands."""
        now = engine_now()
        living = [worker.stats for worker in self.workers.values()]
        stats = Stats.merge([self.past, *living])
        stats.loading_seeds = not self.loader.done.is_set()
        stats.engines = max(1, len(living))
        self.backlog = self.away.ask(self.frontier.backlog, self.backlog)
        queued, domains = self.backlog[0], self._count_active(now)
        stats.queued, stats.domains = queued, domains
        self.rates.add(now, stats)
        if said := self.first_visits.look(stats, now - self.began):
            self._say(said, log.warning)
        return Snapshot(
            elapsed=now - self.began,
            pages=stats.pages,
            run_pages=stats.pages - self.before,
            ok=stats.ok,
            bytes=stats.bytes,
            pages_per_s=self.rates.of("pages"),
            bytes_per_s=self.rates.of("bytes"),
            in_flight=stats.in_flight,
            queued=queued,
            domains=domains,
            ready=stats.ready,
            engines=len(living),
            rss_mb=stats.rss_mb,
            outcomes=stats.outcomes,
            retries=stats.retries,
            max_pages=self.limits.max_pages,
            max_duration=self.limits.max_duration,
            limiting=limiting(stats, self.crawl.delay, self.per_engine * self.node.engines),
            stopping=bool(self.stopping),
        )

    def _count_active(self, now: float) -> int:
        if now - self._active[0] > COUNT_EVERY:
            known = self._active[1]
            counted = self.away.ask(lambda: self.frontier.active_domains(ACTIVE_LIMIT), known)
            self._active = (now, counted)
        return self._active[1]

    def _show(self) -> None:
        now = engine_now()
        interval = 0.5 if self.live else self.node.log_interval
        if now - self._logged < interval:
            return
        self._logged = now
        if self.live:
            self.screen.draw(self.snapshot())
        else:
            log.info("crawling", **line(self.snapshot()))

    def _say(self, text: str, tell: Any = log.info) -> None:
        if self.live:
            self.screen.clear()
        tell(text)

    def _earlier_runs(self) -> Stats:
        """The counts of earlier runs, so that pages and what came of them speak of the same."""
        total = whole_crawl(Snapshot(), self.node, self.before)
        return Stats(
            engines=0,
            pages=self.before,
            ok=total.ok,
            bytes=total.bytes,
            outcomes=dict(total.outcomes),
        )

    def _end(self) -> int:
        """Say what was kept and where."""
        if self.live:
            self.screen.clear()
        if not self.file.same():
            print(f"lycosa: {self.failure}", file=sys.stderr)
            return self.exit_code
        with suppress(StoreError):  # a store that fails now must not hide how the run ended
            if self.finished:
                self.frontier.put_settings({"finished": 1})
            if self.name:
                start.tell_left(self.frontier, self.name)
        if not self.failure and self.file.damaged():
            self._fail(self.file.damage)
        snapshot = whole_crawl(self.snapshot(), self.node, self.stored_pages)
        directory = self.node.data_dir
        store = redact(self.node.store) if is_server(self.node.store) else ""
        named = ("--store", store) if store else ()
        hint = called("crawl", "--resume", "--data-dir", directory, *named)
        if self.failure:
            print(f"lycosa: {self.failure}", file=sys.stderr)
        for text in summary(snapshot, str(directory), self.finished, hint, store):
            print(text)
        self.frontier.close()
        unbegun = self._signals and not self.finished  # asked while seeds were loading
        return self.exit_code or (EXIT_STOPPED if unbegun else 0)
