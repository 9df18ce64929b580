"""Which pages of a crawl are the same, and which nearly, for an export.

Exact duplicates have the same content hash. For near ones simhashes give the candidates: pairs that
differ in at most `simhash.NEAR` bits. This takes only numbers, and is done first (`Duplicates`).
Then all pages go by once, in their order (`mark`): the text of a page that has candidates is
compared with the first pages of their clusters (`page.resemblance`), and, if it has at least
DRIFTED in common with one, with the candidate itself. It joins a cluster, or begins one.

Everything lies in a temporary SQLite file, whose sorting and caching is bounded: memory is the same
for a thousand pages and for ten million. So is the work for a page where most pages are alike: it
gets some candidates from each sort, and is compared with a few of them. Knows neither stores nor
segments: pages come in as numbers, and a function gives the text of one.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing
from functools import lru_cache
from itertools import combinations, pairwise
from pathlib import Path
from typing import NamedTuple

from lycosa.page.resemblance import DRIFTED, NEAR_DUPLICATE, Sketch
from lycosa.page.simhash import NEAR

EXACT, SIMILAR = "exact", "near"

CACHE_KIB = 2 << 10  # of the temporary file in memory, and of each sort: any crawl fills it
SKETCHES = 256  # of texts that were compared lately, some 30 KB each
WINDOW = 200  # pages that one is compared with among those that share a key
ENOUGH = 3  # candidates that it gets from one key, of the first ones and of the last ones
CANDIDATES = 8  # that a page is compared with, the nearest first
CLOSE = 0.9  # with so much in common, what is near to a page is near to the first of its cluster
_ALL_BITS = (1 << 64) - 1
PER_KEY = 80  # pages that should share a key at most: with more pages, keys have more bits

# What is to be done with a page; `bits`: COPY or WANTED, or in how many bits `other` differs.
_COPY, _WANTED = -2, -1
_SCHEMA = """
CREATE TABLE page (id INTEGER PRIMARY KEY, content INTEGER, simhash INTEGER);
CREATE TABLE distinct_text (id INTEGER PRIMARY KEY, simhash INTEGER);
CREATE TABLE distinct_simhash (id INTEGER PRIMARY KEY, simhash INTEGER);
CREATE TABLE task (page INTEGER, bits INTEGER, other INTEGER, PRIMARY KEY (page, bits, other))
    WITHOUT ROWID;
CREATE TABLE member (id INTEGER PRIMARY KEY, cluster INTEGER);
CREATE TABLE sketch (id INTEGER PRIMARY KEY, hashes BLOB);
"""
_COPIES = f"""
INSERT INTO task SELECT id, {_COPY}, first FROM (
    SELECT id, min(id) OVER (PARTITION BY content) AS first FROM page
) WHERE id > first
"""
_DISTINCT = """
INSERT INTO distinct_text SELECT min(id), simhash FROM page GROUP BY content HAVING simhash <> 0
"""
_DISTINCT_SIMHASH = """
INSERT INTO distinct_simhash SELECT min(id), simhash FROM distinct_text GROUP BY simhash
"""
_SAME_SIMHASH = """
INSERT INTO task SELECT id, 0, first FROM (
    SELECT id, min(id) OVER (PARTITION BY simhash) AS first FROM distinct_text
) WHERE id > first
"""
_WILL_BE_ASKED = f"""
INSERT INTO task SELECT DISTINCT other, {_WANTED}, other FROM task WHERE bits >= 0
"""
_IN_ORDER = "SELECT page, bits, other FROM task ORDER BY page, bits, other"


class PageText(NamedTuple):
    """A page as it comes in, by its number in the crawl."""

    id: int
    content_hash: int
    simhash: int


class DuplicateMark(NamedTuple):
    """That a page is a duplicate."""

    of: int  # the first page of its cluster
    kind: str  # EXACT: an earlier page has the same text; SIMILAR: nearly


class Duplicates:
    """The duplicates among some pages, which come in the order of their ids; those without text
    are to be left out. `folder`: for the temporary file, about 100 bytes for each page and 4 KB for
    one that others may be near to. `told` hears how many sorts of how many are done."""

    def __init__(
        self,
        pages: Iterable[PageText],
        folder: Path | None = None,
        told: Callable[[int, int], None] = lambda done, of: None,
    ) -> None:
        with ExitStack() as stack:
            place = tempfile.TemporaryDirectory(prefix="lycosa-duplicates-", dir=folder)
            path = Path(stack.enter_context(place)) / "pages.sqlite"
            self._db = stack.enter_context(closing(sqlite3.connect(path, isolation_level=None)))
            _prepare(self._db, pages, told)
            self._tasks = self._db.execute(_IN_ORDER)
            self._next = self._tasks.fetchone()
            self._open = stack.pop_all()
        self._sketch_of = lru_cache(SKETCHES)(self._read_sketch)

    def mark(self, page: int, text: Callable[[], str]) -> DuplicateMark | None:
        """What a page is a duplicate of, if it is one; to be asked for all in their order."""
        wanted, others = False, list[int]()
        for bits, other in self._tasks_of(page):
            if bits == _COPY:
                return DuplicateMark(self._cluster(other), EXACT)
            if bits == _WANTED:
                wanted = True
            elif len(others) < CANDIDATES:
                others.append(other)
        if not (wanted or others):
            return None
        sketch = Sketch.of(text())
        found = self._near(sketch, others)
        if found is None:
            if wanted:
                self._keep(page, sketch)
            return None
        cluster, common = found
        self._db.execute("INSERT INTO member VALUES (?, ?)", (page, cluster))
        if wanted and common < CLOSE:
            self._keep(page, sketch)
        return DuplicateMark(cluster, SIMILAR)

    def _near(self, sketch: Sketch, others: Iterable[int]) -> tuple[int, float] | None:
        """The first cluster that a text belongs to, and what it has in common with its first."""
        compared: dict[int, float] = {}
        for other in others:
            cluster = self._cluster(other)
            if cluster not in compared:
                compared[cluster] = self._common(sketch, cluster)
            common = compared[cluster]
            nearest = self._common(sketch, other) if DRIFTED <= common < NEAR_DUPLICATE else common
            if nearest >= NEAR_DUPLICATE:
                return cluster, common
        return None

    def _common(self, sketch: Sketch, page: int) -> float:
        kept = self._sketch_of(page)
        return sketch.jaccard(kept) if kept is not None else 0.0

    def _keep(self, page: int, sketch: Sketch) -> None:
        self._db.execute("INSERT INTO sketch VALUES (?, ?)", (page, sketch.packed()))

    def close(self) -> None:
        """Remove the temporary file."""
        self._open.close()

    def _tasks_of(self, page: int) -> list[tuple[int, int]]:
        found = []
        while self._next is not None and self._next[0] <= page:
            if self._next[0] == page:
                found.append(self._next[1:])
            self._next = self._tasks.fetchone()
        return found

    def _cluster(self, page: int) -> int:
        """The first page of the cluster of an earlier page."""
        found = self._db.execute("SELECT cluster FROM member WHERE id = ?", (page,)).fetchone()
        return int(found[0]) if found else page

    def _read_sketch(self, page: int) -> Sketch | None:
        """None: the first page of its cluster says the same, or the page is gone meanwhile."""
        found = self._db.execute("SELECT hashes FROM sketch WHERE id = ?", (page,)).fetchone()
        return Sketch.unpacked(found[0]) if found else None


def _prepare(
    db: sqlite3.Connection, pages: Iterable[PageText], told: Callable[[int, int], None]
) -> None:
    """List what is to be done with each page."""
    for pragma in ("journal_mode=OFF", "synchronous=OFF", "temp_store=FILE"):
        db.execute(f"PRAGMA {pragma}")
    db.execute(f"PRAGMA cache_size=-{CACHE_KIB}")
    db.executescript(_SCHEMA)
    db.execute("BEGIN")
    db.executemany("INSERT INTO page VALUES (?, ?, ?)", pages)
    for statement in (_COPIES, _DISTINCT, _DISTINCT_SIMHASH, _SAME_SIMHASH):
        db.execute(statement)
    _find_candidates(db, told)
    db.execute(_WILL_BE_ASKED)


# --- candidates ---


def masks(pages: int) -> list[int]:
    """Which bits are compared at a time, so that numbers that differ in NEAR bits are equal in one
    of them: the 64 bits are cut into blocks, of which NEAR may differ and the others are a key."""
    chosen = 1
    while chosen < 4 and pages >> _key_bits(chosen) > PER_KEY:
        chosen += 1
    blocks = NEAR + chosen
    edges = [64 * number // blocks for number in range(blocks + 1)]
    parts = [(1 << high) - (1 << low) for low, high in pairwise(edges)]
    return [sum(some) for some in combinations(parts, chosen)]


def _key_bits(chosen: int) -> int:
    return 64 * chosen // (NEAR + chosen)


def _find_candidates(db: sqlite3.Connection, told: Callable[[int, int], None]) -> None:
    """One sort of all simhashes for each mask: those that agree in it lie together."""
    (count,) = db.execute("SELECT count(*) FROM distinct_simhash").fetchone()
    found = db.cursor()
    chosen = masks(count)
    for number, mask in enumerate(chosen, 1):
        signed = mask - (1 << 64) if mask >> 63 else mask
        rows = db.execute(
            "SELECT simhash & ? AS band, simhash, id FROM distinct_simhash ORDER BY band, id",
            (signed,),
        )
        found.executemany("INSERT OR IGNORE INTO task VALUES (?, ?, ?)", near_pairs(rows))
        told(number, len(chosen))


def near_pairs(rows: Iterable[tuple[int, int, int]]) -> Iterator[tuple[int, int, int]]:
    """Of rows (key, simhash, id), sorted by key and id, those that share a key and are near: the
    id, in how many bits they differ, the smaller id. However many share a key, one is compared with
    WINDOW at most, the first and the last before it, until ENOUGH of both are near."""
    shared: int | None = None
    before: list[tuple[int, int]] = []
    for key, value, ident in rows:
        value &= _ALL_BITS
        if key != shared:
            shared, before = key, [(value, ident)]
            continue
        for order in (before, reversed(before)):
            left = ENOUGH
            for other, other_ident in order:
                bits = (value ^ other).bit_count()
                if bits <= NEAR:
                    yield ident, bits, other_ident
                    left -= 1
                    if not left:
                        break
            if left:
                break  # all were seen
        before.append((value, ident))
        if len(before) > WINDOW:
            del before[WINDOW // 2]
