"""The two stores as files: where they lie, how they are copied, what is in memory of them, and what
their disks and servers did.

Tables are not known here but by the sizes that the databases tell of all of them.
"""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import psycopg

from lycosa.frontier.protocol import DATABASE
from stores.server import SETTINGS, Server, empty_cache, warm_cache

PG_SIZES = """
SELECT relname, pg_total_relation_size(oid) FROM pg_class
WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
"""
SQLITE_SIZES = """
SELECT coalesce(s.tbl_name, d.name), sum(d.pageno) * (SELECT page_size FROM pragma_page_size)
FROM dbstat('main', 1) AS d LEFT JOIN sqlite_schema AS s ON s.name = d.name GROUP BY 1
"""  # Of a whole tree, `pageno` is how many pages it has; its bytes, `pgsize`, end at 2 GB.


@dataclass
class Done:
    """What a server did so far; of SQLite, which has none, nothing."""

    cpu: float = 0.0
    log: int = 0  # bytes of the write-ahead log
    written: int = 0  # bytes
    blocks: int = 0  # asked for and not in the server's own memory
    read: int = 0  # bytes, from the disk

    def __sub__(self, other: Done) -> Done:
        return Done(
            self.cpu - other.cpu, self.log - other.log, self.written - other.written,
            self.blocks - other.blocks, self.read - other.read,
        )  # fmt: skip


class Store(Protocol):
    """A store in a folder."""

    kind: str
    folder: Path

    @property
    def url(self) -> str:
        """As `open_frontier` takes it."""

    def start(self) -> None: ...
    def stop(self) -> None: ...
    def filling(self, on: bool) -> None:
        """It is about to be filled, or has been."""

    def done(self) -> Done: ...
    def sizes(self) -> dict[str, int]:
        """Bytes by table, indexes included."""

    def checkpoint(self) -> None:
        """Nothing is left in its log."""

    def images(self, on: bool) -> None:
        """Whether a page's first change after a checkpoint goes to the log as a whole."""

    def settle(self) -> None:
        """Nothing is left to be written, and all of it is in the system's memory."""

    def chill(self, whole: bool) -> str:
        """Nothing of it is in memory; returns how that was done."""


class SqliteStore:
    kind = "sqlite"
    url = "sqlite"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._path = folder / DATABASE

    def start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)

    def stop(self) -> None:
        pass

    def filling(self, on: bool) -> None:
        if not on:
            self.checkpoint()

    def done(self) -> Done:
        return Done()

    def sizes(self) -> dict[str, int]:
        with closing(sqlite3.connect(self._path)) as db:
            return dict(db.execute(SQLITE_SIZES))

    def checkpoint(self) -> None:
        with closing(sqlite3.connect(self._path)) as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def images(self, on: bool) -> None:
        pass

    def settle(self) -> None:
        self.checkpoint()
        warm_cache([self._path])

    def chill(self, whole: bool) -> str:
        return empty_cache(self.folder, whole)


class PostgresStore:
    kind = "postgres"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._server: Server | None = None

    @property
    def server(self) -> Server:
        assert self._server is not None, "the server was not started"
        return self._server

    @property
    def url(self) -> str:
        return self.server.url

    def start(self) -> None:
        if self._server is None:
            self._server = Server(self.folder)
        else:
            self._server.start()

    def stop(self) -> None:
        if self._server is not None:
            self._server.stop()

    def filling(self, on: bool) -> None:
        # Or the log of filling takes more than the tables.
        self.server.set("max_wal_size", "2GB" if on else SETTINGS["max_wal_size"])
        self.server.set("synchronous_commit", "off" if on else "on")
        self.images(not on)
        if not on:
            with psycopg.connect(self.url, autocommit=True) as db:
                db.execute("VACUUM ANALYZE")
                db.execute("CHECKPOINT")

    def done(self) -> Done:
        written, read = self.server.io()
        return Done(self.server.cpu(), self.server.wal(), written, self.server.blocks(), read)

    def sizes(self) -> dict[str, int]:
        with psycopg.connect(self.url, autocommit=True) as db:
            return dict(db.execute(PG_SIZES).fetchall())

    def checkpoint(self) -> None:
        with psycopg.connect(self.url, autocommit=True) as db:
            db.execute("CHECKPOINT")

    def images(self, on: bool) -> None:
        self.server.set("full_page_writes", "on" if on else "off")
        time.sleep(0.3)  # until all its processes have heard of it

    def settle(self) -> None:
        self.checkpoint()
        warm_cache([path for path in (self.folder / "data/base").rglob("*") if path.is_file()])

    def chill(self, whole: bool) -> str:
        self.stop()
        how = empty_cache(self.folder, whole)
        self.start()
        return f"restarted, {how}"


def store_in(folder: Path, kind: str) -> Store:
    return PostgresStore(folder) if kind == "postgres" else SqliteStore(folder)


def copied(store: Store, folder: Path) -> Store:
    """A copy of a store that nobody uses, not yet started."""
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run(["cp", "-a", "--reflink=auto", store.folder, folder], check=True)
    return store_in(folder, store.kind)
