"""Which pages of a crawl are the same, and which nearly: clusters. No export asks for them yet
(docs/decisions/0019-near-duplicates.md).

Exact duplicates have the same content hash. For near ones simhashes give the candidates: pairs that
differ in at most `simhash.NEAR` bits. Each pair is confirmed on the texts (`page.resemblance`)
before the two count as one cluster.

Everything lies in a temporary SQLite file, whose sorting and caching is bounded: memory is the same
for a thousand pages and for ten million. Knows neither stores nor segments: pages come in as
numbers, and a function gives the text of one.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import combinations, pairwise
from pathlib import Path
from typing import NamedTuple

from lycosa.page.resemblance import DRIFTED, NEAR_DUPLICATE, Shingles, jaccard, shingles
from lycosa.page.simhash import NEAR

FIRST, EXACT, SIMILAR = "first", "exact", "near"

CACHE_KIB = 32 << 10  # of the temporary file in memory
TEXTS = 64  # shingles kept of texts that were compared lately, up to 100,000 numbers each
WINDOW = 200  # pages that one is compared with among those that share a key
_ALL_BITS = (1 << 64) - 1
PER_KEY = 16  # pages that should share a key at most: with more pages, keys have more bits

_SCHEMA = """
CREATE TABLE page (id INTEGER PRIMARY KEY, key INTEGER, content INTEGER, simhash INTEGER);
CREATE TABLE distinct_text (id INTEGER PRIMARY KEY, simhash INTEGER);
CREATE TABLE candidate (one INTEGER, other INTEGER, PRIMARY KEY (one, other)) WITHOUT ROWID;
CREATE TABLE member (id INTEGER PRIMARY KEY, cluster INTEGER);
"""
_DISTINCT = """
INSERT INTO distinct_text SELECT min(id), simhash FROM page GROUP BY content
"""
_SAME_SIMHASH = """
INSERT OR IGNORE INTO candidate
SELECT first, id FROM (
    SELECT id, simhash, min(id) OVER (PARTITION BY simhash) AS first FROM distinct_text
) WHERE id > first AND simhash <> 0
"""
# A page's cluster is that of the first page with its text; both are ids, the smaller the earlier.
_ALL = """
SELECT page.key, head.key, page.id = cluster, page.id <> text FROM (
    SELECT copy.id AS id, text, coalesce(member.cluster, text) AS cluster,
        member.cluster IS NOT NULL OR copies > 1 AS listed
    FROM (SELECT id, min(id) OVER same AS text, count(*) OVER same AS copies FROM page
        WINDOW same AS (PARTITION BY content)) AS copy
    LEFT JOIN member ON member.id = text
) JOIN page USING (id) JOIN page AS head ON head.id = cluster
WHERE listed ORDER BY page.id
"""


class PageText(NamedTuple):
    """A page as it comes in; the key is the caller's."""

    key: int
    content_hash: int
    simhash: int


class Clustered(NamedTuple):
    """A page that has duplicates."""

    key: int
    cluster: int  # the key of the first page of its cluster
    kind: str  # FIRST, EXACT copy of an earlier page, or SIMILAR to one


def clusters(
    pages: Iterable[PageText], text_of: Callable[[int], str], folder: Path | None = None
) -> Iterator[Clustered]:
    """Every page that has duplicates, in the order in which the pages came.

    Pages without text are to be left out. `folder`: for the temporary file, about 100 bytes a page.
    """
    with tempfile.TemporaryDirectory(prefix="lycosa-duplicates-", dir=folder) as place:
        db = sqlite3.connect(Path(place) / "pages.sqlite", isolation_level=None)
        try:
            yield from _clusters(db, pages, text_of)
        finally:
            db.close()


def _clusters(
    db: sqlite3.Connection, pages: Iterable[PageText], text_of: Callable[[int], str]
) -> Iterator[Clustered]:
    for pragma in ("journal_mode=OFF", "synchronous=OFF", "temp_store=FILE"):
        db.execute(f"PRAGMA {pragma}")
    db.execute(f"PRAGMA cache_size=-{CACHE_KIB}")
    db.executescript(_SCHEMA)
    db.execute("BEGIN")
    db.executemany("INSERT INTO page (key, content, simhash) VALUES (?, ?, ?)", pages)
    db.execute("CREATE INDEX by_content ON page (content)")
    db.execute(_DISTINCT)
    db.execute(_SAME_SIMHASH)
    _find_candidates(db)
    _confirm(db, text_of)
    for key, head, is_head, is_copy in db.execute(_ALL):
        yield Clustered(key, head, FIRST if is_head else EXACT if is_copy else SIMILAR)


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


def _find_candidates(db: sqlite3.Connection) -> None:
    """One sort of all simhashes for each mask: those that agree in it lie together."""
    (count,) = db.execute("SELECT count(DISTINCT simhash) FROM distinct_text").fetchone()
    found = db.cursor()
    for mask in masks(count):
        signed = mask - (1 << 64) if mask >> 63 else mask
        rows = db.execute(
            "SELECT simhash & ?1 AS band, simhash, min(id) FROM distinct_text WHERE simhash <> 0"
            " GROUP BY band, simhash",
            (signed,),
        )
        found.executemany("INSERT OR IGNORE INTO candidate VALUES (?, ?)", near_pairs(rows))


def near_pairs(rows: Iterable[tuple[int, int, int]]) -> Iterator[tuple[int, int]]:
    """The ids of those rows (key, simhash, id), sorted, that share a key and are near; the smaller
    id first. However many share a key, one is compared with the WINDOW before it."""
    shared: int | None = None
    before: list[tuple[int, int]] = []
    for key, value, ident in rows:
        if key != shared:
            shared, before = key, [(value, ident)]
            continue
        for other, other_ident in before:
            if ((value ^ other) & _ALL_BITS).bit_count() <= NEAR:
                yield min(ident, other_ident), max(ident, other_ident)
        before.append((value, ident))
        if len(before) > WINDOW:
            del before[0]


# --- clusters ---


def _confirm(db: sqlite3.Connection, text_of: Callable[[int], str]) -> None:
    """Look at the texts of each pair that is not in one cluster yet."""
    union = _Union(db)
    key = "SELECT key FROM page WHERE id = ?"

    @lru_cache(TEXTS)
    def of(ident: int) -> Shingles:
        return shingles(text_of(db.execute(key, (ident,)).fetchone()[0]))

    def common(one: int, other: int) -> float:
        return jaccard(of(one), of(other))

    for one, other in db.execute("SELECT one, other FROM candidate ORDER BY one, other"):
        first, second = union.find(one), union.find(other)
        if first == second or common(one, other) < NEAR_DUPLICATE:
            continue
        # Of a chain of small differences the ends may have nothing in common.
        if (first, second) == (one, other) or common(first, second) >= DRIFTED:
            union.join(first, second)


class _Union:
    """Which cluster a text is in, named by the id of its first page."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        db.execute("CREATE INDEX by_cluster ON member (cluster)")

    def find(self, ident: int) -> int:
        found = self._db.execute("SELECT cluster FROM member WHERE id = ?", (ident,)).fetchone()
        return int(found[0]) if found else ident

    def join(self, one: int, other: int) -> None:
        first, second = sorted((one, other))
        execute = self._db.execute
        execute("UPDATE member SET cluster = ? WHERE cluster = ?", (first, second))
        for ident in (first, second):
            execute("INSERT OR REPLACE INTO member VALUES (?, ?)", (ident, first))
