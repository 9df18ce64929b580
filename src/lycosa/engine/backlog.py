"""How much may wait for the store: what it settles in two seconds at its present speed. Pure.

An engine that fetches faster than its store writes would only make the batches longer, and with
them the time until a page is safe. So visits begin only while there is room. While the store is
away its speed is unknown: then as much may wait as `outbox` has memory for.
"""

from __future__ import annotations

import math

TARGET = 2.0  # seconds that the next batch may take
PAGE = 16  # a page costs the store as much as so many links
LEAST = 30_000  # links: 500 pages of 50 links, one ordinary batch
TELLING = 2_000  # links; the time of a smaller batch says little about the next


class Backlog:
    """The room for what the store has not heard of, counted in links."""

    def __init__(self) -> None:
        self.room = math.inf

    def settled(self, pages: int, links: int, seconds: float) -> None:
        """A batch of that size took so long."""
        work = _work(pages, links)
        if work < TELLING:
            return
        room = max(LEAST, TARGET * work / max(seconds, 0.001))
        self.room = room if math.isinf(self.room) else (self.room + room) / 2

    def away(self) -> None:
        """The store can't be reached: its speed will be measured anew."""
        self.room = math.inf

    def full(self, pages: int, links: int) -> bool:
        """Whether the store has enough to do with so many pages and links."""
        return _work(pages, links) >= self.room


def _work(pages: int, links: int) -> int:
    return PAGE * pages + links
