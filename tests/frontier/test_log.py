"""SQLite's log stays short, whoever reads and writes."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from helpers import batch, link

from lycosa.frontier import StoreRules, sqlite_db, sqlite_store
from lycosa.frontier.sqlite import SqliteFrontier

LONG = 2 << 20
URLS = [f"/{n}-{'x' * 1500}" for n in range(300)]  # half a megabyte of them


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqliteFrontier]:
    monkeypatch.setattr(sqlite_store, "LONG_LOG", LONG)
    monkeypatch.setattr(sqlite_db, "CHECKPOINT_PAGES", 100)
    monkeypatch.setattr(sqlite_db, "LOG_BYTES", LONG // 2)
    made = SqliteFrontier(tmp_path / "crawl.sqlite", StoreRules(), lambda: 1_000_000, create=True)
    yield made
    made.close()


@contextmanager
def snapshot(path: Path) -> Iterator[None]:
    """Somebody reads."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("BEGIN")
    db.execute("SELECT count(*) FROM crawlers").fetchone()
    yield
    db.close()


def sizes(store: SqliteFrontier, path: Path, commits: int) -> list[int]:
    """The log's length after each of so many commits."""
    owner = store.register("host", 1)
    found = []
    for number in range(1, commits + 1):
        links = [link(f"https://d{number}.test{path}", 1) for path in URLS]
        store.commit(owner, batch(number, links=links))
        found.append(Path(f"{path}-wal").stat().st_size)
    return found


def test_it_is_begun_anew_although_there_is_always_a_reader(
    store: SqliteFrontier, tmp_path: Path
) -> None:
    path = tmp_path / "crawl.sqlite"
    ended = threading.Event()
    first = threading.Barrier(3)

    def read(offset: float) -> None:
        """Two of these overlap all the time, as engines do."""
        first.wait()
        time.sleep(offset)
        while not ended.is_set():
            with snapshot(path):
                time.sleep(0.06)

    readers = [threading.Thread(target=read, args=(offset,)) for offset in (0.0, 0.03)]
    for reader in readers:
        reader.start()
    first.wait()
    found = sizes(store, path, 40)
    ended.set()
    for reader in readers:
        reader.join()
    assert sum(found[i + 1] < found[i] for i in range(39)) >= 2, found
    assert max(found) < 8 * LONG, found


def test_a_reader_who_stays_delays_few_commits(store: SqliteFrontier, tmp_path: Path) -> None:
    path = tmp_path / "crawl.sqlite"
    waits = []
    shorten = store._shorten_log

    def timed() -> None:
        began = time.monotonic()
        shorten()
        waits.append(time.monotonic() - began)

    store._shorten_log = timed  # type: ignore[method-assign]
    with snapshot(path):
        found = sizes(store, path, 30)
    assert found == sorted(found)
    assert found[-1] > 4 * LONG  # nothing could be done about it
    assert 1 <= sum(wait > 0.15 for wait in waits) <= 5, waits
    found = sizes(store, path, 30)
    assert min(found) <= LONG  # and now it was
