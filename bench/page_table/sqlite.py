"""The table of pages in a file of SQLite."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path

from lycosa.frontier import queries
from lycosa.frontier.columns import PAGES
from lycosa.frontier.open import DATABASE
from lycosa.frontier.rules import StoreRules
from lycosa.frontier.sqlite.connection import connect, migrate
from lycosa.frontier.sqlite.pages import MANY, ROLL, Pages
from lycosa.frontier.sqlite.store import SqliteStore
from lycosa.frontier.survey import HIGHEST
from page_table.figures import Spent
from page_table.rows import Key, Row
from stores.engine import own_io
from stores.server import empty_cache

SQL = queries.load("sqlite")
DROP = "DROP INDEX IF EXISTS pages_by_url"
INDEX = "CREATE UNIQUE INDEX pages_by_url ON pages (domain_id, fp)"
# All is read of what is asked for, so the table, which is nearly all else, is not. Of a whole tree,
# `pageno` is how many pages it has.
# All is read of what is asked for, so the table, which is nearly all else, is not. Of a whole tree,
# `pageno` is how many pages it has.
SIZES = """
SELECT (page_count - freelist_count) * page_size,
    (SELECT coalesce(sum(pageno), 0) FROM dbstat('main', 1)
        WHERE name IN ('pages_by_url', 'page_keys')) * page_size
FROM pragma_page_count, pragma_freelist_count, pragma_page_size
"""
BULK = f"INSERT INTO pages ({', '.join(PAGES)}) VALUES ({', '.join('?' * len(PAGES))})"
BY_INDEX = "SELECT * FROM pages WHERE domain_id = :id AND fp = :fp"
COUNTS_BY_INDEX = """
SELECT outcome, language, label, count(*), sum(status > 0) FROM pages
WHERE domain_id = :id AND fp <= :highest GROUP BY 1, 2, 3 LIMIT :most
"""
MOST = 1000  # of a domain


class SqliteTable:
    """Written by the store's own statements over the store's own connection."""

    kind = "sqlite"
    structures: tuple[str, ...] = ("rolls", "index")

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self._path, self._structure = folder, folder / DATABASE, "rolls"
        migrate(connect(self._path, "rwc"))
        self._open()

    def _open(self) -> None:
        self._store = SqliteStore(self._path, StoreRules(), lambda: time.time_ns() // 1_000_000)
        self._db, self._pages = self._store.db, Pages(self._store)

    def fill(self, rows: Iterable[Row]) -> None:
        # A file that is thrown away when this fails needs no log; it shall be about as fast as
        # rows are made up.
        os.environ["SQLITE_TMPDIR"] = str(self.folder)  # what is sorted may not fit into memory
        for name, value in (
            ("journal_mode", "OFF"), ("synchronous", "OFF"), ("temp_store", "FILE"),
            ("cache_size", "-2000000"),
        ):  # fmt: skip
            self._db.execute(f"PRAGMA {name} = {value}")
        self._db.execute("BEGIN")
        self._db.executemany(BULK, rows)
        self._db.execute("COMMIT")

    def build(self, structure: str) -> None:
        self._structure = structure
        for gone in ("DELETE FROM page_rolls", "DELETE FROM page_keys", DROP):
            self._db.execute(gone)
        if structure == "index":
            self._db.execute(INDEX)
        elif structure == "rolls":
            self._sort()

    def _sort(self) -> None:
        """As a crawl of so many pages leaves them: some large rolls, and as many small ones as
        there may be, so that a merge begins with the next."""
        (newest,) = self._db.execute("SELECT coalesce(max(id), 0) FROM pages").fetchone()
        small, last = (MANY - 1) * ROLL, 0
        while last < newest - 1:
            large = newest - 1 - last > small + MANY * ROLL
            after, last = last, min(last + (MANY * ROLL if large else ROLL), newest - 1)
            values = {"level": int(large), "last": last}
            (roll,) = self._db.execute(SQL["roll_insert"], values).fetchone()
            self._db.execute(SQL["roll_fill"], {"roll": roll, "after": after, "last": last})

    def age(self, rows: Iterable[Row]) -> None:
        if self._structure == "index":
            self.fill(rows)

    def sizes(self) -> tuple[int, int]:
        whole, index = self._db.execute(SIZES).fetchone()
        return whole - index, index

    def settle(self) -> None:
        self.close()
        self._open()  # with the settings of a crawl
        self.checkpoint()
        os.sync()
        table = "page_keys" if self._structure == "rolls" else "pages"
        for query in (f"SELECT count(domain_id) FROM {table}", "SELECT max(id) FROM pages"):
            self._db.execute(query).fetchone()  # the first one reads what finds URLs

    def images(self, on: bool) -> bool:
        return False

    def chill(self, whole: bool) -> None:
        self.checkpoint()
        self.close()
        empty_cache(self.folder, whole)
        self._open()

    def commit(self, rows: list[Row]) -> None:
        with self._store.transaction(None, self._store.shorten_log):
            if self._structure == "rolls":
                self._pages.write(rows)
            else:
                self._store.write_rows("page_insert", [(None, *row) for row in rows])

    def checkpoint(self) -> None:
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

    def by_url(self, key: Key) -> bool:
        keys = {"id": key[1], "fp": key[2]}
        query = SQL["page_by_url"] if self._structure == "rolls" else BY_INDEX
        return self._db.execute(query, keys).fetchone() is not None

    def by_id(self, key: Key) -> bool:
        found = self._db.execute("SELECT * FROM pages WHERE id = ?", key[:1]).fetchone()
        return found is not None and found[1:3] == key[1:]

    def of_domain(self, key: Key) -> int:
        values = {"id": key[1], "most": MOST, "highest": HIGHEST}
        query = SQL["domain_counts"] if self._structure == "rolls" else COUNTS_BY_INDEX
        return sum(row[3] for row in self._db.execute(query, values).fetchall())

    def scan(self, rows: int) -> None:
        query = "SELECT max(id) FROM pages WHERE id <= ? AND +domain_id = 1 AND +fp = 1"
        self._db.execute(query, (rows,)).fetchone()

    def spent(self) -> Spent:
        io = own_io()
        return Spent(client=time.process_time(), written=io["wchar"], reads=io["syscr"],
                     read=io["read_bytes"])  # fmt: skip

    def close(self) -> None:
        self._db.close()
