"""What an engine notes beside what it counts: durations, examples, the latest pages, top domains,
and how long the pauses between visits were. Pure.

Everything is bounded in number and bytes, and noting a page costs a few microseconds
(`bench/notes.py`). How notes of many engines become one is in `summaries`. Times are of the
engine's clock, moments in milliseconds of the store's.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable
from math import exp, log, log1p
from typing import Any

from lycosa.engine.scheduler import Held
from lycosa.engine.top_domains import Frequent, Largest
from lycosa.engine.visit_result import Result
from lycosa.metrics import Stats
from lycosa.records import PageRow, Response

# Upper bounds in seconds; what is longer than the last has a place of its own.
LE = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 60.0)
PHASES = ("dns", "connect", "tls", "first_byte", "fetch", "parse", "commit", "lease")
SIZES = tuple(1024 * 4**n for n in range(7))  # bytes, 1 KiB to 4 MiB
LATEST = 20  # pages
EXAMPLES = 10  # of each outcome, and of each reason for a drop
KINDS = 60  # outcomes or reasons: there are fewer
URL_CHARS = 500  # longer ones are no examples
TITLE_CHARS = 120
PREVIEW_CHARS = 240
PLAY = 0.001  # seconds by which clocks may differ that were read one after the other


class Histogram:
    """How often something took how long."""

    __slots__ = ("counts", "sum")

    def __init__(self) -> None:
        self.counts = [0] * (len(LE) + 1)
        self.sum = 0.0

    def note(self, seconds: float) -> None:
        self.counts[bisect_left(LE, seconds)] += 1
        self.sum += seconds

    def summary(self) -> dict[str, Any]:
        return {"le": list(LE), "n": list(self.counts), "sum": round(self.sum, 6)}


class Pauses:
    """The pauses before visits, against those that were needed: what politeness comes to, counted
    when a visit begins. It knows nothing of the scheduler, which is meant to keep them."""

    __slots__ = ("least", "needed")

    def __init__(self) -> None:
        self.least = self.needed = -1.0  # of the pause that was nearest to what was needed

    def begins(self, held: Held, now: float, now_ms: int) -> bool:
        """A visit begins; whether the pause before it was long enough. Where another engine made
        the last one, the store says from when on a visit is allowed."""
        if held.ended:
            needed, pause = held.needed, now - held.ended
        elif held.pages or held.origins:
            needed = held.delay
            pause = needed + (now_ms - held.allowed_ms) / 1000
        else:
            return True  # nobody was there before
        if self.least < 0 or pause - needed < self.least - self.needed:
            self.least, self.needed = pause, needed
        return pause >= needed - PLAY

    def summary(self) -> dict[str, Any]:
        seen = self.least >= 0
        return {
            "least": round(self.least, 3) if seen else None,
            "needed": round(self.needed, 3) if seen else None,
        }


class Reservoir:
    """Some of many, each with the same chance (Li's algorithm L, which says how many to pass over
    before the next is taken). Its chance is a sequence of its own: the same crawl gives the same
    sample."""

    __slots__ = ("_next", "_seen", "_state", "_weight", "kept")

    def __init__(self, state: int = 88172645463325252) -> None:
        self.kept: list[str] = []
        self._seen = 0
        self._next = EXAMPLES  # the place, from 0, of the next that is taken
        self._weight = 1.0
        self._state = state
        self._skip()

    def offer(self, value: str) -> None:
        seen = self._seen
        self._seen = seen + 1
        if seen < EXAMPLES:
            self.kept.append(value)
        elif seen >= self._next:
            self.kept[int(self._chance() * EXAMPLES)] = value
            self._next += 1
            self._skip()

    def _skip(self) -> None:
        self._weight *= exp(log(self._chance()) / EXAMPLES)
        self._next += int(log(self._chance()) / log1p(-self._weight))

    def _chance(self) -> float:
        """Between 0 and 1, neither included."""
        self._state = (self._state * 6364136223846793005 + 1442695040888963407) & _MASK
        return ((self._state >> 12) + 0.5) / (1 << 52)


_MASK = (1 << 64) - 1
_Latest = tuple[str, str, int, str, str, int, str]  # url, title, ms, label, language, chars, text


class EngineNotes:
    """The notes of one engine."""

    def __init__(self) -> None:
        self.durations = {name: Histogram() for name in PHASES}
        self.pauses = Pauses()
        note = {name: found.note for name, found in self.durations.items()}
        self._connect, self._tls, self._first = note["connect"], note["tls"], note["first_byte"]
        self._fetch, self.parsed = note["fetch"], note["parse"]
        self.looked_up = note["dns"]  # told by the resolver
        self._sizes = [0] * (len(SIZES) + 1)
        self._examples: dict[str, deque[tuple[str, int]]] = {}
        self._dropped: dict[str, Reservoir] = {}
        self._latest: deque[_Latest] = deque(maxlen=LATEST)
        self._pages, self._queued = Largest(), Largest()
        self._slowest, self._delays = Largest(), Largest()
        self._failing = Frequent()

    # -- what happens -------------------------------------------------------------------------

    def fetched(self, response: Response) -> None:
        """A response is whole, or will not be."""
        if response.connect:
            self._connect(response.connect)
        if response.tls:
            self._tls(response.tls)
        if response.first_byte:
            self._first(response.first_byte)
        if not response.failure:
            self._fetch(response.ended - response.started)

    def rows(self, pages: Iterable[PageRow]) -> None:
        """URLs that are done."""
        for row in pages:
            if row.status:
                self._sizes[bisect_left(SIZES, row.wire_bytes)] += 1
            newest = self._examples.get(row.outcome)
            if newest is None:
                if len(self._examples) >= KINDS:
                    continue
                newest = self._examples[row.outcome] = deque(maxlen=EXAMPLES)
            if len(row.url) <= URL_CHARS:
                newest.append((row.url, row.fetched_ms))

    def text(self, row: PageRow, main: str) -> None:
        """A page whose text is kept."""
        if len(row.url) <= URL_CHARS:
            kind = (row.label, row.language, row.text_chars)
            self._latest.append((row.url, row.title, row.fetched_ms, *kind, main[:PREVIEW_CHARS]))

    def dropped(self, samples: dict[str, str]) -> None:
        """For each reason a URL that was dropped for it."""
        for reason, url in samples.items():
            found = self._dropped.get(reason)
            if found is None:
                if len(self._dropped) >= KINDS:
                    continue
                found = self._dropped[reason] = Reservoir()
            if len(url) <= URL_CHARS:
                found.offer(url)

    def visit_begins(self, held: Held, now: float, now_ms: int, stats: Stats) -> None:
        """A visit's first request is about to be sent."""
        if self.pauses.begins(held, now, now_ms):
            stats.polite_visits += 1
        else:
            stats.violations += 1

    def visit_ends(self, result: Result, failed: bool, delay: float) -> None:
        """A visit is over; `delay` is the crawl's. It is left alone from now on, and for how long
        is noted here apart from the scheduler."""
        held, now = result.held, result.ended
        held.ended, held.needed = now, max(held.delay, result.pause)
        name = held.name
        self._pages.note(name, held.pages, now)
        self._queued.note(name, held.queued, now)
        self._slowest.smooth(name, (now - result.started) / result.requests, now)
        if held.delay > delay:
            self._delays.note(name, held.delay, now)
        if failed:
            self._failing.note(name)

    def exchanged(self, commit: float, lease: float) -> None:
        """The store answered; 0.0 for what it was not asked."""
        if commit:
            self.durations["commit"].note(commit)
        if lease:
            self.durations["lease"].note(lease)

    # -- what is told -------------------------------------------------------------------------

    def summary(self, now: float) -> dict[str, Any]:
        """Everything that was noted, of plain values and bounded."""
        return {
            "latest": [_latest(each) for each in self._latest],
            "examples": {
                outcome: [{"url": url, "at": ms / 1000} for url, ms in newest]
                for outcome, newest in self._examples.items()
            },
            "dropped": {reason: list(found.kept) for reason, found in self._dropped.items()},
            "top": {
                "pages": self._pages.top(now),
                "queued": self._queued.top(now),
                "failing": self._failing.top(),
                "slowest": self._slowest.top(now),
                "delay": self._delays.top(now),
            },
            "sizes": {
                str(bound): count
                for bound, count in zip((*SIZES, "more"), self._sizes, strict=True)
            },
            "durations": {name: found.summary() for name, found in self.durations.items()},
            "politeness": self.pauses.summary(),
        }


def _latest(each: _Latest) -> dict[str, Any]:
    url, title, ms, label, language, chars, preview = each
    return {
        "url": url,
        "title": title[:TITLE_CHARS],
        "at": ms / 1000,
        "label": label,
        "language": language,
        "chars": chars,
        "preview": preview,
    }
