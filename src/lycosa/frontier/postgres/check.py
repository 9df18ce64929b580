"""Whether a PostgreSQL server can hold a crawl: reachable, new enough, with the rights we need.

Changes nothing there. What only the user can mend is raised as a UserError, as on any connection.
"""

from __future__ import annotations

import psycopg

from lycosa.clock import engine_now
from lycosa.frontier import formats, queries
from lycosa.frontier.postgres.connection import (
    Connection,
    connect,
    format_of,
    mapped,
    may_not,
    parsed,
    place,
)
from lycosa.frontier.values import ServerFacts

SQL = queries.load("postgres")


def facts(url: str) -> ServerFacts:
    """Look at a server and go."""
    where = place(parsed(url))
    db = connect(url, "lycosa check")
    try:
        return _facts(db, where)
    except psycopg.Error as error:
        raise mapped(error, where) from None
    finally:
        db.close()


def _facts(db: Connection, where: str) -> ServerFacts:
    began = engine_now()
    row = db.execute(SQL["server_facts"]).fetchone()
    took = (engine_now() - began) * 1000
    assert row is not None
    version, schema, may_create, free = row
    made = format_of(db)
    formats.check_not_newer(made, "postgres")
    usable = not made or db.execute(SQL["tables_unusable"]).fetchone() == (0,)
    if not schema or not usable or (made < formats.known("postgres") and not may_create):
        raise may_not(where)
    crawl = False
    if made:
        known = db.execute("SELECT 1 FROM crawl WHERE key = 'settings'").fetchone()
        crawl = known is not None
    return ServerFacts(where, version.split()[0], took, crawl, free)
