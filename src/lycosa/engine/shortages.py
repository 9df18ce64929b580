"""What an engine does when this machine runs out of open files, memory or name servers.

Owns how such failures are counted and told, and how many fetches are left after them. They are not
the fault of the host that was asked: what they cost a URL is decided in `visit`.
"""

from __future__ import annotations

from lycosa.clock import engine_now
from lycosa.engine.open_files import Files
from lycosa.engine.scheduler import Scheduler
from lycosa.fetch.fetcher import Fetcher
from lycosa.log import get_logger
from lycosa.metrics import Stats
from lycosa.records import Failure, Response

WARN_EVERY = 10.0  # seconds
PRESSED = 5.0  # seconds for which a shortage of memory is reported

log = get_logger("engine")


class Shortages:
    """Of one engine, with so many fetches while nothing is short."""

    def __init__(
        self, engine: int, fetches: int, scheduler: Scheduler, fetcher: Fetcher, stats: Stats
    ) -> None:
        self._engine = engine
        self._files = Files(fetches)
        self._scheduler = scheduler
        self._fetcher = fetcher
        self._stats = stats
        self._warned = float("-inf")

    def note(self, response: Response) -> None:
        """A request failed, maybe for want of something."""
        failure = response.failure
        log.debug(
            "a request failed",
            url=response.request.url,
            failure=failure,
            reason=response.reason,
            address=response.address,
        )
        if failure not in Failure.OURS:
            return
        if failure == Failure.NAMESERVER:
            self._warn("no name server can be reached: the command 'check' says more")
            return
        self._stats.local_shortage += 1
        if failure == Failure.MEMORY:
            self._fetcher.pressed = engine_now()
        else:
            self._set_fetches(self._files.short(self._scheduler.visiting))

    def change_fetches(self, fetches: int) -> None:
        """The engine is meant to have so many under way; more than that finish."""
        self._files.change(fetches)
        self._set_fetches(self._files.now)

    def look(self, now: float) -> None:
        """About once a second: a few more fetches are tried again."""
        fetcher = self._fetcher
        self._stats.short_of_memory = now - fetcher.pressed < PRESSED or fetcher.full
        self._set_fetches(self._files.recover())

    def _set_fetches(self, number: int) -> None:
        self._scheduler.max_fetches = number
        self._stats.short_of_files = self._files.is_short

    def _warn(self, text: str) -> None:
        """Log it, every WARN_EVERY seconds at most."""
        now = engine_now()
        if now - self._warned >= WARN_EVERY:
            self._warned = now
            log.warning(text, engine=self._engine)
