"""How many fetches at once the machine's open files allow. Pure.

The number falls when the system refuses to open another file, and rises again slowly.
"""

from __future__ import annotations

FACTOR = 0.9  # by which the number of fetches falls
LEAST = 10


SPARE_FILES = 200  # beside those of the fetches: database, segments, epoll, pipes
FILES_PER_FETCH = 1.1  # TLS keeps closing sockets for a moment


def share(fetches: int, engines: int, files: int | None) -> int:
    """How many fetches an engine may have under way, of those of its node; `files`: that a process
    may have open, None: no limit."""
    wanted = max(1, -(-fetches // engines))
    if files is None:
        return wanted
    return min(wanted, max(10, int((files - SPARE_FILES) / FILES_PER_FETCH)))


class Files:
    """How many fetches one engine may have under way: `full` of them, or fewer `now`."""

    def __init__(self, fetches: int) -> None:
        self.full = self.now = fetches

    def change(self, fetches: int) -> None:
        """Another number is meant."""
        self.full, self.now = fetches, min(self.now, fetches) if self.is_short else fetches

    @property
    def is_short(self) -> bool:
        return self.now < self.full

    def short(self, visiting: int) -> int:
        """There was no file for a fetch while `visiting` visits were under way. Those that began
        before the last fall count for nothing."""
        if not self.is_short or visiting < self.now:
            self.now = max(min(LEAST, self.full), int(self.now * FACTOR))
        return self.now

    def recover(self) -> int:
        """About once a second."""
        self.now = min(self.full, self.now + max(1, self.full // 100))
        return self.now
