"""The clocks of lycosa. Owns the only calls to `time` outside of the edges.

`engine_now` measures intervals and leases: seconds on a clock that goes on while the machine
sleeps, so a suspended engine knows that its lease ran out. `wall_now` stamps what is stored:
milliseconds since 1970, UTC.
"""

import time
from functools import partial

_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


# Seconds since boot, suspension included. Asked dozens of times a page: a function around it would
# double its cost.
engine_now = partial(time.clock_gettime, _CLOCK)


def wall_now() -> int:
    """Milliseconds since 1970, UTC."""
    return time.time_ns() // 1_000_000


# Seconds of CPU that this thread has used: for work whose cost nobody can know beforehand.
cpu_now = time.thread_time
