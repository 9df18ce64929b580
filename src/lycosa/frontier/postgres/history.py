"""Lines of figures that nodes leave in PostgreSQL, for those who have not their directories."""

from __future__ import annotations

from lycosa.frontier.postgres.store import PostgresStore


class HistoryTable:
    """See `SupervisorFrontier`."""

    def __init__(self, store: PostgresStore) -> None:
        self._store = store

    def put_history(self, node: str, seconds: int, at_ms: int, line: str, before_ms: int) -> None:
        def work(now: int) -> None:
            self._store.execute("history_put", node=node, seconds=seconds, at_ms=at_ms, line=line)
            self._store.execute("history_forget", node=node, seconds=seconds, before_ms=before_ms)

        self._store.transaction(work)
