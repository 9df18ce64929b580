"""Which of an engine's two busy threads works: its loop, or its store thread.

Both are Python, so only one can run at a time, and the interpreter hands its lock to the other in
every call that lets go of it, dozens of times a page. Each of these hand-overs wakes a thread up,
and together they took 7 % of an engine's CPU. So the two work in *shifts*, of some milliseconds
each, and who is not on shift waits where waiting costs nothing (docs/decisions/0031-shifts.md).

Only the store thread must have patience. It is *away* from its shift while it waits for a lock, a
server or a sync. The loop waits for it at most PATIENCE at a time and SHARE of its time, because
the store thread may be on shift and wait for a slow disk; then the loop works without a shift.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable

from lycosa.clock import engine_now

SHIFT = 0.010  # seconds after which the store thread lets the loop have a turn
PATIENCE = 0.020  # seconds that the loop waits for the store thread
REST = 1.0  # seconds for which it does not wait again, once that was not enough
SHARE = 0.15  # of its time that the loop may wait; at full speed on SQLite it waited for 0.07
SAVED = 0.1  # seconds of waiting that it can have saved
LEAST = 0.001  # seconds: to wait for less is not worth it


class Shifts:
    """Shared by the two threads. For a store that nobody shares a process with it does nothing."""

    def __init__(self, clock: Callable[[], float] = engine_now) -> None:
        # Without an interpreter's lock both can run.
        self._needed = getattr(sys, "_is_gil_enabled", lambda: True)()
        self._clock = clock
        self._shift = threading.Lock()  # whoever has it is on shift
        # Whoever waits for a shift has it. It makes the two alternate: a lock that is let go of is
        # handed to nobody, and who wants it again at once has it before the other has woken up.
        self._line = threading.Lock()
        self._loop_has_it = False
        self._saved = SAVED  # seconds that the loop may wait
        self._saved_at = clock()
        self._waits_again = 0.0  # when the loop, which waited in vain, does so again
        self._store_works = False
        self._store_has_it = False
        self._since = 0.0  # when the store thread's shift began

    # -- the loop -----------------------------------------------------------------------------

    def loop_begins(self) -> None:
        """The loop has something to do. It waits for the store thread, but not for long."""
        if not self._needed:
            return
        if not self._line.locked() and self._shift.acquire(blocking=False):
            self._loop_has_it = True
            return
        began = self._clock()
        if not (most := self._patience(began)):
            return
        self._loop_has_it = self._wait(began + most)
        ended = self._clock()
        self._saved -= ended - began
        if not self._loop_has_it:
            self._waits_again = ended + REST

    def _patience(self, now: float) -> float:
        """Seconds for which the loop would wait now; 0 if it works without a shift."""
        self._saved = min(SAVED, self._saved + SHARE * (now - self._saved_at))
        self._saved_at = now
        if now < self._waits_again or self._saved < LEAST:
            return 0.0
        return min(PATIENCE, self._saved)

    def _wait(self, until: float) -> bool:
        """Whether the loop got a shift by then."""
        if not self._line.acquire(timeout=max(0.0, until - self._clock())):
            return False
        try:
            return self._shift.acquire(timeout=max(0.0, until - self._clock()))
        finally:
            self._line.release()

    def loop_ends(self) -> None:
        """The loop is about to poll."""
        if self._loop_has_it:
            self._loop_has_it = False
            self._shift.release()

    # -- the store thread ---------------------------------------------------------------------

    def store_begins(self) -> None:
        """The store thread has something to do."""
        if self._needed:
            self._store_works = True
            self._take()

    def store_ends(self) -> None:
        """It is done."""
        self._store_works = False
        self.away()

    def pause(self) -> None:
        """A moment, before or in the middle of much work, at which the store thread takes its shift
        back if it was away, and lets the loop have a turn if that waits."""
        if not self._store_works:
            return
        if not self._store_has_it:
            self._take()
        elif self._line.locked() and self._clock() - self._since > SHIFT:
            self.away()
            self._take()

    def away(self) -> None:
        """Something follows that waits, or works without the interpreter. The store thread goes on
        without a shift until its next pause."""
        if self._store_has_it:
            self._store_has_it = False
            self._shift.release()

    def _take(self) -> None:
        with self._line:
            self._shift.acquire()
        self._store_has_it = True
        self._since = self._clock()
