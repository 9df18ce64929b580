"""A half-done crawl moves from SQLite to PostgreSQL and ends there as it would have."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import psycopg
import pytest

from lycosa.frontier import move
from lycosa.frontier.inbox import rows_of
from lycosa.frontier.postgres.frontier import PostgresFrontier
from lycosa.frontier.protocol import Batch, Deferral, Release, StoreRules
from lycosa.frontier.sqlite.frontier import SqliteFrontier
from lycosa.frontier.sqlite.logs import NUMBERS, first_key
from lycosa.frontier.states import waits_until
from lycosa.simweb.serve import SimWeb
from lycosa.urls.domains import domain_id
from support.cluster import DELAY, SHORT, SPEC, Cluster
from support.logs import logs_of
from support.made import link, page_of
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
    """But the settings, which come last, the slots of errands: none is under way, the history: on
    SQLite it is in files, and the keys of pages: a server has an index."""
    store = SqliteFrontier(tmp_path / "crawl.sqlite", StoreRules(), lambda: 0, create=True)
    names = {row[0] for row in store.db.execute("SELECT name FROM sqlite_master WHERE sql > ''")}
    tables = {name for name in names if not name.startswith("sqlite_") and "_by_" not in name} - {
        "sleepers"
    }
    left = {"crawl", "slots", "history", "page_rolls", "page_keys"}
    assert tables - left == {table.name for table in move.TABLES}
    for table in move.TABLES:
        rows = store.db.execute(f"SELECT name FROM pragma_table_info('{table.name}')").fetchall()
        assert {row[0] for row in rows} == set(table.columns), table.name
    store.close()


def test_the_id_of_a_page_that_was_taken_back_is_not_given_again(
    tmp_path: Path, postgres_url: str
) -> None:
    here = SqliteFrontier(tmp_path / "crawl.sqlite", StoreRules(), lambda: 0, create=True)
    here.put_settings({"settings": "{}", "crawl_id": "x"})
    here.add([link(f"https://a.test/{n}") for n in range(3)])
    engine_id = here.register("host", 1)
    (lease,) = here.lease(engine_id, 1)
    pages = [page_of(url, "connect", status=0) for url in lease.urls]
    here.commit(engine_id, Batch(1, pages=pages, released=[Release(lease.domain_id, 0)]))
    here.requeue([(lease.domain_id, pages[2].fp)])
    move.Move(here.db, postgres_url, "n", "/d", str, lambda table, rows: None).run("x", 0, 0)
    there = PostgresFrontier(postgres_url, StoreRules())
    engine_id = there.register("host", 1)
    (lease,) = there.lease(engine_id, 1)
    again = [page_of(lease.urls[0])]
    there.commit(engine_id, Batch(1, pages=again, released=[Release(lease.domain_id, 0)]))
    assert there.db.execute("SELECT id FROM pages ORDER BY id").fetchall() == [(1,), (2,), (4,)]
    there.close()
    here.close()


def test_logs_move_as_they_are_and_their_times_by_the_clock(
    tmp_path: Path, postgres_url: str
) -> None:
    """Also chunks that can't be read: the engine there that meets one sets it aside."""
    here_ms = 1_700_000_000_000
    here = SqliteFrontier(tmp_path / "crawl.sqlite", StoreRules(), lambda: here_ms, create=True)
    here.put_settings({"settings": "{}", "crawl_id": "x"})
    here.add([link(f"https://{name}.test/{n}") for name in "abc" for n in range(2)], rank=0)
    engine_id = here.register("host", 1)
    lease, *others = here.lease(engine_id, 3)
    wait = Deferral(lease.domain_id, lease.urls[0], here_ms + 3_600_000, 2)
    back = [Release(each.domain_id, here_ms) for each in (lease, *others)]
    here.commit(engine_id, Batch(1, deferred=[wait], released=back))
    (row,) = rows_of([link("https://d.test/", 1)], 1, (engine_id, 2), here_ms - 5_000)
    here.db.execute("INSERT INTO inbox VALUES (?, ?, ?)", row)
    broken = first_key(domain_id("c.test"))
    here.db.execute("UPDATE log SET data = substr(data, 1, 60) WHERE key = ?", (broken,))
    here.db.execute("INSERT INTO damaged VALUES (1, ?, 5, 'why', x'00')", (broken,))
    before = {ident: log.counts() for ident, log in logs_of(here).items()}
    moving = move.Move(here.db, postgres_url, "n", "/d", str, lambda table, rows: None)
    counts = moving.run("x", here_ms, here_ms)
    assert (counts["queued"], counts["damaged"]) == (6, 1)
    there = PostgresFrontier(postgres_url, StoreRules())
    assert there.db.execute("SELECT domain_id, seq FROM damaged").fetchall() == [
        (1, broken & NUMBERS)
    ]
    assert {ident: log.counts() for ident, log in logs_of(there).items()} == before
    (waiting,) = [
        waits_until(url.order)
        for url in logs_of(there)[lease.domain_id].queued()
        if waits_until(url.order)
    ]
    assert abs(waiting - there.now_ms() - 3_600_000) < 60_000
    heir = there.register("host", 2)
    leases = there.lease(heir, 3)
    assert {each.name: len(each.urls) for each in leases} == {"a.test": 1, "b.test": 2, "c.test": 0}
    there.commit(heir, Batch(1, released=[Release(each.domain_id, 0) for each in leases]))
    ids = there.db.execute("SELECT domain_id FROM damaged ORDER BY found_ms").fetchall()
    assert ids == [(1,), (domain_id("c.test"),)]
    there.add([link("https://a.test/new")])  # under a number that no chunk has
    # A link on its way goes on: its domain is ready since it was found, by the clock there.
    (found,) = (each for each in there.lease(heir, 9) if each.name == "d.test")
    assert abs(there.now_ms() - found.ready_ms - 5_000) < 60_000
    there.close()
    here.close()
