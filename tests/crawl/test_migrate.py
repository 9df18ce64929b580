"""A half-done crawl moves from SQLite to PostgreSQL and ends there as it would have."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import psycopg
import pytest

from lycosa.frontier import move
from lycosa.frontier.protocol import StoreRules
from lycosa.frontier.sqlite.frontier import SqliteFrontier
from lycosa.simweb.serve import SimWeb
from support.cluster import DELAY, SHORT, SPEC, Cluster
from support.program import Crawl, lycosa, wait_for


def stored(crawl: Crawl) -> int:
    try:
        return int(str(crawl.rows("SELECT count(*) FROM pages")[0][0]))
    except sqlite3.Error:
        return 0


def test_a_crawl_moves_and_goes_on(
    tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with SimWeb(SPEC, tmp_path / "log") as web:
        cluster = Cluster(web, tmp_path, postgres_url, 1)
        before = Crawl(web, cluster.nodes[0].root, DELAY, *SHORT)
        process = before.start()
        wait_for(lambda: stored(before) > 60)
        process.kill()  # not even stopped in order
        process.wait()
        interrupt(before, postgres_url, monkeypatch)
        words = ("migrate", "--from", before.data, "--to", postgres_url)
        done = lycosa(*words)
        assert done.returncode == 0, done.stderr
        assert "Go on with" in done.stdout
        again = lycosa(*words)
        assert again.returncode == 2  # there is nothing left to move
        refused = lycosa("crawl", "--resume", "--data-dir", before.data)
        assert refused.returncode == 2
        cluster.finish(cluster.start(0))
        cluster.check()


def interrupt(crawl: Crawl, store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A first try is cut off in the middle of a table."""
    from lycosa.commands.migrate import _move

    wait_for(lambda: not crawl.engines_alive())
    count = 0

    def stop(table: str, rows: int) -> None:
        nonlocal count
        count += 1
        if count == 7:
            raise KeyboardInterrupt

    monkeypatch.setattr(move, "CHUNK", 50)
    monkeypatch.setattr("lycosa.commands.migrate._progress", stop)
    with pytest.raises(KeyboardInterrupt):
        _move(crawl.data, store)
    monkeypatch.undo()
    looked = lycosa("crawl", "--resume", "--store", store, "--data-dir", crawl.root / "other")
    assert looked.returncode == 2  # half a crawl is none
    with psycopg.connect(store) as db:
        rows = db.execute("SELECT count(*) FROM domains").fetchall()[0][0]
    assert rows > 0


def test_a_database_with_a_crawl_is_refused(tmp_path: Path, postgres_url: str) -> None:
    for name in ("one", "two"):
        data = tmp_path / name
        make_crawl(data)
        done = lycosa("migrate", "--from", data, "--to", postgres_url)
        assert done.returncode == (0 if name == "one" else 2), done.stderr
    assert "holds a crawl already" in done.stderr
    assert (data / "crawl.sqlite").exists()


def make_crawl(data: Path) -> None:
    from lycosa.node.start import create
    from lycosa.settings.values import CrawlSettings

    data.mkdir()
    create(data / "crawl.sqlite", CrawlSettings(email="tests@lycosa.example"))


def test_every_table_and_column_moves(tmp_path: Path) -> None:
    """But the settings, which come last, the slots of errands: none is under way, and the history:
    on SQLite it is in files."""
    store = SqliteFrontier(tmp_path / "crawl.sqlite", StoreRules(), lambda: 0, create=True)
    names = {row[0] for row in store.db.execute("SELECT name FROM sqlite_master WHERE sql > ''")}
    tables = {name for name in names if not name.startswith("sqlite_") and "_by_" not in name}
    assert tables - {"crawl", "slots", "history"} == {table.name for table in move.TABLES}
    for table in move.TABLES:
        rows = store.db.execute(f"SELECT name FROM pragma_table_info('{table.name}')").fetchall()
        assert {row[0] for row in rows} == set(table.columns), table.name
    store.close()
