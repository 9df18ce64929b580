"""The visit ledger: when each domain was visited, and the proof of politeness from it.

Owns `visits/*.jsonl`: ["s", domain, ms] is on file before the first request of a visit,
["d", domain, delay_ms] says which delay the visit learnt, ["e", domain, start_ms, end_ms,
requests, address, outcome] ends it. ["c", clock, to_ms, doubt_ms] says what the times behind it
are: those of a machine's own clock plus to_ms, which is the store's clock, give or take doubt_ms.
It is evidence: never cut back, a torn last line is passed over. `audit` proves P1 and P2 from it
alone; it must not ask the frontier or the scheduler.
"""

from __future__ import annotations

import os
import sys
import threading
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from lycosa.archive.segments import (
    SegmentState,
    SegmentWriter,
    disk_errors,
    listed,
    segment_name,
    segment_owner,
)
from lycosa.errors import StoreError
from lycosa.ownfiles import open_own, unshare

_NOT_LEARNT = -1
_EXAMPLES = 20


def _line(*values: object) -> bytes:
    return orjson.dumps(values, option=orjson.OPT_APPEND_NEWLINE)


class Ledger:
    """The ledger of one engine. Its loop notes lines and never waits for the disk; other threads
    write and sync them.

    A visit's `learned` and `ended` go to the ledger that has its start, `learned` first.
    """

    def __init__(self, root: Path, owner: int, max_bytes: int) -> None:
        self._writer = SegmentWriter(root, "visits", owner, max_bytes)
        self._waiting: list[bytes] = []  # lines, in the order in which they were noted
        self._writing = threading.Lock()  # held for a write, never for an fsync

    def started(self, visits: Iterable[tuple[str, int]]) -> None:
        """Put the starts on file. Only when this has returned may a request be sent."""
        self.note_started(visits)
        self.write()

    def note_started(self, visits: Iterable[tuple[str, int]]) -> None:
        """Visits that begin as soon as `write` has returned."""
        self._waiting += [_line("s", domain, ms) for domain, ms in visits]

    def clock(self, name: str, to_ms: float, doubt_ms: float) -> None:
        """What the times of all later lines are."""
        self._waiting.append(_line("c", name, round(to_ms), round(doubt_ms)))

    def learned(self, domain: str, delay_ms: int) -> None:
        """The delay that holds from the end of the running visit on; before its `ended`."""
        self._waiting.append(_line("d", domain, delay_ms))

    def ended(
        self, domain: str, start_ms: int, end_ms: int, requests: int, address: str, outcome: str
    ) -> None:
        """A visit is over. Written with the next start or sync."""
        self._waiting.append(_line("e", domain, start_ms, end_ms, requests, address, outcome))

    def write(self) -> None:
        """Put everything noted so far on file: a kill can't take it back, a power cut can."""
        with self._writing:
            self._write()

    def sync(self, closing: bool = False) -> list[SegmentState]:
        """Make the ledger durable, as `SegmentWriter.sync` does."""
        with self._writing:
            self._write()
            unsynced = self._writer.begin_sync(closing)
        return self._writer.finish_sync(unsynced)

    def close(self) -> None:
        """Write what waits and let go of the file."""
        with self._writing:
            self._write()
            self._writer.close()

    def _write(self) -> None:
        lines = self._waiting[:]  # more may come while these are written
        if lines:
            self._writer.append(b"".join(lines))
            del self._waiting[: len(lines)]  # only now: a full disk may have refused them


def mend(root: Path, dead: Collection[int]) -> list[str]:
    """End the torn last line of dead owners' ledgers; the names mended. Twice is once."""
    mended = []
    for number, path in listed(root, "visits"):
        if segment_owner(number) in dead and _is_torn(path):
            with disk_errors(path):
                unshare(path)
                fd = open_own(path, os.O_WRONLY | os.O_APPEND)
                try:
                    os.write(fd, b"\n")
                finally:
                    os.close(fd)
            mended.append(segment_name("visits", number))
    return mended


def _is_torn(path: Path) -> bool:
    with open(path, "rb") as file:
        if file.seek(0, os.SEEK_END) == 0:
            return False
        file.seek(-1, os.SEEK_END)
        return file.read(1) != b"\n"


def _entries(path: Path, begin: int = 0, strict: bool = True) -> Iterator[list[Any]]:
    """The lines that begin at a byte offset or later. Only the last may be unreadable: a kill
    tore it."""
    torn = False
    with open(path, "rb") as file:
        if begin:
            file.seek(begin - 1)
            file.readline()  # the rest of the line before
        for line in file:
            if torn and strict:
                raise StoreError(f"{path} is damaged: an unreadable line before the last")
            try:
                entry = orjson.loads(line)
            except orjson.JSONDecodeError:
                entry = None
            torn = not is_entry(entry)
            if not torn:
                yield entry


_KINDS: dict[str, tuple[type, ...]] = {
    "s": (str, str, int),
    "d": (str, str, int),
    "e": (str, str, int, int, int, str, str),
    "c": (str, str, int, int),
}


def is_entry(entry: Any) -> bool:
    """Whether a line says what one of the four kinds says: a damaged one may still be JSON."""
    if not isinstance(entry, list) or not entry or not isinstance(entry[0], str):
        return False
    types = _KINDS.get(entry[0])
    return types is not None and len(entry) >= len(types) and all(map(isinstance, entry, types))


@dataclass(slots=True)
class TailInfo:
    """What an engine did to a domain after its last commit."""

    last_ms: int = 0  # the last start or end on file
    delay_ms: int | None = None  # the last delay learnt, if any


def tail(
    root: Path, committed: Mapping[str, int], dead: Collection[int], margin: int = 0
) -> dict[str, TailInfo]:
    """What dead owners did after their last commit, and in the `margin` bytes before: who takes
    over must respect it."""
    found: dict[str, TailInfo] = {}
    for number, path in listed(root, "visits"):
        if segment_owner(number) not in dead:
            continue
        begin = max(0, committed.get(segment_name("visits", number), 0) - margin)
        for entry in _entries(path, begin, strict=False):
            if entry[0] == "c":
                continue
            info = found.setdefault(entry[1], TailInfo())
            if entry[0] == "d":
                info.delay_ms = entry[2]
            else:
                info.last_ms = max(info.last_ms, *entry[2:4])
    return found


class Clock(NamedTuple):
    """What times in a ledger are: a machine's own clock (its name) plus `to_ms`."""

    name: str = ""  # '': not told
    to_ms: int = 0
    doubt_ms: int = 0  # by which that may not be the store's clock


UNTOLD = Clock()


@dataclass(slots=True)
class Visit:
    """One visit as the ledger tells it. Unfinished: its end is unknown and given as its start."""

    owner: int
    domain: str
    start_ms: int
    end_ms: int
    requests: int = 0
    address: str = ""
    outcome: str = ""
    learned_ms: int | None = None  # the delay from its end on; None: as before
    unfinished: bool = True
    start_clock: Clock = UNTOLD
    end_clock: Clock = UNTOLD


def read(root: Path) -> Iterator[Visit]:
    """Every visit on file, owner by owner, in the order of their ends; the unfinished last."""
    numbered = listed(root, "visits")
    for owner, files in groupby(numbered, key=lambda item: segment_owner(item[0])):
        yield from _visits(owner, (entry for _, path in files for entry in _entries(path)))


def _visits(owner: int, entries: Iterable[list[Any]]) -> Iterator[Visit]:
    running: dict[str, Visit] = {}
    clock = UNTOLD
    for kind, domain, *rest in entries:
        if kind == "c":
            clock = Clock(domain, *rest[:2])
        elif kind == "s":
            if domain in running:  # the engine dropped the visit without an end
                yield running[domain]
            visit = Visit(owner, domain, rest[0], rest[0], start_clock=clock, end_clock=clock)
            running[domain] = visit
        elif domain not in running:
            raise StoreError(f"owner {owner}'s ledger has {kind!r} for {domain} outside a visit")
        elif kind == "d":
            running[domain].learned_ms = rest[0]
        else:
            visit = running.pop(domain)
            _, visit.end_ms, visit.requests, visit.address, visit.outcome = rest[:5]
            visit.unfinished = False
            visit.end_clock = clock
            yield visit
    yield from running.values()


@dataclass(slots=True)
class Violation:
    """A visit that began too soon after the one before it."""

    domain: str
    end_ms: int  # of the earlier visit
    start_ms: int  # of the later one
    needed_ms: int  # the delay that should lie between
    owners: tuple[int, int]


@dataclass(slots=True)
class AuditReport:
    """What the ledger proves. `overlaps` break P2 (and P1), `too_soon` breaks P1 alone."""

    domains: int = 0
    visits: int = 0
    unfinished: int = 0
    overlaps: int = 0
    too_soon: int = 0
    smallest_gap_ms: int | None = None
    examples: list[Violation] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """No domain was visited too soon or twice at once."""
        return self.overlaps == 0 and self.too_soon == 0


def audit(
    visits: Iterable[Visit],
    delay: float,
    before: Sequence[tuple[int, float]] = (),
    tolerance_ms: int = 0,
) -> AuditReport:
    """Check every two consecutive visits of a domain, whoever made them; `delay` in seconds.

    `before`: the delays of earlier runs as (until_ms, delay), the oldest first. Takes the visits
    in any order and keeps 40 bytes of each. Two visits by one clock are judged by it. By two
    clocks, a visit is too soon if it is so whatever the clocks' doubt; `tolerance_ms` is the doubt
    where a ledger does not tell.
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
        kept.extend((visit.start_ms, visit.end_ms, learned, visit.owner, pair))
    report.domains = len(per_domain)
    judge = _Judge(list(clocks), tolerance_ms)
    for domain, kept in per_domain.items():
        _audit_domain(domain, kept, delays, report, judge)
    return report


_Row = tuple[int, int, int, int, int]  # start, end, learned, owner, which pair of clocks
_ROUNDED_MS = 2  # times that were rounded at two moments
_SLIP_MS = 10  # by which two engines may disagree on the store's clock (`clock.ClockGap`)


class _Judge:
    """How long lay between two visits, and how certain that is."""

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
        """Milliseconds between the two, and by how many they may be more."""
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
            owners = (last[3], row[3])
            _note(report, Violation(domain, last[1], last[1] + gap, needed, owners))
        # A short visit inside a long one does not hide the long one's end.
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


def _note(report: AuditReport, found: Violation) -> None:
    if found.start_ms < found.end_ms:
        report.overlaps += 1
    else:
        report.too_soon += 1
    if len(report.examples) < _EXAMPLES:
        report.examples.append(found)
