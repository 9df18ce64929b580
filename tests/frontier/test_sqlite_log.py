"""SQLite's log stays short, whoever reads and writes."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from helpers import batch

from lycosa.frontier.protocol import StoreRules
from lycosa.frontier.sqlite import connection
from lycosa.frontier.sqlite import store as sqlite_store
from lycosa.frontier.sqlite.frontier import SqliteFrontier
from support.made import link, noise

LONG = 2 << 20
URLS = [f"/{n}-{noise(n)}" for n in range(400)]  # half a megabyte of them, packed


class Store(SqliteFrontier):
    now = 1_000_000  # ms


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setattr(sqlite_store, "LONG_LOG", LONG)
    monkeypatch.setattr(connection, "CHECKPOINT_PAGES", 100)
    monkeypatch.setattr(connection, "LOG_BYTES", LONG // 2)
    made = Store(tmp_path / "crawl.sqlite", StoreRules(), lambda: made.now, create=True)
    yield made
    made.close()


@contextmanager
def snapshot(path: Path) -> Iterator[None]:
    """Somebody reads."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("BEGIN")
    db.execute("SELECT count(*) FROM engines").fetchone()
    try:
        yield
    finally:
        db.close()


def commit(store: Store, engine_id: int, number: int) -> None:
    links = [link(f"https://d{number}.test{path}", 1) for path in URLS]
    store.commit(engine_id, batch(number, links=links))


def log_bytes(root: Path) -> int:
    return (root / "crawl.sqlite-wal").stat().st_size


def patience_ms(store: Store) -> int:
    found: int = store.db.execute("PRAGMA busy_timeout").fetchone()[0]
    return found


def test_it_is_begun_anew_although_there_is_always_a_reader(store: Store, tmp_path: Path) -> None:
    """Not at every try: readers that all use one mark of SQLite's can keep it busy."""
    engine_id = store.register("host", 1)
    ended = threading.Event()
    first = threading.Barrier(3)

    def read(offset: float) -> None:
        """Two of these overlap all the time, as engines do."""
        first.wait()
        time.sleep(offset)
        while not ended.is_set():
            with snapshot(tmp_path / "crawl.sqlite"):
                time.sleep(0.06)

    readers = [threading.Thread(target=read, args=(offset,)) for offset in (0.0, 0.03)]
    for reader in readers:
        reader.start()
    first.wait()
    found = []
    try:
        for number in range(1, 31):
            store.now += sqlite_store.LOG_AGAIN_MS
            commit(store, engine_id, number)
            found.append(log_bytes(tmp_path))
    finally:
        ended.set()
        for reader in readers:
            reader.join()
    assert max(found) < 12 * LONG, found  # 22 if it is never begun anew
    assert patience_ms(store) == connection.BUSY_MS


def test_a_reader_who_stays_holds_up_few_commits(store: Store, tmp_path: Path) -> None:
    engine_id = store.register("host", 1)
    waits = []
    with snapshot(tmp_path / "crawl.sqlite"):
        for number in range(1, 31):
            store.now += 1000
            began = time.monotonic()
            commit(store, engine_id, number)
            waits.append(time.monotonic() - began > sqlite_store.LOG_WAIT_MS / 1000)
    assert log_bytes(tmp_path) > 4 * LONG  # nothing could be done about it
    assert sum(waits) >= 5  # every five seconds from the second one on
    assert sum(waits) <= 15, waits  # six tries, and what a loaded machine adds
    store.now += 6000
    commit(store, engine_id, 31)
    commit(store, engine_id, 32)
    assert log_bytes(tmp_path) <= 2 * LONG


ENGINE = """
import sys, time
from pathlib import Path
sys.path[:0] = sys.argv[4:]
from helpers import batch
from support.made import link, noise
from lycosa.frontier.protocol import StoreRules
from lycosa.frontier.sqlite import store as sqlite_store
from lycosa.frontier.sqlite.frontier import SqliteFrontier

sqlite_store.LONG_LOG = int(sys.argv[3])
clock = lambda: time.monotonic_ns() // 1_000_000
turns = int(sys.argv[2])
store = SqliteFrontier(Path(sys.argv[1]), StoreRules(), clock, turns=turns if turns >= 0 else None)
engine = store.register("host", 1)
sys.stdin.readline()
waits = []
for number in range(1, 61):
    links = [link(f"https://d{engine}-{number}.test/{n}-{noise(n)}", 1) for n in range(400)]
    began = time.monotonic()
    store.commit(engine, batch(number, links=links))
    waits.append(time.monotonic() - began)
print(max(waits))
"""


def test_engines_that_always_write_take_turns_and_leave_the_log_its_moment(
    store: Store, tmp_path: Path
) -> None:
    """Without turns it had 1.3 GB after three minutes: an engine that wanted to begin it anew met
    the commit or the checkpoint of the other, and gave up for five seconds."""
    turns = os.memfd_create("turns")
    script = [sys.executable, "-c", ENGINE, str(tmp_path / "crawl.sqlite")]
    words = [*script, str(turns), str(LONG), *sys.path]
    engines = [
        subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, pass_fds=(turns,)
        )
        for _ in range(2)
    ]
    os.close(turns)
    for engine in engines:
        assert engine.stdin is not None
        engine.stdin.write("go\n")
        engine.stdin.flush()
    found = [log_bytes(tmp_path)]
    while any(engine.poll() is None for engine in engines):
        found.append(log_bytes(tmp_path))
        time.sleep(0.02)
    waits = [float(engine.communicate()[0]) for engine in engines]
    assert [engine.returncode for engine in engines] == [0, 0]
    assert store.backlog()[0] == 2 * 60 * 400
    assert max(found) < 4 * LONG, max(found) / LONG  # 45 of it are written in all
    assert max(waits) < 10, waits


BUSY = """
import sys, time
from pathlib import Path
from lycosa.frontier.protocol import StoreRules
from lycosa.frontier.sqlite.frontier import SqliteFrontier

clock = lambda: time.monotonic_ns() // 1_000_000
store = SqliteFrontier(Path(sys.argv[1]), StoreRules(), clock, turns=int(sys.argv[2]))
print("ready", flush=True)
while True:
    with store.store.transaction():
        time.sleep(0.12)
"""


def test_those_without_a_turn_get_in_between_engines(store: Store, tmp_path: Path) -> None:
    """The seeds' loader, the supervisor, a command: with SQLite's own waiting, which sleeps for up
    to 0.1 s, they waited until the engines ended."""
    turns = os.memfd_create("turns")
    words = [sys.executable, "-c", BUSY, str(tmp_path / "crawl.sqlite"), str(turns)]
    engines = [subprocess.Popen(words, stdout=subprocess.PIPE, pass_fds=(turns,)) for _ in range(2)]
    os.close(turns)
    try:
        for engine in engines:
            assert engine.stdout is not None and engine.stdout.readline() == b"ready\n"
        began = time.monotonic()
        for number in range(5):
            store.put_settings({"number": number})
        assert time.monotonic() - began < 10
    finally:
        for engine in engines:
            engine.kill()
            engine.communicate()
    assert patience_ms(store) == connection.BUSY_MS


def test_a_failure_there_is_not_one_of_the_commit(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a full disk would: the log can't be copied, the commit is done."""
    engine_id = store.register("host", 1)
    monkeypatch.setattr(sqlite_store, "LONG_LOG", 0)
    store.db.execute("PRAGMA wal_autocheckpoint = 0")
    denied = []

    def authorize(action: int, name: str | None, *_: object) -> int:
        if action == sqlite3.SQLITE_PRAGMA and name == "wal_checkpoint":
            denied.append(name)
            return sqlite3.SQLITE_DENY
        return sqlite3.SQLITE_OK

    store.db.set_authorizer(authorize)
    commit(store, engine_id, 1)
    assert denied
    assert store.backlog()[0] == len(URLS)
    assert patience_ms(store) == connection.BUSY_MS
