"""How much memory this process uses, and when Python looks for cycles of garbage in it."""

from __future__ import annotations

import ctypes
import gc
import os
import resource

# New objects after which they are looked through: some milliseconds. The interpreter's own rules
# would let hundreds of thousands collect, and a look at them holds every thread for half a second.
YOUNG = 5_000
BURST = 4 * YOUNG  # so many at once are leases from the store thread: there are no cycles in them
EASY = 8  # of so many looks one is made while none finds anything: all would cost 20 us a page
WARY = 1000  # looks after one that found something: all of them are made
_M_ARENA_MAX = -8  # of mallopt(3)


class Memory:
    """This process's memory. Its file stays open: there may be no more files when it matters."""

    def __init__(self) -> None:
        self._fd = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)

    def rss_mb(self) -> float:
        pages = int(os.pread(self._fd, 256, 0).split()[1])
        return pages * resource.getpagesize() / 1e6


class Collector:
    """Finds cycles among new objects, a few at a time. Older ones are never looked at again: they
    are freed when nobody refers to them, and no visit leaves a cycle behind (tests look for
    some). So as a rule there is nothing to find, and only some of the looks are made: a fault that
    leaves cycles loses a few before it is noticed, and hardly any from then on."""

    def __init__(self) -> None:
        gc.collect()
        gc.freeze()
        gc.disable()
        self._clean = WARY  # looks that found nothing since the last one that did
        self._batches = 0

    def turn(self) -> bool:
        """Once in every turn of the loop; returns whether it looked."""
        young = gc.get_count()[0]
        if young <= YOUNG:
            return False
        looks = young < BURST and self._is_due()
        if looks:
            self._clean = 0 if gc.collect(0) else self._clean + 1
        gc.freeze()
        return looks

    def _is_due(self) -> bool:
        self._batches += 1
        return self._clean < WARY or self._batches % EASY == 1


def share_heap() -> None:
    """One heap for all threads. The loop frees what the store thread made, and glibc would keep
    that memory from the loop. Without glibc this does nothing."""
    try:
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)
    except (OSError, AttributeError):
        pass
