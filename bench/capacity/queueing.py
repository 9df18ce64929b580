"""A machine and its engines as a queue, event by event: cores that share themselves out among those
who want them, one lock that one holds at a time, and waiting that needs neither.

An engine goes through its steps again and again. Knows nothing of crawls: steps are seconds of CPU,
of waiting, or the lock taken and given back. Pure.
"""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

CPU, WAIT, TAKE, GIVE, DONE = range(5)  # kinds of steps; DONE: a cycle is over, with so many pages
Step = tuple[int, float]


@dataclass
class Machine:
    """`cores`: what all cores do together for so many who want one, in whole cores."""

    cores: Callable[[int], float]
    now: float = 0.0
    pages: float = 0.0
    busy: float = 0.0  # seconds of cores
    _served: float = 0.0  # seconds of CPU that each who wants it has had so far
    _running: list[tuple[float, int, int]] = field(default_factory=list)
    _waiting: list[tuple[float, int, int]] = field(default_factory=list)
    _line: deque[int] = field(default_factory=deque)  # for the lock
    _locked: bool = False
    _order: Iterator[int] = field(default_factory=itertools.count)
    _engines: list[Iterator[Step]] = field(default_factory=list)

    def run(self, engines: list[Iterator[Step]], seconds: float) -> None:
        """All engines begin, and go on up to a moment."""
        self._engines = engines
        for index in range(len(engines)):
            self._next(index)
        self.go_on(seconds)

    def go_on(self, seconds: float) -> None:
        while self.now < seconds and (self._running or self._waiting):
            self._pass()

    def _pass(self) -> None:
        """Until the next CPU step or wait ends."""
        wanted = len(self._running)
        share = min(1.0, self.cores(wanted) / wanted) if wanted else 1.0
        soonest = (self._running[0][0] - self._served) / share if wanted else float("inf")
        wakes = self._waiting[0][0] - self.now if self._waiting else float("inf")
        passed = max(0.0, min(soonest, wakes))
        self.now += passed
        self._served += passed * share
        self.busy += passed * share * wanted
        line = self._running if soonest <= wakes else self._waiting
        self._next(heapq.heappop(line)[2])

    def _next(self, index: int) -> None:
        """The next steps of an engine, up to one that takes time."""
        for kind, amount in self._engines[index]:
            if kind == CPU:
                heapq.heappush(self._running, (self._served + amount, next(self._order), index))
                return
            if kind == WAIT:
                heapq.heappush(self._waiting, (self.now + amount, next(self._order), index))
                return
            if kind == TAKE and self._locked:
                self._line.append(index)
                return
            self._at_once(kind, amount)

    def _at_once(self, kind: int, amount: float) -> None:
        if kind == TAKE:
            self._locked = True
        elif kind == GIVE:
            self._locked = bool(self._line)
            if self._line:
                self._next(self._line.popleft())
        else:
            self.pages += amount
