"""The table of pages on a PostgreSQL server of our own."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import psycopg

from lycosa.frontier import queries
from lycosa.frontier.columns import PAGES
from lycosa.frontier.postgres.connection import blobs, int8s, texts
from lycosa.frontier.postgres.store import PostgresStore
from lycosa.frontier.rules import StoreRules
from lycosa.frontier.survey import HIGHEST
from page_table.figures import Spent
from page_table.rows import Key, Row
from stores.server import Server, empty_cache

SQL = queries.load("postgres")
INDEX = "CREATE UNIQUE INDEX pages_by_url ON pages (domain_id, fp) WITH (fillfactor = {})"
AGED = 70  # per cent of an index's pages that random inserts leave filled
LOOSE = 90  # the server's own default, with which lycosa makes it
SIZES = """
SELECT pg_total_relation_size('pages') - coalesce(pg_relation_size(to_regclass('pages_by_url')), 0),
    coalesce(pg_relation_size(to_regclass('pages_by_url')), 0)
"""
WARM = "SELECT count(*) FROM pages WHERE domain_id > -9223372036854775807"
COPY = "COPY pages ({}) FROM STDIN (FREEZE)"
PIECE = 2000  # rows handed over at once
MOST = 1000  # of a domain
LOADING = {"wal_level": "minimal", "max_wal_senders": "0", "max_wal_size": "4GB"}
CRAWLING = {"wal_level": "replica", "max_wal_senders": "10", "max_wal_size": "16GB"}
_PACK: dict[str, Callable[[Any], Any]] = {"text": texts, "bytea": blobs}


class PostgresTable:
    """Written by the store's own statements over the store's own connection."""

    kind = "postgres"
    structures: tuple[str, ...] = ("index",)

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._server = Server(folder)
        self._store = PostgresStore(self._server.url, StoreRules(), create=True)
        self._has_index = True

    def _restart(self, settings: dict[str, str]) -> None:
        self._store.close()
        for name, value in settings.items():
            self._server.set(name, value)
        self._server.restart()
        self._open()

    def _open(self) -> None:
        self._store = PostgresStore(self._server.url, StoreRules())

    def fill(self, rows: Iterable[Row]) -> None:
        self._restart(LOADING)  # what a transaction loads into a table that it emptied needs no log
        with psycopg.connect(self._server.url) as db:
            db.execute("TRUNCATE pages RESTART IDENTITY")
            self._copy(db, rows, COPY)
        self._restart(CRAWLING)

    def _copy(self, db: psycopg.Connection[Any], rows: Iterable[Row], command: str) -> None:
        listed = ", ".join(PAGES)
        with db.cursor().copy(command.format(listed).encode()) as copy:
            lines: list[str] = []
            for row in rows:
                lines.append("\t".join([
                    each if isinstance(each, str) else
                    str(each) if isinstance(each, int) else "\\\\x" + each.hex()
                    for each in row
                ]))  # fmt: skip
                if len(lines) == PIECE:
                    copy.write("\n".join(lines) + "\n")
                    lines.clear()
            if lines:
                copy.write("\n".join(lines) + "\n")

    def build(self, structure: str) -> None:
        self._has_index = bool(structure)
        if not structure:
            self._run("DROP INDEX pages_by_url")
            return
        self._run(
            "SET maintenance_work_mem = '2GB'", INDEX.format(AGED),
            f"ALTER INDEX pages_by_url SET (fillfactor = {LOOSE})", "ANALYZE pages",
        )  # fmt: skip

    def age(self, rows: Iterable[Row]) -> None:
        with psycopg.connect(self._server.url) as db:
            self._copy(db, rows, COPY.replace(" (FREEZE)", ""))

    def _run(self, *commands: str) -> None:
        """By a connection that may take as long as it takes: the store's may not."""
        with psycopg.connect(self._server.url, autocommit=True) as db:
            for command in commands:
                db.execute(command.encode())

    def sizes(self) -> tuple[int, int]:
        table, index = self._row(SIZES)
        return int(table), int(index)

    def _row(self, query: str, **values: Any) -> Any:
        return self._store.db.execute(query.encode(), values or None).fetchone()

    def settle(self) -> None:
        self.checkpoint()
        if self._has_index:
            self._run("SET enable_seqscan = off", "SET enable_bitmapscan = off", WARM)

    def images(self, on: bool) -> bool:
        self._server.set("full_page_writes", "on" if on else "off")
        time.sleep(0.3)  # until all its processes have heard of it
        return True

    def chill(self, whole: bool) -> None:
        self.checkpoint()
        self._store.close()
        self._server.stop()
        empty_cache(self.folder, whole)
        self._server.start()
        self._open()

    def commit(self, rows: list[Row]) -> None:
        columns = zip(*sorted(rows), strict=True)
        arrays = {
            name: _PACK.get(kind, int8s)(values)
            for (name, kind), values in zip(PAGES.items(), columns, strict=True)
        }
        query = SQL["page_insert"]
        if not self._has_index:
            query = query.partition("ON CONFLICT")[0] + " RETURNING domain_id, fp"

        def write(_now: int) -> None:
            made = self._store.db.execute(query.encode(), arrays, binary=True).fetchall()
            assert len(made) == len(rows)

        self._store.transaction(write)

    def checkpoint(self) -> None:
        self._run("CHECKPOINT")

    def by_url(self, key: Key) -> bool:
        return self._row(SQL["page_by_url"], id=key[1], fp=key[2]) is not None

    def by_id(self, key: Key) -> bool:
        found = self._row("SELECT * FROM pages WHERE id = %(id)s", id=key[0])
        return found is not None and found[1:3] == key[1:]

    def of_domain(self, key: Key) -> int:
        query = SQL["domain_counts"].encode()
        rows = self._store.db.execute(
            query, {"id": key[1], "most": MOST, "highest": HIGHEST}
        ).fetchall()
        return int(sum(row[3] for row in rows))

    def scan(self, rows: int) -> None:
        self._run(f"SELECT max(id) FROM pages WHERE id <= {rows} AND domain_id + 0 = 1 AND fp = 1")

    def spent(self) -> Spent:
        self._row("SELECT pg_stat_force_next_flush()")
        written, read = self._server.io()
        return Spent(client=time.process_time(), server=self._server.cpu(), written=written,
                     log=self._server.wal(), reads=self._server.blocks(), read=read)  # fmt: skip

    def close(self) -> None:
        self._store.close()
        self._server.stop()
