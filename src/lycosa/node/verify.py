"""Whether what was kept is still there: every segment against what was committed, page by page.

Merges two sorted lists, the places that pages point to and what the files hold, and lists the pages
that lost something. The lists may be longer than memory: they are in a temporary database. Changes
nothing; `mending` does.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from lycosa.archive.edges import check_edges
from lycosa.archive.ledger_check import check_lines
from lycosa.archive.reading import MISSING, UNREADABLE, SegmentFile, Verdict, state_of
from lycosa.archive.segments import SegmentKind, parse_name, segment_engine, segment_name
from lycosa.archive.text_check import TextCheck, TextPlace
from lycosa.archive.warc_check import RecordPlace, WarcCheck
from lycosa.clock import engine_now
from lycosa.frontier.keys import MOVED_KEY
from lycosa.frontier.protocol import PagePlace
from lycosa.frontier.reader import Reader
from lycosa.outcomes import Outcome

CHUNK = 5000  # pages asked of the store at once
CACHE_KIB = 16 << 10  # of the temporary database in memory

_SCHEMA = """
CREATE TABLE text (segment, frame, offset, domain_id, fp, url, fetched_ms, hash);
CREATE TABLE warc (segment, offset, domain_id, fp, url, fetched_ms);
CREATE TABLE lost (kind, segment, domain_id, fp, url, why, certain);
"""
_SORT = """
CREATE INDEX texts ON text (segment, frame, offset, domain_id, fp, url, fetched_ms, hash);
CREATE INDEX warcs ON warc (segment, offset, domain_id, fp, url, fetched_ms);
"""


class Loss(NamedTuple):
    """A page that lost something."""

    kind: str  # 'text' or 'warc'
    segment: str  # its name; '' if the page names none
    domain_id: int
    fp: int
    url: str
    why: str
    certain: int  # 0 for a file that only can't be read now


@dataclass(slots=True)
class Report:
    """What was found."""

    segments: int = 0  # that were looked at
    pages: int = 0  # whose places were looked for
    bytes: int = 0
    seconds: float = 0.0
    bad: list[Verdict] = field(default_factory=list)
    moved: list[str] = field(default_factory=list)  # declared to be elsewhere, and not here
    lost: dict[str, int] = field(default_factory=dict)  # pages by kind of what they lost
    concerned: int = 0  # pages that lost anything
    unseen: list[str] = field(default_factory=list)  # places of other nodes' output

    @property
    def ok(self) -> bool:
        return not self.bad and not self.lost

    @property
    def rate(self) -> float:
        """Megabytes a second."""
        return self.bytes / 1e6 / self.seconds if self.seconds else 0.0


def own_segments(
    committed: Mapping[tuple[Any, int], int], engines: Collection[int] | None
) -> dict[str, int]:
    """Committed lengths by name, of segments that engines of one directory wrote (None: all)."""
    return {
        segment_name(kind, number): length
        for (kind, number), length in sorted(committed.items())
        if length and (engines is None or segment_engine(number) in engines)
    }


def changed_segments(root: Path, lengths: dict[str, int], moved: Collection[str]) -> set[str]:
    """Segments that are not what was committed, as far as names and sizes tell."""
    found = set()
    for name, length in lengths.items():
        state, _, _ = state_of(root / name, length)
        if state and not (state == MISSING and name in moved):
            found.add(name)
    return found


def moved_segments(settings: Mapping[str, Any]) -> set[str]:
    """Segments that the user said are kept elsewhere."""
    return set(orjson.loads(settings.get(MOVED_KEY) or "[]"))


class Verifier:
    """Looks at the output in one directory.

    `live`: a crawl works there now, so what lies behind the committed lengths is only newer.
    """

    def __init__(
        self, reader: Reader, root: Path, engines: Collection[int] | None, live: bool = False
    ) -> None:
        self._reader = reader
        self._root = root
        self._engines = engines
        self._live = live
        self._db = _temporary(root)
        self.report = Report()

    def run(self, only: Collection[str] | None = None) -> Report:
        """Read everything, or only some segments."""
        began = engine_now()
        # First the lengths: of a live crawl, pages that are read afterwards then cover them.
        lengths = own_segments(self._reader.committed_segments(), self._engines)
        moved = moved_segments(self._reader.settings())
        if only is not None:
            lengths = {name: length for name, length in lengths.items() if name in only}
        self._load(lengths, only)
        for name, length in lengths.items():
            self._check(name, length, moved)
        self._unknown(lengths)
        self._name_swapped()
        report = self.report
        counted = "SELECT kind, count(DISTINCT url) FROM lost GROUP BY kind"
        report.lost = dict(self._db.execute(counted).fetchall())
        concerned = "SELECT count(*) FROM (SELECT DISTINCT domain_id, fp FROM lost)"
        report.concerned = self._db.execute(concerned).fetchone()[0]
        report.seconds = engine_now() - began
        return report

    def losses(self) -> Iterator[Loss]:
        """Every page that lost something, by segment."""
        query = "SELECT kind, segment, domain_id, fp, url, why, certain FROM lost"
        for row in self._db.execute(f"{query} ORDER BY kind, segment, url"):
            yield Loss._make(row)

    def to_queue_again(self) -> Iterator[tuple[int, int]]:
        """Pages that have no whole text here: those whose text is gone, or that never had one and
        lost their WARC records."""
        query = """
            SELECT DISTINCT domain_id, fp FROM lost WHERE certain AND (kind = 'text' OR url NOT IN (
                SELECT url FROM text))"""
        yield from self._db.execute(query)

    def keys(self, kind: str) -> Iterator[tuple[int, int]]:
        """Pages that lost this for certain."""
        query = "SELECT DISTINCT domain_id, fp FROM lost WHERE certain AND kind = ?"
        yield from self._db.execute(query, (kind,))

    def close(self) -> None:
        self._db.close()

    # -- places -------------------------------------------------------------------------------

    def _load(self, lengths: dict[str, int], only: Collection[str] | None) -> None:
        numbers = None
        if only is not None:
            numbers = sorted({parsed[1] for name in only if (parsed := parse_name(name))})
        after = 0
        while rows := self._reader.placed(after, CHUNK, numbers):
            after = rows[-1].id
            self.report.pages += len(rows)
            self._place(rows, only)
        self._db.executescript(_SORT)

    def _place(self, rows: Sequence[PagePlace], only: Collection[str] | None) -> None:
        texts, warcs = [], []
        for row in rows:
            key = (row.domain_id, row.fp, row.url, row.fetched_ms)
            if row.text_segment and self._wanted("text", row.text_segment, only):
                place = (row.text_segment, row.text_frame, row.text_offset)
                texts.append((*place, *key, row.content_hash))
            elif row.outcome == Outcome.OK and not row.text_segment and only is None:
                self._lose("text", "", key, "its record names no text")
            if row.warc_segment and self._wanted("warc", row.warc_segment, only):
                warcs.append((row.warc_segment, row.warc_offset, *key))
        self._db.executemany("INSERT INTO text VALUES (?, ?, ?, ?, ?, ?, ?, ?)", texts)
        self._db.executemany("INSERT INTO warc VALUES (?, ?, ?, ?, ?, ?)", warcs)

    def _wanted(self, kind: SegmentKind, number: int, only: Collection[str] | None) -> bool:
        if self._engines is not None and segment_engine(number) not in self._engines:
            return False
        return only is None or segment_name(kind, number) in only

    def _text_places(self, number: int, length: int) -> Iterator[TextPlace]:
        query = """SELECT frame, offset, domain_id, fp, url, fetched_ms, hash FROM text
            WHERE segment = ? AND (frame < ? OR NOT ?) ORDER BY frame, offset"""
        for row in self._db.execute(query, (number, length, self._live)):
            yield TextPlace(*row)

    def _warc_places(self, number: int, length: int) -> Iterator[RecordPlace]:
        query = """SELECT offset, domain_id, fp, url, fetched_ms FROM warc
            WHERE segment = ? AND (offset < ? OR NOT ?) ORDER BY offset"""
        for row in self._db.execute(query, (number, length, self._live)):
            yield RecordPlace(*row)

    # -- segments -----------------------------------------------------------------------------

    def _check(self, name: str, length: int, moved: Collection[str]) -> None:
        path = self._root / name
        state, size, detail = state_of(path, length)
        if state == MISSING and name in moved:
            self.report.moved.append(name)
            return
        verdict = Verdict(name, length, state, size, detail)
        self.report.segments += 1
        if state in (MISSING, UNREADABLE):
            self._lose_all(verdict)
        else:
            self._read(path, verdict)
        self.report.bytes += verdict.bytes_read
        if not verdict.healthy:
            self.report.bad.append(verdict)

    def _read(self, path: Path, verdict: Verdict) -> None:
        try:
            file = SegmentFile(path, verdict.committed)
            try:
                self._go_through(file, path, verdict)
            finally:
                file.close()
        except OSError as error:  # the disk, in the middle of it
            verdict.state, verdict.detail = UNREADABLE, error.strerror or str(error)
            self._lose_all(verdict)

    def _go_through(self, file: SegmentFile, path: Path, verdict: Verdict) -> None:
        kind, number = _parsed(verdict.name)
        found: Iterable[tuple[TextPlace | RecordPlace, str]]
        if kind == "text":
            found = TextCheck(file, verdict).run(self._text_places(number, verdict.committed))
        elif kind == "warc":
            found = WarcCheck(file, verdict).run(self._warc_places(number, verdict.committed))
        else:
            if kind == "edges":
                check_edges(self._root, number, verdict)
            else:
                check_lines(path, verdict)
            return
        for place, why in found:
            key = (place.domain_id, place.fp, place.url, place.fetched_ms)
            self._lose(kind, verdict.name, key, why)
            verdict.pages += 1

    def _lose_all(self, verdict: Verdict) -> None:
        kind, number = _parsed(verdict.name)
        verdict.pages = 0
        self._db.execute("DELETE FROM lost WHERE segment = ?", (verdict.name,))
        places: Iterable[TextPlace | RecordPlace] = ()
        if kind == "text":
            places = self._text_places(number, verdict.committed)
        elif kind == "warc":
            places = self._warc_places(number, verdict.committed)
        certain = verdict.state == MISSING
        why = "its segment is missing" if certain else f"can't be read ({verdict.detail})"
        for place in places:
            key = (place.domain_id, place.fp, place.url, place.fetched_ms)
            self._lose(kind, verdict.name, key, why, certain)
            verdict.pages += 1

    def _unknown(self, lengths: dict[str, int]) -> None:
        """Pages whose segment the store does not know of; of a live crawl it is newer."""
        if self._live:
            return
        for kind, table in (("text", "text"), ("warc", "warc")):
            known = [number for k, number in map(_parsed, lengths) if k == kind]
            query = f"""SELECT segment, domain_id, fp, url, fetched_ms FROM {table}
                WHERE segment NOT IN (SELECT value FROM json_each(?))"""
            rows = self._db.execute(query, (orjson.dumps(known).decode(),)).fetchall()
            for number, *key in rows:
                name = segment_name(kind, number)  # type: ignore[arg-type]
                self._lose(kind, name, tuple(key), "the store knows no such segment")

    def _name_swapped(self) -> None:
        """Of a segment whose rows are of other pages: where those should be."""
        for verdict in self.report.bad:
            if verdict.example:
                query = "SELECT segment FROM text WHERE url = ? LIMIT 1"
                for (number,) in self._db.execute(query, (verdict.example,)):
                    if segment_name("text", number) != verdict.name:
                        verdict.detail = f"it holds rows of {segment_name('text', number)}"

    def _lose(
        self, kind: str, name: str, key: tuple[Any, ...], why: str, certain: bool = True
    ) -> None:
        values = (kind, name, *key[:3], why, certain)
        self._db.execute("INSERT INTO lost VALUES (?, ?, ?, ?, ?, ?, ?)", values)


def _parsed(name: str) -> tuple[SegmentKind, int]:
    found = parse_name(name)
    assert found is not None
    return found


def _temporary(root: Path) -> sqlite3.Connection:
    """A database without a name: it is gone with its connection, however the process ends."""
    if os.access(root, os.W_OK):
        os.environ["SQLITE_TMPDIR"] = str(root)  # where there is room: /tmp may be memory
    db = sqlite3.connect("", isolation_level=None, check_same_thread=False)
    db.execute("PRAGMA journal_mode = OFF")
    db.execute("PRAGMA temp_store = FILE")
    db.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
    db.executescript(_SCHEMA)
    db.execute("BEGIN")
    return db


@contextmanager
def verified(
    reader: Reader,
    root: Path,
    engines: Collection[int] | None,
    live: bool = False,
    only: Collection[str] | None = None,
) -> Iterator[Verifier]:
    """A verifier that has run."""
    verifier = Verifier(reader, root, engines, live)
    try:
        verifier.run(only)
        yield verifier
    finally:
        verifier.close()
