"""How long the turns of an engine's loop take: counts by length, and what they say. Pure.

A turn is what lies between the return of one poll and the next poll. Its CPU is the loop's own;
its wall time also holds what others took: the store thread, other programs, the machine itself. A
long turn in a second in which even an idle process woke up late (`control`) is the machine's, and
counted apart.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

# Milliseconds: upper ends of the classes in which turns are counted, and one for all beyond.
BOUNDS = (1, 2, 5, 10, 15, 20, 25, 30, 40, 50, 75, 100, 150, 250, 500, 1000, 2500)
MORE = "more"
LONG = 0.250  # seconds that no turn may take (S3)
LATE = 0.020  # seconds by which the control process is late: twice what it sleeps
QUANTILE = 0.999

_NAMES = (*map(str, BOUNDS), MORE)


class Turns:
    """The turns of one engine since it started."""

    def __init__(self) -> None:
        self._cpu = [0] * len(_NAMES)
        self._wall = [0] * len(_NAMES)
        self.cpu_max = 0.0  # seconds
        self.wall_max = 0.0  # of those that nothing excuses
        self.excused = 0  # over LONG while the machine was late
        self.excused_max = 0.0

    def note(self, cpu: float, wall: float, late: float = 0.0) -> None:
        """A turn took so many seconds; `late`: the control process was late by that much."""
        self._cpu[bisect_left(BOUNDS, cpu * 1000)] += 1
        self.cpu_max = max(self.cpu_max, cpu)
        if wall > LONG and late >= LATE:
            self.excused += 1
            self.excused_max = max(self.excused_max, wall)
            return
        self._wall[bisect_left(BOUNDS, wall * 1000)] += 1
        self.wall_max = max(self.wall_max, wall)

    def cpu(self) -> dict[str, int]:
        """Turns by their CPU: the upper end of each class in ms, and how many are in it."""
        return _filled(self._cpu)

    def wall(self) -> dict[str, int]:
        """The same by wall time, without those that the machine's lateness excuses."""
        return _filled(self._wall)


def _filled(counts: list[int]) -> dict[str, int]:
    return {name: count for name, count in zip(_NAMES, counts, strict=True) if count}


@dataclass(frozen=True, slots=True)
class Summary:
    """Of one measure: how many turns, what 999 of 1,000 stay below, the longest; milliseconds."""

    turns: int
    p999_ms: float
    max_ms: float


def summary(counts: dict[str, int], longest_ms: float) -> Summary:
    """What the counts say. A class stands for its upper end, the last one for the longest turn."""
    total = sum(counts.values())
    left = total - int(total * QUANTILE)  # of the longest
    for name in reversed(_NAMES):
        left -= counts.get(name, 0)
        if left <= 0 and counts.get(name, 0):
            bound = longest_ms if name == MORE else min(float(name), longest_ms)
            return Summary(total, round(bound, 1), round(longest_ms, 1))
    return Summary(total, 0.0, round(longest_ms, 1))
