"""How many bytes a second a node may receive (--max-bandwidth): when visits may begin.

Owns the account of one engine. Every engine writes what it has received, and what its requests
under way will bring, into memory that all of them share, and reads what the others wrote. So each
knows how much of the limit is used, nobody waits for anybody, and what one engine does not use the
others may. Visits begin while there is something left; a body that is larger than expected is paid
for by the visits after it. A host is never slowed down in the middle of a response: that would cost
it a connection, and us a timeout.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable

from lycosa.records import Response

_SLOT = 8  # bytes of a number in the shared memory
BURST = 0.25  # seconds of the limit that may be saved up
FIRST_GUESS = 30_000.0  # bytes of a response, before there was one
SMOOTH = 0.02  # weight of one response in what the next is expected to be
LOOK = 0.005  # seconds between looks at what others did
SHORTEST = 0.010  # seconds that the loop sleeps for it
HANDSHAKE = 5_000  # bytes of TLS that come with a new connection, mostly certificates


def memory(engines: int) -> int:
    """A descriptor of memory in which each engine has a number."""
    fd = os.memfd_create("lycosa-bandwidth", os.MFD_CLOEXEC)
    os.ftruncate(fd, max(1, engines) * _SLOT)
    return fd


class Bandwidth:
    """The account of the engine with this index. `under_way`: its visits under way, and the bytes
    that came of them so far."""

    def __init__(
        self, limit: int, fd: int, index: int, under_way: Callable[[], tuple[int, int]]
    ) -> None:
        self.limit = limit  # bytes a second of the whole node; 0: none
        self._under_way = under_way
        self._used = memoryview(mmap.mmap(fd, 0)).cast("q") if limit else memoryview(b"")
        self._index = index
        self._received = self._used[index] if limit else 0  # those of the engine before it count
        self._expected = FIRST_GUESS
        self._balance = 0.0  # bytes that might be spent at the last look; below 0: owed
        self._left = 0.0  # the same without the visits that have begun since
        self._total = sum(self._used)
        self._looked = 0.0

    def note(self, response: Response) -> None:
        """A response has come."""
        tls = response.connects if response.request.url.startswith("https:") else 0
        size = len(response.head) + len(response.body) + tls * HANDSHAKE
        self._received += size
        self._expected += (size - self._expected) * SMOOTH

    def visits(self, now: float, most: int) -> int:
        """How many visits may begin now, no more than `most`."""
        if not self.limit:
            return most
        if now - self._looked >= LOOK:
            self._look(now)
        if self._left <= 0:
            return 0
        share = self._left / max(1.0, self._expected) / len(self._used)
        return min(most, 1 + int(share))

    def begun(self, visits: int) -> None:
        """So many have begun since `visits` was asked."""
        self._left -= visits * self._expected

    def opens_in(self, now: float) -> float:
        """Seconds until a visit may begin; 0: now."""
        if not self.limit or self._left > 0:
            return 0.0
        return max(SHORTEST, -self._left / self.limit)

    def _look(self, now: float) -> None:
        visits, size = self._under_way()
        self._used[self._index] = self._received + max(size, int(visits * self._expected))
        total = sum(self._used)
        since = now - self._looked if self._looked else 0.0
        balance = self._balance + since * self.limit - (total - self._total)
        self._balance = self._left = min(balance, BURST * self.limit)
        self._total, self._looked = total, now
