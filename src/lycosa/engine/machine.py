"""How busy this machine's cores are, and how long a thread waited for one of them.

Reads what the kernel counts. Its files stay open: the process may be out of open files when it
matters. Where the kernel does not tell, the answer is 0: nothing is blamed on others without
evidence.
"""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Load:
    """Shares of the time since the last look."""

    cores: int
    busy: float = 0.0  # of all cores, 0 to 1; what a host takes from a virtual machine is busy
    waited: float = 0.0  # in which this thread could have run and had no core


class Machine:
    """Looks at the machine from the thread that made it."""

    def __init__(self) -> None:
        self.cores = len(os.sched_getaffinity(0))
        self._stat = _opened("/proc/stat")
        self._thread = _opened("/proc/thread-self/schedstat")
        self._times = self._read_times()
        self._waited = self._read_waited()

    def load(self, seconds: float) -> Load:
        """How it was in the `seconds` since the last look."""
        times, waited = self._read_times(), self._read_waited()
        (idle, total), (idle_before, total_before) = times, self._times
        spent = total - total_before
        busy = 1.0 - (idle - idle_before) / spent if spent > 0 else 0.0
        share = (waited - self._waited) / seconds if seconds > 0 else 0.0
        self._times, self._waited = times, waited
        return Load(self.cores, min(1.0, max(0.0, busy)), min(1.0, max(0.0, share)))

    def _read_times(self) -> tuple[int, int]:
        """Ticks idle (or waiting for a disk) and in all, of all cores."""
        words = _read(self._stat).split(b"\n", 1)[0].split()[1:9]
        ticks = [int(word) for word in words]
        return (sum(ticks[3:5]), sum(ticks)) if len(ticks) >= 5 else (0, 0)

    def _read_waited(self) -> float:
        words = _read(self._thread).split()
        return int(words[1]) / 1e9 if len(words) >= 2 else 0.0


def _opened(path: str) -> int:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return -1


def _read(fd: int) -> bytes:
    try:
        return os.pread(fd, 4096, 0)
    except OSError:
        return b""
