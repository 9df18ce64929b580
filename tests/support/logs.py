"""The logs of a store's domains, read from its table for tests."""

from __future__ import annotations

import sqlite3
from typing import Any

import psycopg

from lycosa.frontier.log.domain_log import DomainLog, owner_of
from lycosa.frontier.postgres.frontier import PostgresFrontier
from lycosa.frontier.sqlite.frontier import SqliteFrontier

Logs = dict[int, DomainLog]


def logs_in(db: sqlite3.Connection | psycopg.Connection[Any], epoch: int = 0) -> Logs:
    """The logs of all domains that have one."""
    column = "key & 2147483647" if isinstance(db, sqlite3.Connection) else "seq"
    rows: Any = db.execute(f"SELECT {column}, data FROM log").fetchall()
    logs: Logs = {}
    for seq, data in rows:
        ident = owner_of(data)
        logs.setdefault(ident, DomainLog(ident, epoch)).add(seq, data)
    return logs


def logs_of(store: SqliteFrontier | PostgresFrontier, *only: int) -> Logs:
    """The logs of all domains of a store, or of some."""
    if only:
        parts: Any = getattr(store.commit, "__wrapped__", store.commit)
        found: Logs = parts.__self__._planner._logs.read(only).logs
        return found
    return logs_in(store.db, int(store.setting("epoch_ms") or 0))


def queued_in(store: SqliteFrontier | PostgresFrontier) -> dict[int, int]:
    """How many URLs are queued, by domain; domains without any are left out."""
    counts = {ident: log.counts().queued for ident, log in logs_of(store).items()}
    return {ident: count for ident, count in counts.items() if count}


def urls_in(logs: Logs) -> set[str]:
    """All URLs that are queued."""
    return {url.url for log in logs.values() for url in log.queued()}
