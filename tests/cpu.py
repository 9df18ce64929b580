"""How much CPU something takes, measured so that a busy machine does not matter much."""

from __future__ import annotations

import time
from collections.abc import Callable


def cpu_seconds(work: Callable[[], object], enough: float = 0.03, tries: int = 3) -> float:
    """CPU time of this thread: of the best of some tries, unless the first is good enough."""
    best = float("inf")
    for _ in range(tries):
        begin = time.thread_time()
        work()
        best = min(best, time.thread_time() - begin)
        if best <= enough:
            break
    return best
