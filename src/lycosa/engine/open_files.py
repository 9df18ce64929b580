"""How many fetches at once the machine's open files allow. Pure.

The number falls when the system refuses to open another file, and rises again slowly.
"""

from __future__ import annotations

FACTOR = 0.9  # by which the number of fetches falls
LEAST = 10


class Files:
    """How many fetches one engine may have under way: `full` of them, or fewer `now`."""

    def __init__(self, fetches: int) -> None:
        self.full = self.now = fetches

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
