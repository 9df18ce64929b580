"""A crawl that an older lycosa left behind goes on, and loses nothing by it."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from lycosa.errors import StoreError, UserError
from lycosa.frontier import queries
from lycosa.frontier.states import waiting_order
from lycosa.node import datadir
from lycosa.node.upgrade import bring_up_to_date
from lycosa.simweb.serve import SimWeb
from support.kept_formats import FLAGS, WORLD, kept, number_of, unpack
from support.logs import logs_in
from support.program import Crawl, lycosa
from support.tokens import check_tokens

STORES = ("sqlite", "postgres")


def crawled(store: str) -> list[Any]:
    """All formats; a crawl goes on from the oldest, and from the two newest, in the quick run. That
    each of the others is brought up to date without a loss is tested by rows, and quickly."""
    first, *between, last, newest = kept(store)
    slow = [pytest.param(path, marks=pytest.mark.slow) for path in between]
    return [first, *slow, last, newest]


def test_every_format_is_kept() -> None:
    for store in STORES:
        known = len(queries.migrations(store))
        names = [path.name for path in kept(store)]
        assert names == [f"{store}-{number}.tar.gz" for number in range(1, known + 1)]


@pytest.fixture
def web(tmp_path: Path) -> Iterator[SimWeb]:
    with SimWeb(WORLD, tmp_path / "log") as found:
        yield found


def goes_on(crawl: Crawl, *where: str) -> None:
    """What was done before the kill is still there, and the rest comes."""
    code = crawl.run(resume=True, timeout=120)
    assert code == 0, crawl.log.read_text()[-3000:]
    assert not lycosa("verify", *where).returncode
    assert not lycosa("audit", *where).returncode


@pytest.mark.parametrize("path", crawled("sqlite"), ids=lambda path: path.name)
def test_a_directory_of_any_format_goes_on(path: Path, web: SimWeb, tmp_path: Path) -> None:
    unpack(path, tmp_path)
    crawl = Crawl(web, tmp_path, WORLD.delay, *FLAGS, "--moved")
    goes_on(crawl, "--data-dir", str(crawl.data))
    crawl.check_complete()
    # A second look finds nothing to bring up to date, and nothing to do.
    before = crawl.kept()
    assert crawl.run(resume=True) == 0
    assert crawl.kept() == before


@pytest.mark.parametrize("path", kept("sqlite"), ids=lambda path: path.name)
def test_a_directory_of_any_format_can_be_looked_at(path: Path, tmp_path: Path) -> None:
    """Also before an engine has brought it up to date: either it is read, or the sentence says
    which command does that."""
    unpack(path, tmp_path)
    for words in (["status"], ["pages"], ["why", "https://nobody.example/"], ["exclude", "--list"]):
        done = lycosa(*words, "--data-dir", tmp_path / "data")
        old = path != kept("sqlite")[-1]
        assert done.returncode in ((0, 1, 2) if old else (0, 1)), done.stderr
        assert "Traceback" not in done.stderr
        assert done.returncode != 2 or "--resume" in done.stderr


@pytest.mark.parametrize("path", crawled("postgres"), ids=lambda path: path.name)
def test_a_database_of_any_format_goes_on(
    path: Path, web: SimWeb, tmp_path: Path, postgres_url: str
) -> None:
    unpack(path, tmp_path, postgres_url)
    crawl = Crawl(web, tmp_path, WORLD.delay, *FLAGS, "--moved", "--store", postgres_url)
    goes_on(crawl, "--data-dir", str(crawl.data), "--store", postgres_url)


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    unpack(kept("sqlite")[-1], tmp_path)
    db = sqlite3.connect(tmp_path / "data" / "crawl.sqlite")
    db.execute("PRAGMA user_version = 99")
    db.close()
    done = lycosa("status", "--data-dir", tmp_path / "data")
    assert done.returncode == 2
    assert "newer lycosa" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("path", kept("sqlite")[:-1], ids=lambda path: path.name)
def test_an_upgrade_that_fails_changes_nothing_and_goes_on_later(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kill in the middle is a transaction without a commit, as is a full disk."""
    unpack(path, tmp_path)
    file = tmp_path / "data" / "crawl.sqlite"
    steps = queries.migrations("sqlite")
    broken = list(steps)
    broken[number_of(path)] += "\nSELECT no_such_function();"
    before, domains, urls = _all_rows(file), _named(file, "domains"), _urls(file)
    monkeypatch.setattr(queries, "migrations", lambda dialect: broken)
    with pytest.raises(StoreError):
        bring_up_to_date(tmp_path / "data", "sqlite")
    assert _apart(_all_rows(file)) == _apart(before)
    assert _urls(file) == urls
    monkeypatch.undo()
    bring_up_to_date(tmp_path / "data", "sqlite")
    assert _urls(file) == urls
    assert _all_rows(file).keys().isdisjoint({"queue", "seen"})
    after, before = _apart(_all_rows(file)), _apart(before)
    if number_of(path) < TOKENS:
        _check_domains(domains, file)
    leases = {name: after.pop(name) for name in ("domains", "ready", "held")}
    assert len(leases["domains"]) == len(before.pop("domains"))
    for name in ("ready", "held"):
        assert sorted(before.pop(name, leases[name])) == sorted(leases[name])
    for name in after.keys() & before.keys():  # columns are only added, behind the others
        width = len(before[name][0]) if before[name] else 0
        assert sorted((row[:width] for row in after[name]), key=repr) == before[name]
    history = after.pop(
        "history"
    )  # of PostgreSQL alone; tables that had another name have their rows
    assert history == before.pop("history", [])
    assert sorted(map(len, after.values())) == sorted(map(len, before.values()))


TOKENS = 5  # the format since which leases are apart
OF_URLS = frozenset(
    {"queue", "seen", "log", "inbox", "damaged", "dictionaries", "page_rolls", "page_keys"}
)  # what the upgrade changes


def _apart(tables: dict[str, list[tuple[object, ...]]]) -> dict[str, list[tuple[object, ...]]]:
    """Without the tables of URLs, which become others."""
    return {name: rows for name, rows in tables.items() if name not in OF_URLS}


def _urls(path: Path) -> tuple[set[tuple[int, int, str, int, int, int]], set[tuple[int, int]]]:
    """Queued URLs with their depth, attempts and kind, and those that are done: by domain, whether
    they are rows or in logs."""
    tables = _all_rows(path).keys()
    queued, done = set(), set()
    with contextlib.closing(sqlite3.connect(path)) as db:
        if "queue" in tables:
            columns = "domain_id, fp, url, depth, attempts, flags"
            queued = set(db.execute(f"SELECT {columns} FROM queue"))
            done = set(db.execute("SELECT domain_id, fp FROM seen")) - {row[:2] for row in queued}
        pages = db.execute("SELECT domain_id, fp FROM pages").fetchall()
        for ident, log in logs_in(db).items() if "log" in tables else ():
            assert log.damaged == []
            fps = [fp for domain, fp in pages if domain == ident]
            marked = {fp for fp, state in zip(fps, log.states(fps), strict=True) if state == "done"}
            assert log.counts().done == len(marked)
            done |= {(ident, fp) for fp in marked}
            for url in log.queued():
                queued.add((ident, url.fp, url.url, url.depth, url.attempts, url.flags))
    return queued, done


def _check_domains(before: list[dict[str, Any]], path: Path) -> None:
    """What a row said of the state of a domain is in its token now, and the rest is as it was."""
    same = ("name", "polite_at", "delay_ms", "failures", "pages", "queued", "seeded")
    after = {row["id"]: row for row in _named(path, "domains")}
    held = {row["id"]: row["engine_id"] for row in _named(path, "held")}
    ready = {row["id"]: row["ready_at"] for row in _named(path, "ready")}
    for row in before:
        ident, engine_id = row["id"], int(row.get("engine_id", row.get("lease_owner", 0)))
        assert [after[ident][name] for name in same] == [row[name] for name in same]
        assert after[ident]["idle"] == (engine_id == -1)
        assert ready.get(ident) == (row["ready_at"] if engine_id == 0 else None)
        assert held.get(ident, 0) == max(0, engine_id)
    with contextlib.closing(sqlite3.connect(path)) as db:
        check_tokens(db)


def _named(path: Path, table: str) -> list[dict[str, Any]]:
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.row_factory = sqlite3.Row
        return [dict(row) for row in db.execute(f"SELECT * FROM {table}")]


def _all_rows(path: Path) -> dict[str, list[tuple[object, ...]]]:
    with contextlib.closing(sqlite3.connect(path)) as db:
        names = db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        tables = [name for (name,) in names if not name.startswith("sqlite_")]
        return {name: sorted(db.execute(f"SELECT * FROM {name}"), key=repr) for name in tables}


def test_who_only_waits_for_retries_is_known_after_an_upgrade(tmp_path: Path) -> None:
    """By the moment of its row in `ready` it can be woken. Who was woken, or never waited, is not
    one of them."""
    unpack(kept("sqlite")[3], tmp_path)
    file = tmp_path / "data" / "crawl.sqlite"
    waits, woken, ready = sorted(row["id"] for row in _named(file, "domains"))[:3]
    with contextlib.closing(sqlite3.connect(file)) as db:
        db.execute("DELETE FROM queue")
        for ident, ready_at, order in (
            (waits, 9000, waiting_order(9000)),
            (woken, 8000, 5),
            (ready, 1000, 5),
        ):
            db.execute(
                "UPDATE domains SET engine_id = 0, polite_at = 1000, ready_at = ? WHERE id = ?",
                (ready_at, ident),
            )
            db.execute("INSERT INTO queue VALUES (?, ?, 1, 'http://a.test/', 0, 0, 0)",
                       (ident, order))  # fmt: skip
        db.commit()
    bring_up_to_date(tmp_path / "data", "sqlite")
    after = {row["id"]: row for row in _named(file, "domains")}
    assert [after[ident]["wait_at"] for ident in (waits, woken, ready)] == [9000, 0, 0]
    with contextlib.closing(sqlite3.connect(file)) as db:
        check_tokens(db)


@pytest.mark.parametrize("path", kept("sqlite")[:-1], ids=lambda path: path.name)
def test_nobody_upgrades_a_directory_in_use(path: Path, tmp_path: Path) -> None:
    unpack(path, tmp_path)
    before = _all_rows(tmp_path / "data" / "crawl.sqlite")
    lock = datadir.lock(tmp_path / "data")
    try:
        done = lycosa(
            "crawl", "--resume", "--data-dir", tmp_path / "data", "--email", "a@b.example"
        )
    finally:
        os.close(lock)
    assert done.returncode == 2 and "Another lycosa process works" in done.stderr
    assert _all_rows(tmp_path / "data" / "crawl.sqlite") == before


@pytest.mark.parametrize("path", kept("postgres")[:-1], ids=lambda path: path.name)
def test_nobody_upgrades_a_database_in_use(path: Path, tmp_path: Path, postgres_url: str) -> None:
    unpack(path, tmp_path, postgres_url)
    with psycopg.connect(postgres_url, autocommit=True) as db:
        table = "crawlers" if path.name == "postgres-1.tar.gz" else "engines"
        far = "extract(epoch FROM clock_timestamp()) * 1000 + 60000"
        db.execute(f"UPDATE {table} SET dead = false, lease_until = {far}".encode())
    with pytest.raises(UserError, match=r"stop all its nodes.* end in (59|60) s"):
        bring_up_to_date(tmp_path / "data", postgres_url)
