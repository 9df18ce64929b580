"""The lines of an engine's ledger of visits: starts, ends, longer delays, and the store's clock.

Owns the thread that writes them. The loop must not wait for the disk, and a write to a file may do
so for a quarter of a second while the store thread syncs others. So a thread writes the lines, and
hands back the requests that had to wait for them. Which ones have to wait is decided in `dispatch`.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Sequence

from lycosa.archive.ledger import Ledger
from lycosa.clock import clock_name
from lycosa.engine.scheduler import Held
from lycosa.engine.store_clock import StoreClock
from lycosa.engine.visit_result import Result
from lycosa.records import Request


class LedgerLines:
    """Notes what happens in one engine; `delay` is the crawl's, in seconds."""

    def __init__(self, ledger: Ledger, delay: float, clock: StoreClock) -> None:
        self._ledger = ledger
        self.delay = delay
        self._clock = clock
        self._noted_ms: float | None = None  # the clock's difference that the ledger knows of
        self.note_clock()

    def note_clock(self) -> None:
        """Note what the times of all later lines are, if the store's clock has changed."""
        clock = self._clock
        if clock.ahead_ms != self._noted_ms:
            self._ledger.clock(clock_name(), clock.ahead_ms, clock.doubt_ms)
            self._noted_ms = clock.ahead_ms

    def note_starts(self, visits: Iterable[tuple[str, int]]) -> None:
        """Visits that begin: domain, and when by the store's clock."""
        self._ledger.note_started(visits)

    def note_delays(self, domains: Iterable[Held]) -> None:
        """Domains under visit that ask for a longer delay."""
        for held in domains:
            self._note_delay(held, held.delay)

    def note_ends(self, visits: Iterable[Result]) -> bool:
        """Visits that are over; whether one of them taught us another delay: it has to be on file
        soon, or a kill may forget it."""
        learnt = False
        for result in visits:
            held = result.held
            start, end = self._clock.ms(result.started), result.ended_ms
            learnt |= self._note_delay(held, max(held.delay, result.pause))
            outcome = (result.requests, result.address, result.outcome)
            self._ledger.ended(held.name, start, end, *outcome)
        return learnt

    def _note_delay(self, held: Held, wait: float) -> bool:
        """How long a domain will be left alone, if that is longer than the crawl's delay; whether
        this is news."""
        own_ms = round(wait * 1000) if wait > self.delay else 0
        if own_ms == held.noted_ms:
            return False
        held.noted_ms = own_ms
        self._ledger.learned(held.name, own_ms)
        return True


class LedgerThread:
    """Writes a ledger beside the loop."""

    def __init__(self, ledger: Ledger, wake: Callable[[], None]) -> None:
        self._ledger = ledger
        self._wake = wake
        self._jobs: queue.SimpleQueue[Sequence[Request]] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[tuple[int, list[Request], Exception | None]]
        self._done = queue.SimpleQueue()
        self._under_way = 0
        threading.Thread(target=self._run, name="ledger", daemon=True).start()

    @property
    def busy(self) -> bool:
        """Whether something is not on file yet that was noted before."""
        return self._under_way > 0

    def write_before(self, requests: Sequence[Request]) -> None:
        """Put everything noted so far on file, and only then hand these requests back."""
        self._under_way += 1
        self._jobs.put(requests)

    def written(self) -> list[Request]:
        """Requests that may be sent now. Raises what made a write fail."""
        free: list[Request] = []
        while not self._done.empty():
            jobs, requests, error = self._done.get_nowait()
            if error is not None:
                raise error
            self._under_way -= jobs
            free += requests
        return free

    def _run(self) -> None:
        while True:
            jobs = [self._jobs.get()]
            while not self._jobs.empty():  # all that came meanwhile, with one write
                jobs.append(self._jobs.get())
            requests = [request for job in jobs for request in job]
            try:
                self._ledger.write()
                self._done.put((len(jobs), requests, None))
            except Exception as error:  # crosses to the loop's thread
                self._done.put((len(jobs), [], error))
            self._wake()
