"""A server that was replaced by another, which may not know of the last commits.

A standby that is promoted begins a new timeline; with asynchronous replication it has lost what
the old server had not yet sent. A server restored from a backup lost its last commits, too. Owns
how that is noticed, on every new connection, and what follows: all engines are declared dead, and
nobody gets a domain until the last lease that the old server can have given has ended, plus the
delay.
"""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg import errors as pg

from lycosa.frontier import queries
from lycosa.frontier.postgres.connection import MIGRATE_MS, Connection
from lycosa.frontier.rules import StoreRules

SQL = queries.load("postgres")
UNKNOWN = ""  # a service that hides its files: whether it was replaced can't be told
SKIPPED_NUMBERS = 10_000  # more engines than can have registered in what was lost


class Timeline:
    """What a connection knows of its server."""

    def __init__(self, rules: StoreRules) -> None:
        self.rules = rules
        self.server = UNKNOWN
        self.leases_from = 0  # ms of the store's clock; 0: at once

    def look(self, db: Connection, now_ms: int) -> None:
        """Compare the server with the one that the crawl was on; on every new connection."""
        self.server = _identity(db)
        known, since = _known(db)
        if self.server and known is None:
            db.execute(SQL["server_first"], {"server": self.server})
        elif self.server and known != self.server:
            self._replaced(db, str(known), now_ms)
            _, since = _known(db)
        self.leases_from = since or 0

    def waits(self, now_ms: int) -> bool:
        """Whether nobody may have a domain yet."""
        if now_ms >= self.leases_from:
            self.leases_from = 0  # need not be asked again
        return self.leases_from > 0

    def _replaced(self, db: Connection, before: str, now_ms: int) -> None:
        end = now_ms + self.rules.lease_ms  # the last moment at which anybody could fetch
        with db.transaction():
            values: dict[str, Any] = {"server": self.server, "before": before}
            if db.execute(SQL["server_changed"], values).fetchone() is None:
                return  # somebody else saw it first
            # It reads all domains, once.
            for name, value in (("statement_timeout", str(MIGRATE_MS)), ("enable_seqscan", "on")):
                db.execute("SELECT set_config(%s, %s, true)", (name, value))
            db.execute(SQL["leases_from"], {"from": end + self.rules.delay_ms})
            db.execute(SQL["declare_all_dead"])
            for name in ("wait_all", "take_over_all"):
                db.execute(SQL[name], {"since": end, "delay": self.rules.delay_ms})
            db.execute(SQL["skip_numbers"], {"skip": SKIPPED_NUMBERS})


def _identity(db: Connection) -> str:
    try:
        row = db.execute(SQL["server_identity"]).fetchone()
    except (pg.InsufficientPrivilege, pg.FeatureNotSupported, pg.UndefinedFunction):
        return UNKNOWN
    return UNKNOWN if row is None else str(row[0])


def _known(db: Connection) -> tuple[str | None, int | None]:
    row = db.execute(SQL["server_known"]).fetchone()
    if row is None:
        raise psycopg.DataError("no row")
    return row[0], row[1]
