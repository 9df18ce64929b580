"""The visit ledger: when each domain was visited.

Owns `visits/*.jsonl`: ["s", domain, ms] is on file before the first request of a visit,
["d", domain, delay_ms] says which delay the visit learnt, ["e", domain, start_ms, end_ms,
requests, address, outcome] ends it. ["c", clock, to_ms, doubt_ms] says what the times after it
are: those of a machine's own clock plus to_ms, which is the store's clock, give or take doubt_ms.
A ledger is evidence: nothing cuts it back, and readers skip a torn last line. `audit` judges it.
"""

from __future__ import annotations

import mmap
import os
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from lycosa.archive.segments import (
    SegmentState,
    SegmentWriter,
    disk_errors,
    listed,
    segment_engine,
    segment_name,
)
from lycosa.errors import StoreError
from lycosa.ownfiles import open_own, unshare


def _line(*values: object) -> bytes:
    return orjson.dumps(values, option=orjson.OPT_APPEND_NEWLINE)


class Ledger:
    """The ledger of one engine. The loop notes lines and never waits for the disk; other threads
    write and sync them.

    The ledger that has the start of a visit gets its `learned` and `ended`, in this order.
    """

    def __init__(self, root: Path, engine_id: int, max_bytes: int) -> None:
        self._writer = SegmentWriter(root, "visits", engine_id, max_bytes)
        self._waiting: list[bytes] = []  # lines, in the order in which they were noted
        self._writing = threading.Lock()  # held for a write, never for an fsync

    def started(self, visits: Iterable[tuple[str, int]]) -> None:
        """Put the starts on file. Only when this has returned may a request be sent."""
        self.note_started(visits)
        self.write()

    def note_started(self, visits: Iterable[tuple[str, int]]) -> None:
        """Note visits that begin as soon as `write` has returned."""
        self._waiting += [_line("s", domain, ms) for domain, ms in visits]

    def clock(self, name: str, to_ms: float, doubt_ms: float) -> None:
        """Note by which clock the times of all later lines are."""
        self._waiting.append(_line("c", name, round(to_ms), round(doubt_ms)))

    def learned(self, domain: str, delay_ms: int) -> None:
        """Note the delay that holds from the end of the running visit on; before its `ended`."""
        self._waiting.append(_line("d", domain, delay_ms))

    def ended(
        self, domain: str, start_ms: int, end_ms: int, requests: int, address: str, outcome: str
    ) -> None:
        """Note the end of a visit. It is written with the next start or sync."""
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


def mend_ledgers(root: Path, dead: Collection[int]) -> list[str]:
    """End the torn last line of dead engines' ledgers; returns the names of those. Idempotent."""
    mended = []
    for number, path in listed(root, "visits"):
        if segment_engine(number) in dead and _is_torn(path):
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


def _entry(line: bytes) -> list[Any] | None:
    """A line of a ledger; None if it is torn or damaged."""
    try:
        entry = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    return entry if is_entry(entry) else None


def _entries(
    path: Path, begin: int = 0, strict: bool = True, name: bytes = b""
) -> Iterator[list[Any]]:
    """The lines that begin at a byte offset or later. Only the last may be unreadable, because a
    kill tore it; StoreError for any other if `strict`. With a `name`, as `_named` writes it: the
    lines with it and those about clocks; others are not looked at."""
    torn = False
    with open(path, "rb") as file:
        if begin:
            file.seek(begin - 1)
            file.readline()  # the rest of the line before
        for line in file:
            if name and name not in line and not line.startswith(b'["c",'):
                continue
            if torn and strict:
                raise StoreError(f"{path} is damaged: a line before the last can't be read.")
            entry = _entry(line)
            torn = entry is None
            if entry is not None:
                yield entry


_KINDS: dict[str, tuple[type, ...]] = {
    "s": (str, str, int),
    "d": (str, str, int),
    "e": (str, str, int, int, int, str, str),
    "c": (str, str, int, int),
}


def is_entry(entry: Any) -> bool:
    """Whether a value has the shape of one of the four kinds: a damaged line may still be JSON."""
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
    """What dead engines did after their last commit, and in the `margin` bytes before it, by
    domain: the engine that takes a domain over must respect it."""
    found: dict[str, TailInfo] = {}
    for number, path in listed(root, "visits"):
        if segment_engine(number) not in dead:
            continue
        begin = max(0, committed.get(segment_name("visits", number), 0) - margin)
        for entry in _entries(path, begin, strict=False):
            if entry[0] == "c":
                continue
            info = found.setdefault(entry[1], TailInfo())
            if entry[0] == "d":
                info.delay_ms = entry[2]
            else:
                info.last_ms = max(info.last_ms, entry[3 if entry[0] == "e" else 2])
    return found


class Clock(NamedTuple):
    """By which clock times in a ledger are: a machine's own (its name) plus `to_ms`."""

    name: str = ""  # '': not told
    to_ms: int = 0
    doubt_ms: int = 0  # by which that may not be the store's clock


UNTOLD = Clock()


@dataclass(slots=True)
class LedgerVisit:
    """One visit as the ledger tells it. The end of an unfinished one is given as its start."""

    engine_id: int
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


def read_visits(root: Path, domain: str = "") -> Iterator[LedgerVisit]:
    """Every visit on file, or those of one domain, engine by engine, in the order of their ends;
    the unfinished last."""
    numbered = listed(root, "visits")
    name = _named(domain) if domain else b""
    for engine_id, files in groupby(numbered, key=lambda item: segment_engine(item[0])):
        entries = (entry for _, path in files for entry in _entries(path, name=name))
        yield from visits_of(engine_id, entries)


def _named(domain: str) -> bytes:
    """How the lines of a domain go on behind their kind."""
    return b"," + orjson.dumps(domain) + b","


def lately(path: Path, engine_id: int, domain: str, limit: int, most: int) -> list[LedgerVisit]:
    """The last visits to a domain in a ledger's file, found from its end, of which no more than
    `most` bytes are looked through. Times are as written; which clock they are by is not told."""
    name, found, ends = _named(domain), [], 0
    with open(path, "rb") as file:
        if not file.seek(0, os.SEEK_END):
            return []
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            low, at = max(0, len(text) - most), len(text)
            while ends <= limit and (at := text.rfind(name, low, at)) >= 0:
                begin = text.rfind(b"\n", low, at) + 1
                entry = _entry(text[begin : text.find(b"\n", at) + 1])
                if entry is not None and entry[0] != "c" and entry[1] == domain:
                    found.append(entry)
                    ends += entry[0] == "s"
    found.reverse()
    while found and found[0][0] != "s":  # its beginning was not looked at
        del found[0]
    return list(visits_of(engine_id, found))[-limit:]


def visits_of(engine_id: int, entries: Iterable[list[Any]]) -> Iterator[LedgerVisit]:
    running: dict[str, LedgerVisit] = {}
    clock = UNTOLD
    for kind, domain, *rest in entries:
        if kind == "c":
            clock = Clock(domain, *rest[:2])
        elif kind == "s":
            if domain in running:  # the engine dropped the visit without an end
                yield running[domain]
            visit = LedgerVisit(
                engine_id, domain, rest[0], rest[0], start_clock=clock, end_clock=clock
            )
            running[domain] = visit
        elif domain not in running:
            raise StoreError(
                f"The ledger of engine {engine_id} is damaged:"
                f" {kind!r} of {domain} is outside a visit."
            )
        elif kind == "d":
            running[domain].learned_ms = rest[0]
        else:
            visit = running.pop(domain)
            _, visit.end_ms, visit.requests, visit.address, visit.outcome = rest[:5]
            visit.unfinished = False
            visit.end_clock = clock
            yield visit
    yield from running.values()
