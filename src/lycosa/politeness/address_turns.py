"""Whose turn it is at an address: one visit at a time, and a pause between two. Pure.

Domains that share an address (shared hosting) take turns there. A domain that finds the address
busy gets a time of its own, and later ones get later times. If the visit before is not over when a
domain's turn comes, the engine looks again soon, or, if it does so for MOST_NEXT domains already,
gives the domain another time. The table of addresses is the engine's own, or shared by all engines
of a node.
"""

from __future__ import annotations

from collections import Counter
from typing import Protocol

AT_LEAST = 0.01  # seconds until a busy address is looked at again
NOWHERE, QUEUED, NEXT, LATE = range(4)  # places of a domain that asks for an address
MOST_NEXT = 2  # domains at one address for which an engine looks again soon: more look in vain
SHOWN = 3  # addresses with the most waiting domains that are reported
MANY = 10_000  # addresses kept before those that are free are forgotten


class AddressTable(Protocol):
    """For each address the next turn that is free, and until when a visit or the pause after it
    lasts. Both in seconds of the engine's clock; for an address without visits, both are the moment
    from which it may be visited."""

    def take(self, address: str) -> tuple[float, float] | None:
        """Both times; None if another engine holds the table just now. `put` must follow."""

    def put(self, address: str, next_turn: float, busy_until: float) -> None: ...

    def prune(self, now: float) -> None:
        """Forget addresses that are free, if there are many."""


class OwnTable:
    """The table of one engine. No address is visited before `free_from`."""

    def __init__(self, free_from: float = 0.0) -> None:
        self._known: dict[str, tuple[float, float]] = {}
        self._unknown = (free_from, free_from)

    def take(self, address: str) -> tuple[float, float] | None:
        return self._known.get(address, self._unknown)

    def put(self, address: str, next_turn: float, busy_until: float) -> None:
        self._known[address] = (next_turn, busy_until)

    def prune(self, now: float) -> None:
        if len(self._known) > MANY:
            self._known = {a: times for a, times in self._known.items() if max(times) > now}


class AddressTurns:
    """Turns at addresses, as one engine sees them. `pause` and `longest` (a visit) in seconds."""

    def __init__(self, pause: float, longest: float, table: AddressTable) -> None:
        self.pause = pause
        self._longest = longest
        self._table = table
        self._usual = 0.0  # seconds that a visit takes, so that turns are not given out too close
        self._begun: dict[str, float] = {}  # visits of ours that are on, by address
        self._waiting: Counter[str] = Counter()
        self._next: Counter[str] = Counter()

    def ask(self, address: str, place: int, now: float) -> tuple[float, int]:
        """0.0 if the visit begins now, else when to ask again; and its place until then."""
        known = self._table.take(address)
        if known is None:
            self._waiting[address] += place == NOWHERE
            return now + AT_LEAST, place or QUEUED
        next_turn, busy_until = known
        step = self.pause + self._usual
        if busy_until <= now and (place or next_turn <= now):
            self._table.put(address, max(next_turn, now + step), now + self._longest)
            self._begun[address] = now
            self.leave(address, place)
            return 0.0, NOWHERE
        if place >= NEXT or (place == QUEUED and self._next[address] < MOST_NEXT):
            self._next[address] += place == QUEUED
            self._table.put(address, next_turn, busy_until)
            return min(busy_until, now + max(self.pause / 2, AT_LEAST)), max(place, NEXT)
        turn = max(next_turn, min(busy_until, now + step))
        self._table.put(address, turn + step, busy_until)
        self._waiting[address] += place == NOWHERE
        return turn, QUEUED

    def begin(self, address: str, now: float) -> bool:
        """Whether a visit that is under way elsewhere may go on there now; it does not queue up."""
        known = self._table.take(address)
        if known is None:
            return False
        next_turn, busy_until = known
        if max(known) > now:
            self._table.put(address, next_turn, busy_until)
            return False
        self._table.put(address, now + self.pause + self._usual, now + self._longest)
        self._begun[address] = now
        return True

    def late(self, address: str) -> int:
        """The place of a domain that could not use its turn for another reason: the engine looks
        again soon for it, beside the MOST_NEXT."""
        self._waiting[address] += 1
        return LATE

    def over(self, address: str, end: float) -> bool:
        """A visit there ended; False if another engine holds the table: call it again."""
        begun = self._begun.get(address)
        if begun is None:
            return True
        known = self._table.take(address)
        if known is None:
            return False
        del self._begun[address]
        self._usual += (min(end - begun, self.pause + 1.0) - self._usual) / 10
        next_turn, busy_until = known
        free = end + self.pause
        if busy_until > begun + self._longest:  # it took too long, and another visit began
            free = max(free, busy_until)
        self._table.put(address, next_turn, free)
        return True

    def crowded(self) -> dict[str, int]:
        """The addresses that most domains wait for, and how many."""
        return dict(self._waiting.most_common(SHOWN))

    def forget_waiting(self) -> None:
        """No domain waits any more: the engine gives all of them back."""
        self._waiting.clear()
        self._next.clear()

    def leave(self, address: str, place: int) -> None:
        """A domain that waited there does so no longer."""
        for counter, left in ((self._waiting, place != NOWHERE), (self._next, place == NEXT)):
            counter[address] -= left
            if counter[address] <= 0:
                del counter[address]
