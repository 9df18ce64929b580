"""The store's clock as an engine sees it: the engine's own clock plus a difference. Pure.

Everybody in the engine's loop shares one `StoreClock`, so that nobody goes by an older difference
than the others. The store thread measures the difference (`ClockGap` in `lycosa.clock`) and sends
it with its reply, as a `StoreClock` of its own. The loop adopts it between two steps of visits, and
notes it in the ledger.
"""

from __future__ import annotations


class StoreClock:
    """Turns seconds of the engine's clock into milliseconds of the store's, and back."""

    __slots__ = ("ahead_ms", "doubt_ms")

    def __init__(self, ahead_ms: float, doubt_ms: float = 0.0) -> None:
        self.ahead_ms = ahead_ms  # store clock - engine clock
        self.doubt_ms = doubt_ms  # by which that may be wrong

    def ms(self, at: float) -> int:
        """What the store's clock shows at a moment of the engine's."""
        return int(at * 1000 + self.ahead_ms)

    def seconds(self, ms: int) -> float:
        """The moment of the engine's clock at which the store's shows `ms`."""
        return (ms - self.ahead_ms) / 1000

    def adopt(self, measured: StoreClock) -> None:
        """Go by what was measured from now on."""
        self.ahead_ms, self.doubt_ms = measured.ahead_ms, measured.doubt_ms
