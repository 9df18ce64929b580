"""Lines of figures in SQLite: the table is that of a server, so that both stores have one format. A
node with a directory of its own writes files instead."""

from __future__ import annotations

from lycosa.frontier import queries
from lycosa.frontier.sqlite.store import SqliteStore

SQL = queries.load("sqlite")


class HistoryTable:
    """See `SupervisorFrontier`."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store

    def put_history(self, node: str, seconds: int, at_ms: int, line: str, before_ms: int) -> None:
        row = {"node": node, "seconds": seconds, "at_ms": at_ms, "line": line}
        old = {"node": node, "seconds": seconds, "before_ms": before_ms}
        with self._store.transaction():
            self._store.db.execute(SQL["history_put"], row)
            self._store.db.execute(SQL["history_forget"], old)
