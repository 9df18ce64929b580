"""The table of pages in a file of SQLite."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path

from lycosa.frontier import queries
from lycosa.frontier.open import DATABASE
from lycosa.frontier.rules import StoreRules
from lycosa.frontier.sqlite.connection import connect, migrate
from lycosa.frontier.sqlite.store import SqliteStore
from page_table.figures import Spent
from page_table.rows import Key, Row
from stores.engine import own_io
from stores.server import empty_cache

SQL = queries.load("sqlite")
INDEX = "CREATE UNIQUE INDEX pages_by_url ON pages (domain_id, fp)"
# All is read of what is asked for, so the table, which is nearly all else, is not. Of a whole tree,
# `pageno` is how many pages it has.
SIZES = """
SELECT (page_count - freelist_count) * page_size,
    (SELECT coalesce(sum(pageno), 0) FROM dbstat('main', 1) WHERE name = 'pages_by_url') * page_size
FROM pragma_page_count, pragma_freelist_count, pragma_page_size
"""
MOST = 1000  # of a domain


class SqliteTable:
    """Written by the store's own statements over the store's own connection."""

    kind = "sqlite"

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self._path = folder, folder / DATABASE
        migrate(connect(self._path, "rwc"))
        self._open()

    def _open(self) -> None:
        self._store = SqliteStore(self._path, StoreRules(), lambda: time.time_ns() // 1_000_000)
        self._db = self._store.db

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
        self._db.executemany(SQL["page_insert"], rows)
        self._db.execute("COMMIT")

    def index(self, on: bool) -> None:
        self._db.execute(INDEX if on else "DROP INDEX pages_by_url")

    def age(self, rows: Iterable[Row]) -> None:
        self.fill(rows)

    def sizes(self) -> tuple[int, int]:
        whole, index = self._db.execute(SIZES).fetchone()
        return whole - index, index

    def settle(self) -> None:
        self.close()
        self._open()  # with the settings of a crawl
        self.checkpoint()
        os.sync()
        for query in ("SELECT count(domain_id) FROM pages", "SELECT max(id) FROM pages"):
            self._db.execute(query).fetchone()  # the first one reads the index, if there is one

    def images(self, on: bool) -> bool:
        return False

    def chill(self, whole: bool) -> None:
        self.checkpoint()
        self.close()
        empty_cache(self.folder, whole)
        self._open()

    def commit(self, rows: list[Row]) -> None:
        with self._store.transaction(None, self._store.shorten_log):
            made = self._store.write_rows("page_insert", rows)
        assert made == len(rows)

    def checkpoint(self) -> None:
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

    def by_url(self, key: Key) -> bool:
        keys = {"id": key[1], "fp": key[2]}
        return self._db.execute(SQL["page_by_url"], keys).fetchone() is not None

    def by_id(self, key: Key) -> bool:
        found = self._db.execute("SELECT * FROM pages WHERE id = ?", key[:1]).fetchone()
        return found is not None and found[1:3] == key[1:]

    def of_domain(self, key: Key) -> int:
        rows = self._db.execute(SQL["domain_counts"], {"id": key[1], "most": MOST}).fetchall()
        return sum(row[3] for row in rows)

    def scan(self, rows: int) -> None:
        query = "SELECT max(id) FROM pages WHERE id <= ? AND +domain_id = 1 AND +fp = 1"
        self._db.execute(query, (rows,)).fetchone()

    def spent(self) -> Spent:
        io = own_io()
        return Spent(client=time.process_time(), written=io["wchar"], reads=io["syscr"],
                     read=io["read_bytes"])  # fmt: skip

    def close(self) -> None:
        self._db.close()
