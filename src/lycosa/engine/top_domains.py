"""Which domains have most of something: bounded summaries of what may be millions. Pure."""

from __future__ import annotations

TOP = 50  # domains that are told
ROOM = 4 * TOP  # that are kept: beyond it only the largest stay
FRESH = 3600.0  # seconds after which a domain that was not visited is left out: it may be elsewhere
NEW = 0.3  # weight of a new duration in the smoothed one


class Largest:
    """The domains with the largest value, which each visit tells anew. Exact for values that only
    grow; of others, those that were told lately."""

    __slots__ = ("_floor", "_values")

    def __init__(self) -> None:
        self._values: dict[str, tuple[float, float]] = {}  # value, and when it was told
        self._floor = 0.0  # the smallest value that may still be among the largest

    def note(self, name: str, value: float, now: float) -> None:
        if value > self._floor or name in self._values:
            self._values[name] = (value, now)
            if len(self._values) > ROOM:
                self._shrink()

    def smooth(self, name: str, value: float, now: float) -> None:
        """The same for a value that jumps: what is kept follows it slowly."""
        before = self._values.get(name)
        if before is not None:
            value = before[0] + (value - before[0]) * NEW
        self.note(name, value, now)

    def _shrink(self) -> None:
        order = sorted(self._values.items(), key=lambda item: -item[1][0])
        self._values = dict(order[:TOP])
        self._floor = order[TOP - 1][1][0]

    def top(self, now: float) -> list[list[str | float]]:
        """[domain, value], the largest first."""
        stale = [name for name, (_, at) in self._values.items() if now - at > FRESH]
        for name in stale:
            del self._values[name]
        if len(self._values) < TOP:
            self._floor = 0.0
        order = sorted(self._values.items(), key=lambda item: -item[1][0])
        return [[name, _plain(value)] for name, (value, _) in order[:TOP] if value > 0]


class Frequent:
    """The domains that are named most often (Misra and Gries): a domain that has more than one in
    ROOM of all is among them, and its count is too low by no more than that share."""

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def note(self, name: str) -> None:
        counts = self._counts
        if name in counts:
            counts[name] += 1
        elif len(counts) < ROOM:
            counts[name] = 1
        else:
            self._counts = {name: count - 1 for name, count in counts.items() if count > 1}

    def top(self) -> list[list[str | float]]:
        """[domain, count], the most frequent first."""
        order = sorted(self._counts.items(), key=lambda item: (-item[1], item[0]))
        return [[name, count] for name, count in order[:TOP]]


def _plain(value: float) -> float:
    return value if isinstance(value, int) else round(value, 3)
