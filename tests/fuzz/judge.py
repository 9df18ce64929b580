"""When an input is a finding: an exception, a wrong answer, or too much CPU time.

The first byte of an input says how the rest is used. One in sixteen is stretched: a piece of it is
repeated to SIZE, so that whatever is worse than linear in any repeated unit shows as time."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

Target = Callable[[bytes], None]
PATIENCE: dict[Target, int] = {}  # how many times LIMIT a target may take, if not once

SIZE = 128 * 1024  # bytes of a stretched input: quadratic work on them takes seconds
LIMIT = 0.1  # seconds of CPU for one input; twice what one page may hold the loop (S3)
# Sanitizers and the counting of coverage make everything slower; the one who starts them says so.
SLOWER = float(os.environ.get("FUZZ_SLOWER", "1"))


class TooSlow(AssertionError):
    """An input that would hold the loop."""


def stretched(data: bytes) -> bytes:
    """The first two bytes say which piece of the rest is repeated."""
    if len(data) < 3:
        return data
    rest = data[2:]
    begin = data[0] * len(rest) // 256
    unit = rest[begin : begin + 1 + data[1] % 32]
    return rest[:begin] + unit * (SIZE // len(unit)) + rest[begin + len(unit) :]


def unpacked(data: bytes) -> bytes:
    """What a target gets of an input."""
    return stretched(data[1:]) if data[:1] >= b"\xf0" else data[1:]


def judge(target: Target, data: bytes) -> None:
    """Raises if an input is a finding. What seems slow is timed again: others use this machine."""
    given = unpacked(data)
    limit = LIMIT * SLOWER * PATIENCE.get(target, 1)
    seconds = _timed(target, given)
    for _ in range(3):
        if seconds <= limit:
            return
        seconds = min(seconds, _timed(target, given))
    if seconds > limit:
        raise TooSlow(f"{seconds * 1000:.0f} ms of CPU for {len(given)} bytes: {given[:100]!r}")


def _timed(target: Target, given: bytes) -> float:
    begin = time.thread_time()
    target(given)
    return time.thread_time() - begin
