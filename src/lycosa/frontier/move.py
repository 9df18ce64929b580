"""Moves a stopped crawl from SQLite to PostgreSQL, with nothing lost.

Each chunk of a table and the place it ends at are one transaction, so a move that was cut off
goes on where it was. The settings come last: until then the server holds no crawl that anybody
could join. Times are shifted by the difference of the two clocks: in logs, which are copied as they
are, by shifting the moment from which they count.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import orjson
import psycopg

from lycosa.errors import StoreError, UserError
from lycosa.frontier.columns import PAGES
from lycosa.frontier.keys import EPOCH_KEY, NEWEST_PAGE_KEY
from lycosa.frontier.log.domain_log import owner_of
from lycosa.frontier.postgres.connection import Connection, connect, mapped, parsed, place
from lycosa.frontier.postgres.migrating import migrate
from lycosa.frontier.sqlite.logs import NUMBERS

CHUNK = 20_000
LARGE_ROWS = 500  # where a row may have a quarter of a megabyte
BEGUN, SHIFT = "migrate:source", "migrate:shift"
REAL_TIME = 1 << 40  # smaller times are the ranks of seeds
MovedRow = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """One table: its key, by which it is read in order, and its columns with their types."""

    name: str
    key: tuple[str, ...]
    columns: dict[str, str]
    most: int = 1_000_000  # rows that are moved at once

    def page(self, after: bool) -> str:
        """The query for the rows after a key."""
        keys = ", ".join(self.key)
        where = f"WHERE ({keys}) > ({', '.join('?' * len(self.key))})" if after else ""
        return f"SELECT {', '.join(self.columns)} FROM {self.name} {where} ORDER BY {keys} LIMIT ?"


def _columns(**groups: str) -> dict[str, str]:
    return {name: kind for kind, names in groups.items() for name in names.split()}


TABLES = (
    Table("exclusions", ("line",), _columns(text="line")),
    Table(
        "engines",
        ("id",),
        _columns(
            int8="id pid started_ms renewed_ms lease_until last_batch pages queued domains",
            text="host outcomes stats",
            bool="dead",
        ),
    ),
    Table(
        "domains",
        ("id",),
        _columns(
            int8="id polite_at wait_at not_before delay_ms queued pages",
            int4="failures",
            bool="idle seeded",
            text="name",
        ),
    ),
    Table("ready", ("ready_at", "id"), _columns(int8="ready_at id", int4="more_pages more_queued")),
    Table("held", ("id",), _columns(int8="id engine_id", int4="more_pages more_queued")),
    Table(
        "origins",
        ("domain_id", "origin"),
        _columns(
            int8="domain_id fetched_ms retry_ms asked_ms",
            int4="status failures hops",
            text="origin reason detail aim",
            bytea="rules",
        ),
    ),
    Table(
        "answers",
        ("domain_id", "fp"),
        _columns(int8="domain_id fp fetched_ms", int4="status", text="url location", bytea="rules"),
    ),
    Table("dictionaries", ("number",), _columns(int8="number", bytea="data")),
    Table("log", ("key",), _columns(int8="key", bytea="data"), LARGE_ROWS),
    Table("inbox", ("key",), _columns(int8="key", int4="links", bytea="data"), LARGE_ROWS),
    Table(
        "damaged",
        ("domain_id", "key", "found_ms"),
        _columns(int8="domain_id key found_ms", text="why", bytea="data"),
        LARGE_ROWS,
    ),
    Table("pages", ("id",), {"id": "int8", **PAGES}),
    Table(
        "left_out",
        ("id",),
        _columns(int8="id domain_id fp", int4="depth", int2="flags", text="url"),
    ),
    Table(
        "segments", ("kind", "id"), _columns(int8="id engine_id length", text="kind", bool="closed")
    ),
)
_TIMES = frozenset({"ready_at", "polite_at", "wait_at", "not_before", "retry_ms", "renewed_ms"})


class Move:
    """One move. `node` names the data directory, `directory` says where it is."""

    def __init__(
        self,
        source: sqlite3.Connection,
        url: str,
        node: str,
        directory: str,
        rename: Callable[[str], str],
        said: Callable[[str, int], None],
    ) -> None:
        self.source = source
        self.node = node
        self.directory = directory
        self._rename = rename
        self._said = said
        self.where = place(parsed(url))
        self.db: Connection = connect(url, "lycosa migrate")
        migrate(self.db, self.where)
        self._shift = 0

    def run(self, crawl_id: str, now_ms: int, newest_ms: int) -> dict[str, int]:
        """Move everything; returns the rows of each table, and how many URLs are queued.

        `now_ms`: the source's clock; `newest_ms`: when an engine last wrote to it.
        """
        try:
            if self._get("crawl_id") == crawl_id and self._get(BEGUN) is None:
                return self._compare()  # a move that was finished before
            self._begin(crawl_id, now_ms, newest_ms)
            for table in TABLES:
                self._move(table)
            counts = self._compare()
            self._end()
            return counts
        except psycopg.Error as error:
            raise mapped(error, self.where) from None
        finally:
            self.db.close()

    def _begin(self, crawl_id: str, now_ms: int, newest_ms: int) -> None:
        begun, source = self._get(BEGUN), f"{crawl_id} {newest_ms}"
        if begun is None and self._get("crawl_id") is not None:
            raise UserError(f"The database {self.where} holds a crawl already: name an empty one.")
        if begun not in (None, source):
            raise UserError(
                f"A move to the database {self.where} was begun, of another crawl or of this one "
                "before it went on: name an empty database."
            )
        if begun is None:
            clock = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::int8"
            shift = self.db.execute(clock).fetchall()[0][0] - now_ms
            with self.db.transaction():
                self._put({BEGUN: source, "crawl_id": crawl_id, SHIFT: shift})
        self._shift = int(self._get(SHIFT) or 0)

    def _move(self, table: Table) -> None:
        done = self._get(f"migrate:{table.name}")
        after: list[Any] = orjson.loads(done) if done else []
        moved = 0
        for chunk in self._chunks(table, after):
            with self.db.transaction():
                self._copy(table, chunk)
                last = dict(zip(table.columns, chunk[-1], strict=True))
                key = orjson.dumps([last[name] for name in table.key]).decode()
                self._put({f"migrate:{table.name}": key})
            moved += len(chunk)
            self._said(table.name, moved)

    def _chunks(self, table: Table, after: list[Any]) -> Iterator[list[MovedRow]]:
        places = [list(table.columns).index(name) for name in table.key]
        while chunk := self.source.execute(
            table.page(bool(after)), [*after, min(CHUNK, table.most)]
        ).fetchall():
            yield chunk
            after = [chunk[-1][at] for at in places]

    def _copy(self, table: Table, rows: list[MovedRow]) -> None:
        names, kinds = list(table.columns), list(table.columns.values())
        extra: MovedRow = ()
        if table.name == "engines":
            names, kinds = [*names, "node", "directory"], [*kinds, "text", "text"]
            extra = (self.node, self.directory)
        elif table.name in ("log", "damaged"):
            names, kinds, rows = self._chunks_of_logs(table, rows)
        statement = f"COPY {table.name} ({', '.join(names)}) FROM STDIN (FORMAT BINARY)"
        with self.db.cursor() as cursor, cursor.copy(statement) as copy:
            copy.set_types(kinds)
            for row in rows:
                copy.write_row((*self._converted(names, kinds, row), *extra))

    def _chunks_of_logs(
        self, table: Table, rows: list[MovedRow]
    ) -> tuple[list[str], list[str], list[MovedRow]]:
        """There the key is the domain, which a chunk itself says, and a number."""
        if table.name == "log":
            moved = [(self._owner(key, data), key & NUMBERS, data) for key, data in rows]
            return ["domain_id", "seq", "data"], ["int8", "int8", "bytea"], list(moved)
        at = list(table.columns).index("key")
        names = ["seq" if name == "key" else name for name in table.columns]
        numbered = [  # a row of `inbox` is of no domain, and keeps its key
            (*row[:at], row[at] & NUMBERS if row[0] else row[at], *row[at + 1 :]) for row in rows
        ]
        return names, list(table.columns.values()), numbered

    def _owner(self, key: int, data: bytes) -> int:
        """The domain of a chunk; of one that is damaged, a domain whose engine will find it."""
        said = owner_of(data)
        first = key & ~NUMBERS
        near = "SELECT id FROM domains WHERE id BETWEEN ? AND ? ORDER BY id <> ? LIMIT 1"
        found = self.source.execute(near, (first, first | NUMBERS, said)).fetchone()
        return first if found is None else int(found[0])

    def _converted(self, names: list[str], kinds: list[str], row: MovedRow) -> Iterator[Any]:
        for name, kind, value in zip(names, kinds, row, strict=False):
            if kind == "bool":
                yield bool(value)
            elif kind == "text":
                yield value.replace("\0", "")
            elif name in _TIMES and value > REAL_TIME:
                yield value + self._shift
            else:
                yield value

    def _compare(self) -> dict[str, int]:
        counts = {}
        for table in TABLES:
            query = f"SELECT count(*) FROM {table.name}"
            there = self.db.execute(query).fetchall()[0][0]
            here = self.source.execute(query).fetchone()[0]
            if here != there:
                raise StoreError(
                    f"The move is not complete: {table.name} has {here:,} rows in the directory "
                    f"and {there:,} on the server; empty the database and move again."
                )
            counts[table.name] = here
        total = self.source.execute("SELECT coalesce(sum(queued), 0) FROM engines").fetchone()[0]
        return {**counts, "queued": total}

    def _end(self) -> None:
        with self.db.transaction():
            # Which file it was does not matter there.
            settings = "SELECT key, value FROM crawl WHERE key <> 'original'"
            stored = self.source.execute(settings).fetchall()
            given = {"pages": int(dict(stored).get(NEWEST_PAGE_KEY, 0))}  # and taken back
            columns = {"engines": "id", "pages": "id", "left_out": "id", "log": "seq"}
            for table, column in columns.items():
                sequence = f"pg_get_serial_sequence('{table}', '{column}')"
                top = f"greatest(1, {given.get(table, 0)}, max({column}))"
                self.db.execute(f"SELECT setval({sequence}, {top}) FROM {table}".encode())
            self._put({self._rename(key): value for key, value in stored})
            self._put({EPOCH_KEY: int(dict(stored).get(EPOCH_KEY, 0)) + self._shift})
            self.db.execute("DELETE FROM crawl WHERE key >= 'migrate:' AND key < 'migrate;'")
        self.db.execute("ANALYZE")

    def _get(self, key: str) -> str | None:
        row = self.db.execute("SELECT value FROM crawl WHERE key = %s", (key,)).fetchone()
        return None if row is None else row[0]

    def _put(self, settings: dict[str, Any]) -> None:
        for key, value in settings.items():
            self.db.execute(
                "INSERT INTO crawl (key, value) VALUES (%s, %s)"
                " ON CONFLICT (key) DO UPDATE SET value = excluded.value",
                (key, str(value)),
            )
