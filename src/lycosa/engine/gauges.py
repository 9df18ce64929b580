"""What an engine measures of itself: its turns, its speed, its memory, the cores it gets.

Owns the figures in `Stats` that need a clock or the kernel; the loop tells it when a turn begins
and ends. Decides nothing.
"""

from __future__ import annotations

import time

from lycosa.engine.control import Lateness
from lycosa.engine.machine import Machine
from lycosa.engine.memory import Memory
from lycosa.engine.turns import LONG, Turns
from lycosa.metrics import Stats

SLOW_PAGE = 0.050  # seconds that no page should hold the loop (S3)
SMOOTH = 0.3  # of shares: a second's own weight, so that they speak of a few seconds
SLOWLY = 0.05  # the same for the rate that the present one is compared with


class Gauges:
    """Fills in the stats of one engine. Made and used in the loop's thread."""

    def __init__(self, stats: Stats, lateness: Lateness | None, engines: int) -> None:
        self.stats = stats
        self.turns = Turns()
        self._lateness = lateness
        self._engines = engines  # of this node: they have the same to do
        self._memory = Memory()
        self._machine = Machine()
        self._cpu = time.process_time()
        self._looked = 0.0
        self._visits = 0
        self._rate = 0.0  # smoothed so that it rises fast and falls slowly
        self._polled = self._began = 0.0
        self._began_cpu = 0.0
        self._for_store = False
        self._held_back = False
        self._idle = self._store_idle = self._held_idle = 0.0  # seconds since the last look

    def waits(self, now: float, for_store: bool, held_back: bool = False) -> None:
        """The loop is about to poll; `for_store`: fetches are free, and wait for the store;
        `held_back`: they wait for --max-bandwidth."""
        self._polled, self._for_store, self._held_back = now, for_store, held_back

    def begins(self, now: float) -> None:
        """The poll has returned."""
        idle = now - self._polled
        self._idle += idle
        if self._for_store:
            self._store_idle += idle
        if self._held_back:
            self._held_idle += idle
        self._began, self._began_cpu = now, time.thread_time()

    def ends(self, now: float) -> None:
        """The turn is over."""
        wall = now - self._began
        # Only a long turn needs an excuse.
        late = self._late(now) if wall > LONG else 0.0
        self.turns.note(time.thread_time() - self._began_cpu, wall, late)
        if wall * 1000 > self.stats.loop_max_ms:
            self.stats.loop_max_ms = wall * 1000

    def _late(self, now: float) -> float:
        return 0.0 if self._lateness is None else self._lateness.between(self._began, now)

    def page(self, seconds: float) -> None:
        """One response held the loop for so many seconds."""
        if seconds > SLOW_PAGE:
            self.stats.slow_pages += 1
        if seconds * 1000 > self.stats.page_max_ms:
            self.stats.page_max_ms = seconds * 1000

    def look(self, now: float) -> float:
        """About once a second; returns visits a second."""
        cpu = time.process_time()
        since = now - self._looked if self._looked else 0.0
        self.stats.rss_mb = self._memory.rss_mb()
        self._tell_turns()
        if since > 0:
            self.stats.cpu_share = (cpu - self._cpu) / since
            self._shares(since)
            self._speed((self.stats.visits - self._visits) / since)
        self._looked, self._cpu, self._visits = now, cpu, self.stats.visits
        self._idle = self._store_idle = self._held_idle = 0.0
        return self._rate

    def _tell_turns(self) -> None:
        stats, turns = self.stats, self.turns
        stats.turns_cpu, stats.turns_wall = turns.cpu(), turns.wall()
        stats.turns_excused = turns.excused
        stats.turn_cpu_max_ms = turns.cpu_max * 1000
        stats.turn_wall_max_ms = turns.wall_max * 1000
        stats.turn_excused_max_ms = turns.excused_max * 1000

    def _shares(self, since: float) -> None:
        stats, load = self.stats, self._machine.load(since)
        ours = stats.cpu_share * self._engines / load.cores
        stats.cores = load.cores
        self._smooth("loop_busy", 1.0 - self._idle / since)
        self._smooth("store_wait", self._store_idle / since)
        self._smooth("bandwidth_wait", self._held_idle / since)
        self._smooth("core_wait", load.waited)
        self._smooth("others_busy", max(0.0, load.busy - ours))

    def _smooth(self, name: str, value: float) -> None:
        before: float = getattr(self.stats, name)
        setattr(self.stats, name, before + (min(1.0, max(0.0, value)) - before) * SMOOTH)

    def _speed(self, rate: float) -> None:
        stats = self.stats
        self._rate += (rate - self._rate) * (0.5 if rate > self._rate else 0.1)
        stats.rate += (rate - stats.rate) * SMOOTH
        stats.rate_before += (rate - stats.rate_before) * SLOWLY
