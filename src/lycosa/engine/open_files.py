"""How many fetches at once the machine's open files allow. Pure.

Lowered when the system refuses another file, raised again slowly.
"""

from __future__ import annotations

FACTOR = 0.9  # concurrency after the machine ran out of open files
LEAST = 10


class Files:
    """The concurrency of one engine."""

    def __init__(self, workers: int) -> None:
        self.full = self.now = workers

    @property
    def is_short(self) -> bool:
        return self.now < self.full

    def short(self, visiting: int) -> int:
        """There was no file for a fetch while `visiting` were under way: once for each fall."""
        if not self.is_short or visiting < self.now:
            self.now = max(min(LEAST, self.full), int(self.now * FACTOR))
        return self.now

    def recover(self) -> int:
        """About once a second."""
        self.now = min(self.full, self.now + max(1, self.full // 100))
        return self.now
