"""How a crawl stands: snapshots of it, and when they are shown.

Puts together what engines report and what the store counts. How a snapshot looks is decided in
`display`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

from lycosa.clock import engine_now
from lycosa.errors import StoreError, UserError
from lycosa.frontier.backoff import Away
from lycosa.frontier.protocol import Frontier, open_reader
from lycosa.frontier.summary import ACTIVE_LIMIT
from lycosa.log import get_logger
from lycosa.metrics import Rates, Stats
from lycosa.node.display import Screen, Snapshot, line
from lycosa.node.first_visits import FirstVisits
from lycosa.settings.values import NodeSettings, RunLimits
from lycosa.what_limits import limiting

COUNT_EVERY = 5.0  # seconds between counts of the domains with something left
DRAW_EVERY = 0.5  # seconds, on a terminal

log = get_logger("node")


class Progress:
    """The progress of one run. `fetches`: that all engines may have under way at once."""

    def __init__(
        self,
        frontier: Frontier,
        away: Away,
        node: NodeSettings,
        limits: RunLimits,
        delay: float,
        fetches: int,
    ) -> None:
        self.began = engine_now()
        self._store = StoreCounts(frontier, away)
        self._output = Output(node)
        self._node = node
        self._limits = limits
        self._delay = delay
        self._fetches = fetches
        self._first_visits = FirstVisits()
        self._rates = Rates()
        self._earlier = self._earlier_runs()
        self.end = ""  # when the work will be over, in words: told by the history
        self.latest = Snapshot()  # that was made last

    def steer(self, limits: RunLimits, delay: float, fetches: int) -> None:
        """These have changed."""
        self._limits, self._delay, self._fetches = limits, delay, fetches

    def totals(self) -> tuple[int, bool]:
        """Pages of the whole crawl, and whether somebody asked it to stop; raises StoreGone."""
        return self._store.totals()

    def due(self) -> bool:
        """Whether it is time to show something; then the next time is one interval later."""
        return self._output.due(engine_now())

    def show(self, run: Stats, stopping: bool) -> None:
        """Show how the crawl stands. `run`: of all engines of this run; `stopping`: they are
        finishing."""
        self._output.show(self.snapshot(run, stopping))

    def say(self, text: str) -> None:
        self._output.say(text, log.info)

    def snapshot(self, run: Stats, stopping: bool) -> Snapshot:
        """How the crawl stands; `run` and `stopping` as in `show`."""
        now = engine_now()
        engines = run.engines
        stats = Stats.merge([self._earlier, run])
        stats.engines = max(1, engines)
        stats.queued, stats.domains = self._store.counts(now)
        self._rates.add(now, stats)
        if warning := self._first_visits.look(run, now - self.began):
            self._output.say(warning, log.warning)
        self.latest = Snapshot(
            elapsed=now - self.began,
            pages=max(stats.pages, self._store.pages),  # other nodes count in the store
            run_pages=run.pages,
            ok=stats.ok,
            bytes=stats.bytes,
            pages_per_s=self._rates.of("pages"),
            bytes_per_s=self._rates.of("bytes"),
            in_flight=stats.in_flight,
            queued=stats.queued,
            domains=stats.domains,
            ready=stats.ready,
            engines=engines,
            rss_mb=stats.rss_mb,
            duplicates=stats.duplicates,
            near_duplicates=stats.near_duplicates,
            outcomes=stats.outcomes,
            labels=stats.labels,
            retries=stats.retries,
            max_pages=self._limits.max_pages,
            max_duration=self._limits.max_duration,
            end=self.end,
            limiting=limiting(stats, self._delay, self._fetches),
            paused=stats.paused,
            stopping=stopping,
        )
        return self.latest

    def last(self, run: Stats) -> Snapshot:
        """The snapshot at the end of a run, with the counts of the whole crawl."""
        return whole_crawl(self.snapshot(run, True), self._node, self._store.pages)

    def close(self) -> None:
        """Leave the terminal as it was."""
        self._output.clear()

    def _earlier_runs(self) -> Stats:
        """The counts of earlier runs: a person sees pages and outcomes of the whole crawl."""
        pages = self._store.pages
        total = whole_crawl(Snapshot(), self._node, pages)
        return Stats(
            engines=0,
            pages=pages,
            ok=total.ok,
            bytes=total.bytes,
            duplicates=total.duplicates,
            near_duplicates=total.near_duplicates,
            outcomes=dict(total.outcomes),
            labels=dict(total.labels),
        )


class StoreCounts:
    """What the store counts; while it is away, the last answers."""

    def __init__(self, frontier: Frontier, away: Away) -> None:
        self._frontier = frontier
        self._away = away
        self.pages, _ = frontier.totals()  # of the whole crawl; kept up to date by `totals`
        self._queued = 0
        self._domains = 0
        self._counted = float("-inf")  # when the domains were

    def totals(self) -> tuple[int, bool]:
        """See `Progress.totals`."""
        self.pages, stop = self._frontier.totals()
        return self.pages, stop

    def counts(self, now: float) -> tuple[int, int]:
        """URLs that are queued, and domains with something left to fetch."""
        ask = self._away.ask
        self._queued, _ = ask(self._frontier.backlog, (self._queued, 0))
        if now - self._counted > COUNT_EVERY:
            self._counted = now
            count = self._frontier.active_domains
            self._domains = ask(lambda: count(ACTIVE_LIMIT), self._domains)
        return self._queued, self._domains


class Output:
    """Where a person reads: a terminal, on which the view is redrawn in place, or the log."""

    def __init__(self, node: NodeSettings) -> None:
        self._screen = Screen()
        self._drawing = self._screen.usable(node.view)
        self._interval = DRAW_EVERY if self._drawing else node.log_interval
        self._shown = engine_now()

    def due(self, now: float) -> bool:
        """See `Progress.due`."""
        if now - self._shown < self._interval:
            return False
        self._shown = now
        return True

    def show(self, snapshot: Snapshot) -> None:
        if self._drawing:
            self._screen.draw(snapshot)
        else:
            log.info("paused" if snapshot.paused else "crawling", **line(snapshot))

    def say(self, text: str, tell: Callable[[str], object]) -> None:
        """Log something, after the view was taken off the terminal."""
        self.clear()
        tell(text)

    def clear(self) -> None:
        if self._drawing:
            self._screen.clear()


def whole_crawl(run: Snapshot, node: NodeSettings, stored_pages: int) -> Snapshot:
    """The snapshot of a run with the counts of all runs and nodes, as `lycosa status` tells them.
    `stored_pages`: how many there were when the store was asked last."""
    try:
        with closing(open_reader(node.data_dir, node.store)) as reader:
            total = reader.status()
    except (UserError, StoreError):  # it is away
        run.pages = max(run.pages, stored_pages)
        return run
    run.pages, run.ok, run.bytes = total["pages"], total["ok"], total["bytes"]
    run.duplicates, run.near_duplicates = total["duplicates"], total["near_duplicates"]
    run.outcomes, run.labels, run.lost = total["outcomes"], total["labels"], total["lost"]
    return run
