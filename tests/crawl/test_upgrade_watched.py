"""A crawl that is being brought up to date is looked at: nobody waits or sees half of it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import psycopg
import pytest

from lycosa.frontier import queries
from lycosa.frontier.sqlite import connection
from lycosa.node.upgrade import bring_up_to_date
from support.kept_formats import kept, unpack
from support.program import lycosa, wait_for

LOOKS = (["status"], ["pages"], ["queue"], ["domains"], ["why", "https://nobody.example/"])
GATE = 4711  # of PostgreSQL's advisory locks
PATIENCE = 60


def formats(store: str) -> list[Any]:
    """The oldest, from which most has to be done, and the newest that has to be."""
    first, *_, last, _ = kept(store)
    return [pytest.param(path, id=path.name) for path in (first, last)]


def held_up(monkeypatch: pytest.MonkeyPatch, store: str, statement: str) -> None:
    """The last step of an upgrade ends with a statement that waits, before its commit."""
    steps = list(queries.migrations(store))
    steps[-1] += f"\n{statement};"
    monkeypatch.setattr(queries, "migrations", lambda dialect: steps)


def look(*where: str | Path) -> None:
    for words in LOOKS:
        done = lycosa(*words, *where, timeout=PATIENCE)
        assert done.returncode == 2, (words, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr
        [sentence] = done.stderr.strip().splitlines()
        assert "--resume" in sentence


@contextmanager
def upgrading(root: Path, store: str, let_go: Callable[[], None]) -> Iterator[None]:
    """An upgrade in another thread; it has ended well when the block is left."""
    with ThreadPoolExecutor(1) as threads:
        upgrade = threads.submit(bring_up_to_date, root, store)
        try:
            yield
            assert not upgrade.done()  # it was under way all the time
        finally:
            let_go()
        upgrade.result(PATIENCE)


@pytest.mark.parametrize("path", formats("sqlite"))
def test_a_directory_is_looked_at(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unpack(path, tmp_path)
    data = tmp_path / "data"
    waits, go = Event(), Event()

    def gate() -> None:
        waits.set()
        go.wait(5 * PATIENCE)

    real = connection.connect

    def with_gate(*words: Any) -> sqlite3.Connection:
        db = real(*words)
        db.create_function("gate", 0, gate)
        return db

    monkeypatch.setattr(connection, "connect", with_gate)
    held_up(monkeypatch, "sqlite", "SELECT gate()")
    with upgrading(data, "sqlite", go.set):
        assert waits.wait(PATIENCE)
        look("--data-dir", data)
    assert lycosa("status", "--data-dir", data).returncode == 0


@pytest.mark.parametrize("path", formats("postgres"))
def test_a_database_is_looked_at(
    path: Path, tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    unpack(path, tmp_path, postgres_url)
    data = tmp_path / "data"
    held_up(monkeypatch, "postgres", f"SELECT pg_advisory_xact_lock({GATE})")
    with closing(psycopg.connect(postgres_url, autocommit=True)) as db:
        db.execute("SELECT pg_advisory_lock(%s)", (GATE,))

        def waits() -> bool:
            asked = (
                "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objid = %s AND NOT granted"
            )
            return db.execute(asked, (GATE,)).fetchone() is not None

        def let_go() -> None:
            db.execute("SELECT pg_advisory_unlock(%s)", (GATE,))

        with upgrading(data, postgres_url, let_go):
            wait_for(waits, PATIENCE)
            look("--data-dir", data, "--store", postgres_url)
    assert lycosa("status", "--data-dir", data, "--store", postgres_url).returncode == 0
