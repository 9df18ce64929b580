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
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from lycosa import datadir, opening, upkeep
from lycosa.clock import engine_now
from lycosa.config import CrawlSettings, NodeSettings, RunLimits
from lycosa.engine import EXIT_DISK_FULL, EXIT_FENCED
from lycosa.errors import UserError
from lycosa.frontier import DATABASE, open_reader
from lycosa.frontier.sqlite import SqliteFrontier
from lycosa.log import get_logger
from lycosa.metrics import Rates, Stats, limiting
from lycosa.seeding import Loader
from lycosa.view import Screen, Snapshot, line, summary

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
STOP_SECONDS = 15.0  # after a stop was asked for, engines are killed
SUSPENDED = 10.0  # seconds without a look at the leases: this machine slept
COUNT_EVERY = 5.0  # seconds between counts of the domains with something left
COUNT_LIMIT = 1_000_000
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
) -> int:
    """Start or resume a crawl and stay with it to its end; returns the exit code."""
    if node.store != "sqlite":
        raise UserError("PostgreSQL is not supported in this version: leave --store out.")
    with opening.spooled(seeds) as sources:
        opening.check_seeds(sources)
        (datadir.check_old if resume else datadir.check_new)(node.data_dir)
        lock = datadir.lock(node.data_dir)
        try:
            (datadir.check_old if resume else datadir.check_new)(node.data_dir)
            opening.take_seeds(node.data_dir, sources, resume)
            frontier = opening.open_frontier(crawl, node, resume)
            return Supervisor(crawl, node, limits, frontier, lock).run()
        finally:
            os.close(lock)


@dataclass(slots=True)
class Worker:
    """One engine process as the supervisor sees it."""

    index: int
    process: subprocess.Popen[bytes]
    started: float
    heard: float
    owner: int = 0
    buffer: bytes = b""
    stats: Stats = field(default_factory=lambda: Stats(engines=1))


class Supervisor:
    """Runs the engines of a node until the crawl ends."""

    def __init__(
        self,
        crawl: CrawlSettings,
        node: NodeSettings,
        limits: RunLimits,
        frontier: SqliteFrontier,
        lock: int,
    ) -> None:
        self.crawl = crawl
        self.node = node
        self.limits = limits
        self.frontier = frontier
        self.lock = lock
        self.to_ms = frontier.now_ms() - engine_now() * 1000
        self.workers: dict[int, Worker] = {}
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
        self.before = self._stored_pages()
        self.loader = Loader(node.data_dir, self._connect)
        self._identity = _identity(node.data_dir / DATABASE)
        self._signals = 0
        self._rescued = self._steady_since = engine_now()
        self._active = (float("-inf"), 0)  # when they were counted, domains with something left
        self._logged = self._checked = engine_now()
        self.per_engine = opening.fitting_workers(node)

    def _connect(self) -> SqliteFrontier:
        return SqliteFrontier(
            self.node.data_dir / DATABASE, self.crawl.store_rules(), self.frontier.now_ms
        )

    def _stored_pages(self) -> int:
        return self.frontier.totals()[0]

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
            self.stop("asked to stop: finishing what is in flight")
        if self._signals >= 2:
            self._kill_all()

    def _check(self, now: float) -> None:
        """What may end the run, and engines that hang."""
        if self.loader.error is not None and not self.stopping:
            self._fail(f"Loading the seeds failed: {self.loader.error}")
        if not self._same_database():
            self._fail(f"{self.node.data_dir} was moved or deleted: nothing more can be kept.")
            self._kill_all()
            return
        if self.stopping:
            if now - self.stopping > STOP_SECONDS:
                self._kill_all()
            return
        pages, stop = self.frontier.totals()
        if stop:
            self.stop("asked to stop by 'lycosa stop'")
        elif 0 < self.limits.max_pages <= pages:
            self.stop(f"{self.limits.max_pages} pages reached")
        elif 0 < self.limits.max_duration <= now - self.began:
            self.stop("the time limit is reached")
        elif self.loader.done.is_set() and self.frontier.finished():
            self.finished = True
            self.stop("")
        for worker in self.workers.values():
            if now - worker.heard > SILENT_SECONDS and _runs(worker.process.pid):
                log.warning("an engine hangs and is replaced", engine=worker.index)
                worker.process.kill()
        self._rescue(now)

    def _rescue(self, now: float) -> None:
        """Leases that ran out. Who was suspended himself can't tell: he waits one lease time."""
        if now - self._rescued > SUSPENDED:
            self._steady_since = now
        self._rescued = now
        if now - self._steady_since > self.crawl.lease_time:
            self._replace_expired()

    def _replace_expired(self) -> None:
        """An engine of ours that lost its lease must not wake up again: it is replaced."""
        expired = set(self.frontier.expired())
        for worker in self.workers.values():
            if worker.owner in expired:
                log.warning("an engine slept through its lease", engine=worker.index)
                worker.process.kill()
                expired.discard(worker.owner)
        upkeep.rescue(self.frontier, self.node.data_dir, expired)

    def _same_database(self) -> bool:
        """Whether the directory still holds the file that we write to."""
        try:
            return self._identity == _identity(self.node.data_dir / DATABASE)
        except OSError:
            return False

    def stop(self, why: str) -> None:
        """Ask all engines to finish, commit and end."""
        if self.stopping:
            return
        self.stopping = engine_now()
        if why:
            self._say(why)
        for worker in self.workers.values():
            _tell(worker, b"stop\n")

    def _fail(self, why: str) -> None:
        self.failure = why
        self.exit_code = 1
        self.stop("")

    # -- engines ------------------------------------------------------------------------------

    def _spawn(self, index: int) -> None:
        process = subprocess.Popen(
            [sys.executable, "-m", "lycosa.engine"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=(self.lock,),
        )
        now = engine_now()
        worker = Worker(index, process, now, now)
        self.workers[index] = worker
        assert process.stdout is not None
        os.set_blocking(process.stdout.fileno(), False)
        self.selector.register(process.stdout.fileno(), selectors.EVENT_READ, worker)
        _tell(worker, orjson.dumps(self._engine_settings(index)) + b"\n")

    def _engine_settings(self, index: int) -> dict[str, Any]:
        node = self.node
        return {
            # Exclusions may be many: engines read them from the store.
            "crawl": {**self.crawl.to_json(), "exclude": []},
            "data_dir": str(node.data_dir.resolve()),
            "to_ms": self.to_ms,
            "engine": index,
            "engines": node.engines,
            "workers": self.per_engine,
            "max_pages": self.limits.max_pages,
            "nameservers": list(_nameservers(node)),
            "port_map": {str(port): to for port, to in node.port_map.items()},
            "allow_private": node.allow_private,
            "allow_networks": node.allow_network,
            "ip_delay_exempt": node.ip_delay_exempt,
            "tls_verify": node.tls_verify,
            "warc": node.warc,
            "log_level": node.log_level,
            "log_format": node.log_format,
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
        *lines, worker.buffer = (worker.buffer + data).split(b"\n")
        for each in lines:
            report = orjson.loads(each)
            worker.owner = report["owner"]
            worker.stats = Stats.from_dict(report["stats"])
            worker.heard = engine_now()

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
        self.past = Stats.merge([self.past, _counters(worker.stats)])
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
        dead = self._dead(worker)
        poisoned = code != EXIT_FENCED and upkeep.suspect_page(
            self.frontier, self.node.data_dir, worker.index
        )
        rescued = upkeep.rescue(self.frontier, self.node.data_dir, dead)
        if self.stopping:
            return
        log.warning(
            "an engine died and is replaced", engine=worker.index, exit=code, domains=rescued
        )
        quick = now - worker.started < QUICK_DEATH and not poisoned
        self.quick_deaths = self.quick_deaths + 1 if quick else 0
        if self.quick_deaths >= QUICK_DEATHS:
            self._fail("Engines die as soon as they start: see the messages above.")
        else:
            self._spawn(worker.index)

    def _dead(self, worker: Worker) -> set[int]:
        """The numbers of the engine that ended, also one that it never had time to tell."""
        alive = {each.owner for each in self.workers.values()}
        dead = {worker.owner} - {0}
        return dead | set(self.frontier.living()) - alive if all(alive) else dead

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
        queued, domains = self.frontier.backlog()[0], self._count_active(now)
        stats.queued, stats.domains = queued, domains
        self.rates.add(now, stats)
        return Snapshot(
            elapsed=now - self.began,
            pages=self.before + stats.pages,
            run_pages=stats.pages,
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
            max_pages=self.limits.max_pages,
            max_duration=self.limits.max_duration,
            limiting=limiting(stats, self.crawl.delay, self.per_engine * self.node.engines),
            stopping=bool(self.stopping),
        )

    def _count_active(self, now: float) -> int:
        if now - self._active[0] > COUNT_EVERY:
            self._active = (now, self.frontier.active_domains(COUNT_LIMIT))
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

    def _say(self, text: str) -> None:
        if self.live:
            self.screen.clear()
        log.info(text)

    def _whole_crawl(self, run: Snapshot) -> Snapshot:
        """With the counts of all runs, as `lycosa status` tells them."""
        reader = open_reader(self.node.data_dir, self.node.store)
        try:
            total = reader.status()
        finally:
            reader.close()
        run.pages, run.ok, run.bytes = total["pages"], total["ok"], total["bytes"]
        run.outcomes = total["outcomes"]
        return run

    def _end(self) -> int:
        """Say what was kept and where."""
        if self.live:
            self.screen.clear()
        if self.finished and self._same_database():
            self.frontier.put_settings({"finished": 1})
        if not self._same_database():
            print(f"lycosa: {self.failure}", file=sys.stderr)
            return self.exit_code
        snapshot = self._whole_crawl(self.snapshot())
        directory = self.node.data_dir
        hint = f"lycosa crawl --resume --data-dir {directory}"
        if self.failure:
            print(f"lycosa: {self.failure}", file=sys.stderr)
        for text in summary(snapshot, str(directory), self.finished, hint):
            print(text)
        self.frontier.close()
        return self.exit_code


def _identity(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino


def _nameservers(node: NodeSettings) -> Iterator[str]:
    for host, port in node.nameservers:
        yield f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _counters(stats: Stats) -> Stats:
    """What stays of an engine that ended: its counts, not its gauges."""
    kept = Stats(engines=0)
    for name in (
        "pages",
        "ok",
        "bytes",
        "requests",
        "visits",
        "robots_fetched",
        "local_shortage",
        "slow_pages",
    ):
        setattr(kept, name, getattr(stats, name))
    kept.outcomes, kept.drops = stats.outcomes, stats.drops
    return kept


def _tell(worker: Worker, words: bytes) -> None:
    assert worker.process.stdin is not None
    try:
        worker.process.stdin.write(words)
        worker.process.stdin.flush()
    except (BrokenPipeError, ValueError):
        pass  # it ended: the next turn notices


def _runs(pid: int) -> bool:
    """Whether a process is not stopped by a signal (somebody may be looking at it)."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "Tt"
    except OSError:
        return False
