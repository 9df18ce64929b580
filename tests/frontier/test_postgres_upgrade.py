"""A database of format 4 becomes one of format 5: the state of each domain becomes its token."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from lycosa.frontier import queries
from lycosa.frontier.postgres.connection import connect, migrate
from lycosa.frontier.states import waiting_order
from support.tokens import check_tokens

IDLE, READY, HELD = -1, 0, 3
OLD = 4
# By id: engine_id, ready_at, polite_at, and the place of its one queued URL.
DOMAINS: dict[int, tuple[int, int, int, int | None]] = {
    1: (IDLE, 1000, 1000, None),
    2: (READY, 2000, 2000, 5),
    3: (READY, 7, 0, 5),  # a seed, never visited
    4: (HELD, 4000, 4000, 5),
    5: (READY, 9000, 1000, waiting_order(9000)),  # it only waits for a retry
    6: (READY, 9000, 1000, 5),  # it was told to wait for longer
    7: (READY, 7000, 7000, waiting_order(6000)),  # its retry is due before it may be visited
}


@pytest.fixture
def old(postgres_url: str) -> str:
    with psycopg.connect(postgres_url, autocommit=True) as db:
        for step in queries.migrations("postgres")[:OLD]:
            db.execute(step.encode())
        db.execute("CREATE TABLE schema_version (version int4 NOT NULL)")
        db.execute("INSERT INTO schema_version VALUES (%s)", (OLD,))
        for ident, (engine_id, ready, polite, order) in DOMAINS.items():
            db.execute(
                "INSERT INTO domains (id, name, engine_id, ready_at, polite_at, delay_ms, queued,"
                " pages, failures, releases, seeded) VALUES (%s, %s, %s, %s, %s, 11, 12, 13, 14,"
                " 15, %s)",
                (ident, f"d{ident}.test", engine_id, ready, polite, ident == 3),
            )
            if order is not None:
                db.execute(
                    "INSERT INTO queue VALUES (%s, %s, 1, 0, 0, 0, 'http://a.test/')",
                    (ident, order),
                )
    return postgres_url


def asked(url: str, query: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(url, autocommit=True) as db:
        return sorted(db.execute(query.encode()).fetchall())


def test_each_state_becomes_a_token(old: str) -> None:
    db = connect(old, "test")
    assert migrate(db, "here") == OLD
    check_tokens(db)
    db.close()
    assert asked(old, "SELECT id FROM domains WHERE idle") == [(1,)]
    assert asked(old, "SELECT id, engine_id, more_pages, more_queued FROM held") == [
        (4, HELD, 0, 0)
    ]
    ready = {ident: moment for ident, (who, moment, *_) in DOMAINS.items() if who == READY}
    assert dict(asked(old, "SELECT id, ready_at FROM ready")) == ready
    assert asked(old, "SELECT id, wait_at FROM domains WHERE wait_at > 0") == [(5, 9000)]
    kept = "SELECT DISTINCT delay_ms, queued, pages, failures, not_before FROM domains"
    assert asked(old, kept) == [(11, 12, 13, 14, 0)]
    assert asked(old, "SELECT id FROM domains WHERE seeded") == [(3,)]
    polite = {ident: values[2] for ident, values in DOMAINS.items()}
    assert dict(asked(old, "SELECT id, polite_at FROM domains")) == polite


def test_an_upgrade_leaves_no_index_that_visits_would_write(old: str) -> None:
    db = connect(old, "test")
    migrate(db, "here")
    db.close()
    made = asked(
        old,
        "SELECT indexname::text FROM pg_indexes WHERE schemaname = current_schema()"
        " AND tablename IN ('domains', 'ready', 'held', 'lean_domains')",
    )
    names = [name for (name,) in made]
    assert names == ["domains_pkey", "held_by_engine", "held_pkey", "ready_pkey"]


def test_an_upgrade_that_fails_changes_nothing(old: str, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = queries.migrations("postgres")
    db = connect(old, "test")
    broken = [*steps[:-1], steps[-1] + "SELECT 1 / 0;"]
    with monkeypatch.context() as patch:
        patch.setattr(queries, "migrations", lambda dialect: broken)
        with pytest.raises(Exception, match="division by zero"):
            migrate(db, "here")
    assert asked(old, "SELECT id, engine_id FROM domains") == [
        (ident, values[0]) for ident, values in DOMAINS.items()
    ]
    assert migrate(db, "here") == OLD
    check_tokens(db)
    db.close()
