"""Rows of URLs become logs on a server: all of them, also if that is cut off."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest

from lycosa.errors import OlderFormat, StoreGone
from lycosa.frontier import queries
from lycosa.frontier.log.domain_log import DomainLog
from lycosa.frontier.postgres import rows_to_log
from lycosa.frontier.postgres.connection import check_format, connect, format_of
from lycosa.frontier.postgres.frontier import PostgresFrontier
from lycosa.frontier.protocol import StoreRules
from lycosa.frontier.states import waits_until
from lycosa.node.upgrade import bring_up_to_date
from support.kept_formats import kept, number_of, unpack
from support.logs import logs_in
from support.tokens import check_tokens

Row = tuple[Any, ...]
WITH_ROWS = [path for path in kept("postgres") if number_of(path) < 6]


def rows(url: str, statement: str) -> list[Row]:
    with psycopg.connect(url, autocommit=True) as db:
        done = db.execute(statement.encode())
        return done.fetchall() if done.description else []


def queues(url: str) -> dict[int, list[Row]]:
    """The queue of each domain by its rows."""
    found: dict[int, list[Row]] = {}
    columns = "domain_id, fp, url, depth, attempts, flags, ord"
    for ident, *row, order in rows(url, f"SELECT {columns} FROM queue ORDER BY domain_id, ord, fp"):
        found.setdefault(ident, []).append((*row, waits_until(order)))
    return found


def queue_of(log: DomainLog) -> list[Row]:
    """The same; those that wait until the same moment by their fingerprints."""
    found = [
        (url.fp, url.url, url.depth, url.attempts, url.flags, waits_until(url.order))
        for url in log.queued()
    ]
    waiting = sorted((row for row in found if row[-1]), key=lambda row: (row[-1], row[0]))
    return [row for row in found if not row[-1]] + waiting


def cut_off_after(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """The connection is lost when some domains are done."""
    move, done = rows_to_log._move, list[list[int]]()

    def some(db: Any, ids: list[int]) -> None:
        if len(done) == count:
            db.execute("SELECT pg_terminate_backend(pg_backend_pid())")
        move(db, ids)
        done.append(ids)

    monkeypatch.setattr(rows_to_log, "DOMAINS", 2)
    monkeypatch.setattr(rows_to_log, "_move", some)


@pytest.mark.parametrize("path", WITH_ROWS, ids=lambda path: path.name)
@pytest.mark.parametrize("cuts", [0, 3])
def test_rows_become_logs(
    path: Path, cuts: int, tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    unpack(path, tmp_path, postgres_url)
    before = queues(postgres_url)
    seen = set(rows(postgres_url, "SELECT domain_id, fp FROM seen"))
    count = "SELECT domain_id, count(*) FROM pages WHERE status > 0 GROUP BY 1"
    answered: dict[int, int] = dict(rows(postgres_url, count))
    assert before and len(seen) > sum(map(len, before.values()))
    for _ in range(cuts):
        with monkeypatch.context() as patch:
            cut_off_after(patch, 1)
            with pytest.raises(StoreGone):
                bring_up_to_date(tmp_path, postgres_url)
        db = connect(postgres_url, "test")
        assert format_of(db) == 6
        with pytest.raises(OlderFormat):  # nobody else works with half of it
            check_format(db)
        db.close()
    bring_up_to_date(tmp_path, postgres_url)
    with psycopg.connect(postgres_url) as db_after:
        logs = logs_in(db_after)
        check_tokens(db_after)
    assert {ident for ident, _ in seen} == set(logs)
    for ident, log in logs.items():
        counts = log.counts()
        assert queue_of(log) == before.get(ident, [])
        assert counts.responses == answered.get(ident, 0)
        fps = [fp for domain, fp in seen if domain == ident]
        assert set(log.states(fps)) <= {"queued", "done"}
        assert counts.queued + counts.done == len(fps)
    assert rows(postgres_url, "SELECT to_regclass('queue'), to_regclass('seen')") == [(None, None)]


def test_a_new_crawl_has_no_rows(postgres_url: str) -> None:
    PostgresFrontier(postgres_url, StoreRules(), create=True).close()
    assert rows(postgres_url, "SELECT version FROM schema_version") == [
        (len(queries.migrations("postgres")),)
    ]
