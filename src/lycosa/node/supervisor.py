"""The supervisor of a node: the loop that stays with a crawl on this machine until a run ends.

Five times a second it hears its engines, replaces those that died and shows progress; twice a
second it asks whether the run is to end: nothing is left, a limit is reached, somebody asks for
it, or it can't go on. Then engines finish what is under way, and it says what was kept. How each
of these is done is in `engines`, `rescue` and `progress`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial

from lycosa.called import called
from lycosa.clock import engine_now
from lycosa.errors import EXIT_DAMAGED, EXIT_DISK_FULL, EXIT_STOPPED, StoreError
from lycosa.fetch import certificates as trust
from lycosa.frontier.backoff import Away
from lycosa.frontier.keys import FINISHED_KEY
from lycosa.frontier.protocol import check_server, is_server, open_frontier
from lycosa.log import get_logger
from lycosa.metrics import Stats
from lycosa.node import datadir, join, seed_sources, start
from lycosa.node.changes import Changes
from lycosa.node.deaths import QuickDeaths
from lycosa.node.disk_room import DiskRoom, free_bytes
from lycosa.node.display import Snapshot, summary
from lycosa.node.engine_process import EngineProcess
from lycosa.node.engines import Engines, engine_orders
from lycosa.node.history import Recorder
from lycosa.node.news import News
from lycosa.node.presence import Presence
from lycosa.node.progress import Progress
from lycosa.node.rescue import Rescue
from lycosa.node.seed_loader import Loader
from lycosa.node.signals import StopSignals
from lycosa.node.store_watch import StoreWatch
from lycosa.settings.steered import CrawlPause, Steered, rules_now
from lycosa.settings.values import CrawlSettings, NodeSettings, RunLimits
from lycosa.terminal import one_line, redact
from lycosa.units import size

TURN_SECONDS = 0.2
CHECK_SECONDS = 0.5  # between two looks at what may end the run
STEERED = ("max_workers", "min_free_disk")  # settings of a node that may change during a run
STOP_SECONDS = 15.0  # after a stop was asked for, engines are killed: they take 10 (`STOP_GRACE`)

log = get_logger("node")


def run_crawl(
    crawl: CrawlSettings,
    node: NodeSettings,
    limits: RunLimits,
    seeds: list[str],
    resume: bool,
    advice: str = "",
    beside: Callable[[], AbstractContextManager[object]] = nullcontext,
) -> int:
    """Start or resume a crawl and stay with it to its end; returns the exit code. `beside`: what is
    there as long as the run, once the crawl is open."""
    check = datadir.check_old if resume else datadir.check_new
    if is_server(node.store):
        check = datadir.check_shared
        check_server(node.store)
    certificates = trust.certificates() if node.tls_verify else None
    with seed_sources.spooled(seeds) as sources:
        seed_sources.check(sources, seeds)
        check(node.data_dir)
        lock = datadir.lock(node.data_dir)
        try:
            check(node.data_dir)  # again: before it was locked, another process could change it
            presence = start.open_crawl(crawl, node, limits, sources, resume)
            limits = join.shared_limits(presence.frontier, limits)
            if advice:
                log.warning(advice)
            if certificates:
                trust.lay_out(certificates, node.data_dir / datadir.TRUST)
            with start.hold_name(presence.frontier), beside():
                return Supervisor(crawl, node, limits, presence, lock).run()
        finally:
            os.close(lock)


@dataclass(slots=True)
class Ending:
    """How a run ends."""

    since: float = 0.0  # when engines were asked to stop, by the engine's clock; 0: not yet
    code: int = 0  # the exit code
    failure: str = ""  # why the run can't go on
    finished: bool = False  # nothing is left to fetch
    why: str = ""  # it was stopped, in a few words


class Supervisor:
    """Runs the engines of a node until the run ends."""

    def __init__(
        self,
        crawl: CrawlSettings,
        node: NodeSettings,
        limits: RunLimits,
        presence: Presence,
        lock: int,
    ) -> None:
        frontier = presence.frontier
        self.crawl = crawl
        self.node = node
        self.limits = limits
        self.presence = presence
        self.signals = StopSignals()
        self.ending = Ending()
        self.store = StoreWatch(frontier, node.data_dir)
        self.away = Away()
        self.engines = Engines(engine_orders(crawl, node, limits.max_pages, presence), lock)
        self.rescue = Rescue(presence, self.engines, self.away)
        self.quick_deaths = QuickDeaths()
        fetches = self.engines.fetches
        self.progress = Progress(frontier, self.away, node, limits, crawl.delay, fetches)
        self.history = Recorder(node, presence.name, crawl.delay, self._leave_line)
        rules, now_ms = crawl.store_rules(), frontier.now_ms
        connect = partial(open_frontier, node.store, node.data_dir, rules, now_ms)
        self.loader = Loader(node.data_dir, partial(connect, name="lycosa seeds"), presence.name)
        self.news = News(node, presence.name, self.progress)
        self.changes = Changes(frontier, presence.name)
        self.pause: CrawlPause | None = None  # of the whole crawl, by a user
        self.disk = DiskRoom(node.min_free_disk)
        self._checked = engine_now()

    # -- the loop -----------------------------------------------------------------------------

    def run(self) -> int:
        """Stay until the run has ended; returns the exit code."""
        with self.signals:
            self.engines.watch(self.signals.fd, self.signals.drain)
            try:
                self._begin()
                while len(self.engines) or not self._ends():
                    self._turn()
            finally:
                self.engines.kill_all()
                self.engines.close()
                self.loader.stop()
        return self._end()

    def _begin(self) -> None:
        """Load seeds until engines have something to do, then start them."""
        self.away.ask(self._heed_changes, None)
        self._look_at_disk()
        self.loader.start()
        # Which domains are seeded must be known before links can be judged by it.
        seeded_only = self.presence.frontier.rules.seeded_only
        enough = self.loader.done if seeded_only else self.loader.some
        while not enough.wait(0.1) and not self.signals.count and self.loader.error is None:
            self._show()
        self.away.ask(self.presence.announce, None)
        for index in range(self.node.engines):
            if not self.signals.count:
                self.engines.start(index)

    def _ends(self) -> bool:
        return bool(self.ending.since or self.signals.count)

    def _turn(self) -> None:
        self.engines.wait(TURN_SECONDS)
        now = engine_now()
        self._heed_signals()
        for engine, code in self.engines.ended():
            if code != 0:
                self._replace(engine, code, now)
        if now - self._checked >= CHECK_SECONDS:
            self._checked = now
            self._check(now)
        self._show()

    def _heed_signals(self) -> None:
        if self.signals.count:
            self.stop("asked to stop: finishing what is in flight", EXIT_STOPPED)
        if self.signals.count >= 2:
            self.engines.kill_all()

    def _replace(self, engine: EngineProcess, code: int, now: float) -> None:
        """An engine died: take over what it held and start another, unless the run ends or the
        other would die as well."""
        if code == EXIT_DISK_FULL:
            self._fail("The disk is full: make room, then go on with --resume; nothing is lost.")
            return
        if code == EXIT_DAMAGED or self.store.damaged():
            self._fail(self.store.damage or "The database is damaged: see the message above.")
            return
        rescued = self.rescue.after_death(engine, code)
        if self.ending.since:
            return
        log.warning(
            "an engine died and is replaced",
            index=engine.index,
            exit=code,
            domains=rescued.domains,
        )
        self.quick_deaths.note(now - engine.started, rescued.page_noted)
        if self.quick_deaths.too_many():
            self._fail("Engines die as soon as they start: see the messages above.")
        else:
            self.engines.start_again(engine.index)

    def _show(self) -> None:
        if self.progress.due():
            self.progress.show(self._stats(), bool(self.ending.since))
        if self.history.due():
            self._record(self._state())

    def _record(self, state: str) -> None:
        """Write a line of the history."""
        stats = self._stats()
        shown = self.progress.snapshot(stats, bool(self.ending.since))
        self.history.note(stats, shown, state, self.engines.notes(), self.engines.seen())
        self.progress.end = self.history.end_text

    def _leave_line(self, node: str, seconds: int, at_ms: int, line: str, before_ms: int) -> None:
        """In a store that may be away: then this line is in the directory alone."""
        put = self.presence.frontier.put_history
        self.away.ask(lambda: put(node, seconds, at_ms, line, before_ms), None)

    def _state(self) -> str:
        """How the run stands, in one word, while it goes on."""
        if self._ends():
            return "stopping"
        if self.pause is not None or self.disk.low:
            return "paused"
        return "running" if self.loader.done.is_set() else "loading"

    def _stats(self) -> Stats:
        stats = self.engines.stats()
        stats.loading_seeds = not self.loader.done.is_set()
        if self.pause is not None or self.disk.low:
            stats.paused = "user" if self.pause is not None else "disk"
        return stats

    # -- what ends a run ----------------------------------------------------------------------

    def _check(self, now: float) -> None:
        """Look for what may end the run, and for engines that hang."""
        if self.loader.error is not None and not self.ending.since:
            self._fail(f"Loading the seeds failed: {self.loader.error}")
        if self.store.gone():
            self._fail(f"{self.node.data_dir} was moved or deleted: nothing more can be kept.")
            self.engines.kill_all()
            return
        if self.ending.since:
            if now - self.ending.since > STOP_SECONDS:
                self.engines.kill_all()
            return
        self._look_at_disk()
        self._look_for_alarms()
        if 0 < self.limits.max_duration <= now - self.progress.began:
            self.stop("the time limit is reached")
        else:
            self.away.ask(self._check_store, None)
        self.engines.kill_hanging(now)

    def _check_store(self) -> None:
        self._heed_changes()
        pages, stop = self.progress.totals()
        self._check_server()
        if stop:
            self.stop(f"asked to stop by '{called('stop')}'", EXIT_STOPPED)
        elif 0 < self.limits.max_pages <= pages:
            self.stop(f"the limit of {self.limits.max_pages} pages is reached")
        elif self.pause is None and self.loader.done.is_set() and self.presence.frontier.finished():
            self.ending.finished = True
            self.stop("")
        self.rescue.check()

    def _check_server(self) -> None:
        """A server that took another's place may have lost commits: engines are fenced and begin
        anew, and seeds that it does not know are loaded again."""
        if not self.store.replaced():
            return
        rules = self.presence.frontier.rules
        wait = (rules.lease_ms + rules.delay_ms) / 1000
        log.warning(
            "the store was replaced by another server or restored, and may have lost the last"
            f" commits: no visits for {wait:g} s, then what was lost is fetched again"
        )
        self.loader.start()

    def _look_for_alarms(self) -> None:
        stats = self._stats()
        self.news.look(stats, not stats.paused and (stats.ready > 0 or self.away.now))

    # -- what may change ----------------------------------------------------------------------

    def _heed_changes(self) -> None:
        """Go on by what somebody changed in the store. Engines hear it themselves: here is what
        their supervisor shows, and tells those that it starts later."""
        said = self.changes.look()
        if said is None:
            return
        if said.crawl is not None:
            self.crawl = said.crawl
            frontier = self.presence.frontier
            frontier.obey(rules_now(frontier.rules, said.crawl))
        if said.max_pages is not None:
            self.limits = replace(self.limits, max_pages=said.max_pages)
        if said.node:
            names = {name: said.node[name] for name in STEERED if name in said.node}
            self.node = replace(self.node, **names)
        self.disk.least = self.node.min_free_disk
        self.engines.steer(self.crawl, self.node.max_workers, self.limits.max_pages)
        self.progress.steer(self.limits, self.crawl.delay, self.engines.fetches)
        self.history.steer(self.crawl.delay)
        self._heed_pause(said)

    def _heed_pause(self, said: Steered) -> None:
        before, self.pause = self.pause, said.pause
        if self.pause is not None and before is None:
            why = f" ({one_line(self.pause.why)})" if self.pause.why else ""
            self.progress.say(f"the crawl is paused{why}: go on with '{self._called('unpause')}'")
            self.news.tell("paused", f"The crawl is paused{why}.")
        elif self.pause is None and before is not None:
            self.progress.say("the crawl is no longer paused")
            self.news.tell("unpaused", "The crawl is no longer paused.")

    def _look_at_disk(self) -> None:
        """Pause the engines of this node while its disk is nearly full."""
        free = free_bytes(self.node.data_dir)
        if not self.disk.look(free):
            return
        self.engines.pause(self.disk.low)
        event, text = "disk-low", f"the disk is nearly full: {self._room(free or 0)}"
        if not self.disk.low:
            event, text = "disk-room", f"there is room on the disk again ({size(free or 0)})"
        self.progress.say(text)
        self.news.tell(event, f"{text[:1].upper()}{text[1:]}.")

    def _room(self, free: int) -> str:
        return (
            f"{size(free)} are free in {self.node.data_dir}, --min-free-disk is"
            f" {size(self.disk.least)}; no visit is started until there is room"
        )

    def stop(self, why: str, code: int = 0) -> None:
        """Ask all engines to finish, commit and end; the first call counts."""
        if self.ending.since:
            return
        self.ending.since, self.ending.code = engine_now(), self.ending.code or code
        self.ending.why = why
        if why:
            self.progress.say(why)
        self.engines.stop()

    def _fail(self, why: str) -> None:
        self.ending.failure = why
        self.ending.code = 1
        self.stop("")

    # -- the end ------------------------------------------------------------------------------

    def _end(self) -> int:
        """Leave the store, and say what was kept and where; returns the exit code."""
        self.progress.close()
        if self.store.gone():
            print(f"lycosa: {self.ending.failure}", file=sys.stderr)
            self._tell_end(self.progress.latest)
            self.news.close()
            return self.ending.code
        ended = "finished" if self.ending.finished else "stopped"
        stats = self._stats()
        shown = self.progress.snapshot(stats, True)
        state = "failed" if self.ending.failure else ended
        self.history.end(stats, shown, state, self.engines.notes())
        with suppress(StoreError):  # a store that fails now must not hide how the run ended
            # Somebody may have added seeds since the engines were asked to stop.
            self.ending.finished &= self.presence.frontier.finished()
            if self.ending.finished:
                self.presence.frontier.put_settings({FINISHED_KEY: 1})
            self.presence.leave()
        if not self.ending.failure and self.store.damaged():
            self._fail(self.store.damage)
        self._print_summary()
        self.presence.frontier.close()
        self.news.close()
        # A signal while seeds were loading ends a run before `stop` is called.
        unbegun = self.signals.count and not self.ending.finished
        return self.ending.code or (EXIT_STOPPED if unbegun else 0)

    def _tell_end(self, last: Snapshot) -> None:
        """Tell whoever wants to know how the run ended."""
        if self.ending.failure:
            self.news.tell("failed", self.ending.failure, last)
        elif self.ending.finished:
            self.news.tell("finished", "The crawl is finished: nothing is left to fetch.", last)
        else:
            why = self.ending.why or "somebody asked for it"
            self.news.tell("stopped", f"The crawl has stopped: {why}.", last)

    def _called(self, *words: str) -> str:
        """A command about this crawl, as the user would write it."""
        store = ("--store", redact(self.node.store)) if is_server(self.node.store) else ()
        return called(*words, "--data-dir", self.node.data_dir, *store)

    def _print_summary(self) -> None:
        directory = self.node.data_dir
        store = redact(self.node.store) if is_server(self.node.store) else ""
        hint = self._called("crawl", "--resume")
        snapshot = self.progress.last(self._stats())
        if self.ending.failure:
            print(f"lycosa: {self.ending.failure}", file=sys.stderr)
        self._tell_end(snapshot)
        for text in summary(snapshot, str(directory), self.ending.finished, hint, store):
            print(text)
