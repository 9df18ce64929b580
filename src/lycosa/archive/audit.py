"""The proof of politeness: what the visits of a ledger say about P1 and P2.

Owns the judgement of pauses and overlaps, as far as the clocks can be trusted. It takes visits as
`ledger` reads them, and must not ask the frontier or the scheduler.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from lycosa.archive.ledger import Clock, LedgerVisit

_NOT_LEARNT = -1
_EXAMPLES = 20


@dataclass(slots=True)
class ShortPause:
    """A visit that began too soon after the one before it."""

    domain: str
    end_ms: int  # of the earlier visit
    start_ms: int  # of the later one
    needed_ms: int  # the delay that should lie between
    engine_ids: tuple[int, int]


@dataclass(slots=True)
class AuditReport:
    """What the ledger proves. `overlaps` break P2 (and P1), `too_soon` breaks P1 alone."""

    domains: int = 0
    visits: int = 0
    unfinished: int = 0
    overlaps: int = 0
    too_soon: int = 0
    smallest_gap_ms: int | None = None
    examples: list[ShortPause] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """No domain was visited too soon or twice at once."""
        return self.overlaps == 0 and self.too_soon == 0


def audit_visits(
    visits: Iterable[LedgerVisit],
    delay: float,
    before: Sequence[tuple[int, float]] = (),
    tolerance_ms: int = 0,
) -> AuditReport:
    """Check every two consecutive visits of a domain, whichever engine made them.

    `delay` in seconds; `before`: the delays of earlier runs as (until_ms, delay), the oldest first.
    Takes the visits in any order and keeps 40 bytes of each. One clock judges two visits that were
    both timed by it. Of two visits by two clocks, the later is too soon only if the clocks' doubt
    can't explain it; `tolerance_ms` is the doubt where a ledger does not tell.
    """
    delays = [(until, round(seconds * 1000)) for until, seconds in before]
    delays.append((sys.maxsize, round(delay * 1000)))
    report = AuditReport()
    per_domain: dict[str, array[int]] = {}
    clocks: dict[tuple[Clock, Clock], int] = {}
    for visit in visits:
        report.visits += 1
        report.unfinished += visit.unfinished
        learned = _NOT_LEARNT if visit.learned_ms is None else visit.learned_ms
        kept = per_domain.get(visit.domain)
        if kept is None:
            kept = per_domain[visit.domain] = array("q")
        pair = clocks.setdefault((visit.start_clock, visit.end_clock), len(clocks))
        kept.extend((visit.start_ms, visit.end_ms, learned, visit.engine_id, pair))
    report.domains = len(per_domain)
    judge = _Judge(list(clocks), tolerance_ms)
    for domain, kept in per_domain.items():
        _audit_domain(domain, kept, delays, report, judge)
    return report


_Row = tuple[int, int, int, int, int]  # start, end, learned, engine, which pair of clocks
_ROUNDED_MS = 2  # an end and a start are each rounded to a millisecond
_SLIP_MS = 10  # by which two engines may disagree on the store's clock (`clock.ClockGap`)


class _Judge:
    """The time between two visits, and how certain it is."""

    def __init__(self, clocks: list[tuple[Clock, Clock]], tolerance_ms: int) -> None:
        self._clocks = clocks
        self._tolerance_ms = tolerance_ms

    def own(self, row: _Row) -> tuple[int, int]:
        """Start and end by the clock of the machine itself."""
        start, end = self._clocks[row[4]]
        return row[0] - start.to_ms, row[1] - end.to_ms

    def in_order(self, rows: list[_Row]) -> list[_Row]:
        """By the clock of the machine if one made all visits, else by the store's."""
        names = {clock.name for row in rows for clock in self._clocks[row[4]]}
        return sorted(rows, key=self.own) if len(names) == 1 else sorted(rows)

    def outlasts(self, row: _Row, other: _Row) -> bool:
        """Whether a visit ended no earlier than another."""
        if self._clocks[row[4]][1].name == self._clocks[other[4]][1].name:
            return self.own(row)[1] >= self.own(other)[1]
        return row[1] >= other[1]

    def gap(self, before: _Row, after: _Row) -> tuple[int, int]:
        """Milliseconds between two visits, and by how many it may have been more."""
        end, start = self._clocks[before[4]][1], self._clocks[after[4]][0]
        if end.name != start.name:
            return after[0] - before[1], self._doubt(end) + self._doubt(start)
        if not end.name:
            return after[0] - before[1], self._tolerance_ms
        doubt = 0 if end == start else _ROUNDED_MS if before[3] == after[3] else _SLIP_MS
        return self.own(after)[0] - self.own(before)[1], doubt

    def _doubt(self, clock: Clock) -> int:
        return clock.doubt_ms if clock.name else self._tolerance_ms


def _audit_domain(
    domain: str,
    kept: array[int],
    delays: list[tuple[int, int]],
    report: AuditReport,
    judge: _Judge,
) -> None:
    rows = list(zip(kept[::5], kept[1::5], kept[2::5], kept[3::5], kept[4::5], strict=True))
    last, *others = judge.in_order(rows)
    learned = last[2]
    for row in others:
        # The delay that held when the next visit began, or any between the two.
        needed = max(_least(delays, last[1], row[0]), learned)
        gap, doubt = judge.gap(last, row)
        if report.smallest_gap_ms is None or gap < report.smallest_gap_ms:
            report.smallest_gap_ms = gap
        if gap < needed - doubt:
            engine_ids = (last[3], row[3])
            _note(report, ShortPause(domain, last[1], last[1] + gap, needed, engine_ids))
        # A short visit may lie inside a long one, whose end then counts.
        if judge.outlasts(row, last):
            last = row
        if row[2] != _NOT_LEARNT:
            learned = row[2]


def _least(delays: list[tuple[int, int]], begin: int, end: int) -> int:
    """The shortest delay in force at any time between two moments."""
    since = 0
    found = []
    for until, ms in delays:
        if until >= begin and since <= end:
            found.append(ms)
        since = until
    return min(found)


def _note(report: AuditReport, found: ShortPause) -> None:
    if found.start_ms < found.end_ms:
        report.overlaps += 1
    else:
        report.too_soon += 1
    if len(report.examples) < _EXAMPLES:
        report.examples.append(found)
