"""An idle process beside the engines, which measures how late the machine wakes it.

It sleeps for ten milliseconds, again and again, and notes by how much it overslept, second by
second, in memory that the engines read. A long turn of an engine's loop is the machine's fault only
in a second in which this process was late as well. The first engine of a node starts it as a
script, without the rest of lycosa (a supervisor's children are its engines); it ends when its
standard input is closed. The memory is the supervisor's: it outlives engines.
"""

from __future__ import annotations

import mmap
import os
import select
import signal
import struct
import sys
import time

SLOTS = 128  # seconds that are remembered
STEP = 0.010  # seconds that it sleeps
_SLOT = struct.Struct("<qd")  # the second, by how much it was late in it
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # as in `clock`


class Lateness:
    """The shared memory: one writes, the others read. A torn entry is of another second."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.control: Control | None = None  # kept by whoever started it
        self._map = mmap.mmap(fd, SLOTS * _SLOT.size)

    def note(self, second: int, late: float) -> None:
        """It was late by so many seconds in that second of the engine's clock."""
        at = second % SLOTS * _SLOT.size
        known, before = _SLOT.unpack_from(self._map, at)
        if known != second or late > before:
            _SLOT.pack_into(self._map, at, second, late)

    def between(self, begin: float, end: float) -> float:
        """The most that it was late in the seconds that two moments lie in; 0 if none is known."""
        first = max(int(begin), int(end) - SLOTS + 1)
        return max((self._in(second) for second in range(first, int(end) + 1)), default=0.0)

    def _in(self, second: int) -> float:
        known, late = _SLOT.unpack_from(self._map, second % SLOTS * _SLOT.size)
        return float(late) if known == second else 0.0


def memory() -> int:
    """A descriptor of memory for `Lateness`, to be handed on to engines."""
    fd = os.memfd_create("lycosa-control", os.MFD_CLOEXEC)
    os.ftruncate(fd, SLOTS * _SLOT.size)
    return fd


class Control:
    """The process, for the engine that started it. Without it no long turn is excused."""

    def __init__(self, fd: int) -> None:
        import subprocess  # here: the process itself, and all engines but one, do without it

        words = [sys.executable, "-I", "-S", __file__, str(fd)]
        self.process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, pass_fds=(fd,)
        )

    def close(self) -> None:
        """End it."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def lateness(fd: int | None, first: bool) -> Lateness | None:
    """For an engine; the first of a node starts the process that all of them look at."""
    found = None if fd is None else Lateness(fd)
    if found is not None and first:
        found.control = Control(found.fd)
    return found


def watch(noted: Lateness, ends: int) -> None:
    """Sleep and note until the other end of a pipe is closed."""
    poll = select.poll()
    poll.register(ends, select.POLLIN)
    due = time.clock_gettime(_CLOCK) + STEP
    while not poll.poll(STEP * 1000):
        now = time.clock_gettime(_CLOCK)
        late = max(0.0, now - due)
        for second in range(max(int(due), int(now) - SLOTS + 1), int(now) + 1):
            noted.note(second, late)
        due = now + STEP


def main() -> int:
    """Watch until whoever started it is gone."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # it ends with its engine, not with a terminal
    watch(Lateness(int(sys.argv[1])), 0)
    return 0


if __name__ == "__main__":
    os._exit(main())
