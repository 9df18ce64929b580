"""Which of an engine's two busy threads works: its loop, or its store thread.

Both are Python, so only one can run at a time, and the interpreter hands its lock to the other in
every call that lets go of it, dozens of times a page. Each of these hand-overs wakes a thread up,
and together they took 7 % of an engine's CPU. So the two work in *shifts*, of some milliseconds
each, and who is not on shift waits where waiting costs nothing (docs/decisions/0031-shifts.md).

The store thread is *away* from its shift while it waits for a disk, a lock or a server. If it stays
on shift for too long all the same, because a disk is slow, the loop works without one.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from lycosa.clock import engine_now

SHIFT = 0.010  # seconds after which the store thread lets the loop have a turn
PATIENCE = 0.020  # seconds that the loop waits for the store thread
REST = 1.0  # seconds for which it does not wait again, once that was not enough
# Without an interpreter's lock both can run.
_NEEDED = getattr(sys, "_is_gil_enabled", lambda: True)()


class Shifts:
    """Shared by the two threads. For a store that nobody shares a process with it does nothing."""

    def __init__(self, clock: Callable[[], float] = engine_now) -> None:
        self._clock = clock
        self._shift = threading.Lock()  # whoever has it is on shift
        # Whoever has it is next. It makes the two alternate: who ends a shift and begins another at
        # once would get it again before the other woke up.
        self._next = threading.Lock()
        self._loop_has_it = False
        self._waits_again = 0.0  # when the loop, which waited for too long, does so again
        self._store_has_it = False
        self._since = 0.0  # when the store thread's shift began

    # -- the loop -----------------------------------------------------------------------------

    def begin_turn(self) -> None:
        """The loop has something to do. It waits for the store thread, but not for long."""
        if not _NEEDED:
            return
        if self._shift.acquire(blocking=False):
            self._loop_has_it = True
        elif self._clock() >= self._waits_again:
            with self._next:
                self._loop_has_it = self._shift.acquire(timeout=PATIENCE)
            if not self._loop_has_it:
                self._waits_again = self._clock() + REST

    def end_turn(self) -> None:
        """The loop is about to wait."""
        if not self._loop_has_it:
            return
        self._loop_has_it = False
        self._shift.release()
        with self._next:
            pass  # the store thread, if it waited, has its shift by now

    # -- the store thread ---------------------------------------------------------------------

    def begin(self) -> None:
        if not _NEEDED:
            return
        with self._next:
            self._shift.acquire()
        self._store_has_it = True
        self._since = self._clock()

    def end(self) -> None:
        if self._store_has_it:
            self._store_has_it = False
            self._shift.release()

    def pause(self) -> None:
        """A moment at which the loop may have a turn, if it waits for one."""
        if self._store_has_it and self._next.locked() and self._clock() - self._since > SHIFT:
            self.end()
            self.begin()

    @contextmanager
    def away(self) -> Iterator[None]:
        """Something follows that waits, or works without the interpreter."""
        if not self._store_has_it:
            yield
            return
        self.end()
        try:
            yield
        finally:
            self.begin()
