"""Brings a crawl on PostgreSQL to the current format, one node at a time.

The steps are the migrations. Between two of them rows of URLs are read into logs (`rows_to_log`),
in transactions of their own: a crawl of many millions of URLs goes on where it was cut off.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psycopg

from lycosa.frontier import formats, queries
from lycosa.frontier.postgres.connection import (
    MIGRATE_MS,
    STATEMENT_MS,
    Connection,
    format_of,
    mapped,
)
from lycosa.frontier.postgres.rows_to_log import ROWS_GONE, rows_to_log

SCHEMA_LOCK = 0x6C79636F  # nodes that start at once migrate one after the other


def migrate(db: Connection, where: str) -> int:
    """Bring a new or older crawl to the current format; refuses a newer one, and an older one on
    which engines work. Returns its format before."""
    steps = queries.migrations("postgres")
    try:
        with _alone(db):
            found = format_of(db)
            formats.check_not_newer(found, "postgres")
            if formats.NONE < found < len(steps):
                _check_unused(db, found)
            if formats.NONE < found < ROWS_GONE:
                _step(db, steps, found, ROWS_GONE - 1)
                rows_to_log(db)
                _step(db, steps, ROWS_GONE - 1, len(steps))
            else:
                _step(db, steps, found, len(steps))
    except psycopg.Error as error:
        raise mapped(error, where) from None
    return found


@contextmanager
def _alone(db: Connection) -> Iterator[None]:
    _set(db, "statement_timeout", MIGRATE_MS)
    db.execute("SELECT pg_advisory_lock(%s)", (SCHEMA_LOCK,))
    try:
        yield
    finally:
        with suppress(psycopg.Error):  # a connection that is gone has no lock
            db.execute("SELECT pg_advisory_unlock(%s)", (SCHEMA_LOCK,))
            _set(db, "statement_timeout", STATEMENT_MS)


def _set(db: Connection, name: str, value: int) -> None:
    db.execute("SELECT set_config(%s, %s, false)", (name, str(value)))


def _step(db: Connection, steps: list[str], found: int, wanted: int) -> None:
    """From one format to another, in one transaction."""
    if found >= wanted:
        return
    with db.transaction():
        for text in steps[found:wanted]:
            db.execute(text.encode())
        db.execute("CREATE TABLE IF NOT EXISTS schema_version (version int4 NOT NULL)")
        db.execute("DELETE FROM schema_version")
        db.execute("INSERT INTO schema_version VALUES (%s)", (wanted,))


def _check_unused(db: Connection, found: int) -> None:
    """Engines of an older lycosa would fail in the middle of a batch if their tables changed."""
    table = b"crawlers" if found == 1 else b"engines"
    left = b"max(lease_until) - extract(epoch FROM clock_timestamp()) * 1000"
    row = db.execute(b"SELECT %b FROM %b WHERE NOT dead" % (left, table)).fetchone()
    if row is not None and row[0] is not None and row[0] > 0:
        raise formats.still_in_use(found, float(row[0]) / 1000)
