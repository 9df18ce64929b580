"""Which transfers must end when the bodies of responses under way hold too much memory. Pure.

Up to half of the limit none has to. Above that, transfers that have received nothing for a while
end; above FULL also those that hold more than their share, the largest and slowest first: a host
that sends much and then waits must not keep the others from being fetched.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

SHORT = 0.5  # share of the limit above which stalled transfers end
FULL = 0.85  # share above which those that still receive end, too
STALLED = 2.0  # seconds without a byte
SMALL = 64 << 10  # bytes that are not worth ending a transfer for
SLOW = 64 << 10  # bytes a second: below that it hardly matters how slow a transfer is


@dataclass(slots=True)
class Holding:
    """What one transfer holds."""

    size: int
    since: float  # when it had received nothing yet, or was first looked at
    moved: float  # when it last grew


class Sharing:
    """Remembers what each transfer held, from one look at them to the next."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._holdings: dict[int, Holding] = {}

    def to_cut(self, sizes: Iterable[tuple[int, int]], now: float) -> list[int]:
        """Of transfers, given as (key, bytes held), the keys of those that must end now."""
        self._look(sizes, now)
        used = sum(each.size for each in self._holdings.values())
        stalled = {
            key: each
            for key, each in self._holdings.items()
            if now - each.moved >= STALLED and each.size >= SMALL
        }
        cut = _largest(stalled, used - SHORT * self.limit, now)
        used -= sum(self._holdings[key].size for key in cut)
        if used > FULL * self.limit:
            share = SHORT * self.limit / len(self._holdings)
            large = {
                key: each
                for key, each in self._holdings.items()
                if each.size > share and key not in cut
            }
            cut += _largest(large, used - FULL * self.limit, now)
        return cut

    def _look(self, sizes: Iterable[tuple[int, int]], now: float) -> None:
        before, self._holdings = self._holdings, {}
        for key, size in sizes:
            held = before.get(key)
            if held is None or size < held.size:
                held = Holding(size, now, now)
            elif size > held.size:
                held.size, held.moved = size, now
            self._holdings[key] = held


def _largest(holdings: dict[int, Holding], excess: float, now: float) -> list[int]:
    """As many of these as hold the excess: the largest and slowest first."""

    def burden(key: int) -> float:
        held = holdings[key]
        rate = 0.0 if now - held.moved >= STALLED else held.size / (now - held.since + 1.0)
        return held.size / (rate + SLOW)

    chosen: list[int] = []
    for key in sorted(holdings, key=burden, reverse=True):
        if excess <= 0:
            break
        excess -= holdings[key].size
        chosen.append(key)
    return chosen
