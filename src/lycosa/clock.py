"""The clocks. Owns the only calls to `time` outside of the modules that wait.

`engine_now` measures intervals and leases: seconds on a clock that goes on while the machine
sleeps, so a suspended engine knows that its lease ran out. `wall_now` stamps what is stored:
milliseconds since 1970, UTC.
"""

import time
from functools import partial
from math import inf
from pathlib import Path

_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)

LONG_MS = 1000  # an answer that took longer says little about when the store read its clock
DRIFT_MS = 0.1  # by which two clocks may come apart in a second
SLIP_MS = 5.0  # by which `ClockGap.value` may be too small
PLAY_MS = 20.0  # by which it may be too large before it is changed

# Seconds since boot, suspension included. Asked dozens of times a page: a function around it would
# double its cost.
engine_now = partial(time.clock_gettime, _CLOCK)


def clock_name() -> str:
    """The name of the clock behind `engine_now`: the same for all processes until the machine
    restarts, '' where the system has none."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return ""


class ClockGap:
    """The store's clock minus the engine's in ms, estimated from the store's answers. Pure.

    An answer tells only that the store read its clock between two moments of the engine's. `value`
    moves no further than an answer demands: one that took long, as after an outage, says little,
    and one clock should judge two visits. If `value` is wrong, it is too large, so that no domain
    is given back too early; `doubt` is by how much at most.
    """

    def __init__(self) -> None:
        self.value = 0.0
        self.doubt = inf
        self._low, self._high, self._at = -inf, inf, 0.0

    def measure(self, now_ms: int, sent: float, received: float) -> float:
        """An answer: the store's time was `now_ms` at a moment between `sent` and `received`."""
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


# CPU seconds of this thread: for work whose cost nobody knows beforehand.
cpu_now = time.thread_time
