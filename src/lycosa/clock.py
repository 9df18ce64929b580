"""The clocks of lycosa. Owns the only calls to `time` outside of the edges.

`engine_now` measures intervals and leases: seconds on a clock that goes on while the machine
sleeps, so a suspended engine knows that its lease ran out. `wall_now` stamps what is stored:
milliseconds since 1970, UTC.
"""

import time
from functools import partial
from math import inf
from pathlib import Path

_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


LONG_MS = 1000  # after which an answer says little about when the store's clock was read
DRIFT_MS = 0.1  # by which two clocks may come apart in a second
SLIP_MS = 5.0  # by which `ClockGap.value` may be too small
PLAY_MS = 20.0  # by which it may be larger than need be before it is changed

# Seconds since boot, suspension included. Asked dozens of times a page: a function around it would
# double its cost.
engine_now = partial(time.clock_gettime, _CLOCK)


def clock_name() -> str:
    """Tells apart what `engine_now` counts from: one name for all processes since the machine was
    started; '' where the system does not say."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return ""


class ClockGap:
    """Store clock - engine clock in ms, from answers that each leave some room for doubt. Pure.

    `value` moves only as far as an answer demands: an answer that was long in coming, as after an
    outage, says little, and two visits shall be judged by one clock. At most it is too large, so
    that nothing is given back too early; `doubt` is by how much.
    """

    def __init__(self) -> None:
        self.value = 0.0
        self.doubt = inf
        self._low, self._high, self._at = -inf, inf, 0.0

    def measure(self, now_ms: int, sent: float, received: float) -> float:
        """The store's time was `now_ms` at some moment between two of the engine's clock."""
        least, most = now_ms - received * 1000, now_ms - sent * 1000
        drift = DRIFT_MS * (received - self._at)
        low, high = max(self._low - drift, least), min(self._high + drift, most)
        if self._high == inf:
            self.value = most
        elif low > high:  # the server's clock was set, or another server answers
            low, high = least, most
            late = most - least > LONG_MS
            self.value = min(most, max(self.value, least)) if late else most
        elif not high - SLIP_MS <= self.value <= high + PLAY_MS:
            self.value = high
        self._low, self._high, self._at = low, high, received
        self.doubt = max(0.0, self.value - low) + SLIP_MS
        return self.value


def wall_now() -> int:
    """Milliseconds since 1970, UTC."""
    return time.time_ns() // 1_000_000


# Seconds of CPU that this thread has used: for work whose cost nobody can know beforehand.
cpu_now = time.thread_time
