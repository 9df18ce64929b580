"""When somebody has to be told how a run goes: it stalls, or disk or DNS limit its speed. Pure.

Owns for how long a thing must last before it is worth a word, and how often it is said again. Who
is told, and how, is in `notify`.
"""

from __future__ import annotations

from lycosa.what_limits import Limit

LASTS = 30.0  # seconds for which a limit must hold
AGAIN = 1800.0  # seconds after which the same may be told again
TOLD = (Limit.DISK, Limit.DNS)  # limits that somebody can do something about


class Alarms:
    """Of one run; nothing is stalled before `stalled_after` seconds without a visit."""

    def __init__(self, stalled_after: float, now: float) -> None:
        self._stalled_after = stalled_after
        self._visits = -1
        self._moved = now  # when something was fetched, or nothing could be
        self._stalled = False
        self._limit, self._since = "", now
        self._told: dict[str, float] = {}  # by event and cause

    def look(self, now: float, limit: str, visits: int, could: bool) -> list[tuple[str, str]]:
        """Events with a sentence each. `limit` is the line that `what_limits` gives, `visits` how
        many there were so far, `could`: whether something could be fetched."""
        return [*self._look_at_limit(now, limit), *self._look_for_stall(now, visits, could)]

    def _look_at_limit(self, now: float, limit: str) -> list[tuple[str, str]]:
        name = limit.partition(":")[0]
        if name != self._limit:
            self._limit, self._since = name, now
        if name not in TOLD or now - self._since < LASTS:
            return []
        if now - self._told.get(name, float("-inf")) < AGAIN:
            return []
        self._told[name] = now
        return [("limit", f"The speed is limited by {limit}.")]

    def _look_for_stall(self, now: float, visits: int, could: bool) -> list[tuple[str, str]]:
        if visits != self._visits or not could:
            self._visits, self._moved, self._stalled = visits, now, False
        if self._stalled or now - self._moved < self._stalled_after:
            return []
        self._stalled = True
        minutes = (now - self._moved) / 60
        return [("stalled", f"Nothing was fetched for {minutes:.0f} minutes, though it could be.")]
