"""Nodes that share a crawl on PostgreSQL: they open it one after the other, and know whether they
are alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from lycosa.frontier.keys import STARTED_KEY
from lycosa.frontier.postgres.store import PostgresStore

OPEN_LOCK = 0x6C79636E  # number of an advisory lock


class Nodes:
    """What the start of a node asks of a store that others may use at the same time."""

    def __init__(self, store: PostgresStore) -> None:
        self._store = store

    @contextmanager
    def opening(self) -> Iterator[None]:
        """A lock that one node has at a time: without it, two nodes that start at once could each
        find that it is alone."""
        self._store.run(lambda: self._store.execute("open_lock", key=OPEN_LOCK))
        try:
            yield
        finally:
            self._store.run(lambda: self._store.execute("open_unlock", key=OPEN_LOCK))

    def begin(self, crawl_id: str, settings: Mapping[str, Any]) -> bool:
        """Make this the store of a new crawl, unless it is one already."""

        def work(now: int) -> bool:
            if not self._store.execute("crawl_begin", id=crawl_id).rowcount:
                return False
            self._store.put({**settings, STARTED_KEY: now})
            return True

        return self._store.transaction(work)

    def others(self, node: str) -> int:
        values = {"node": node, "now": self._store.test_now(), "lease": self._store.rules.lease_ms}
        count: int = self._store.read_one("others", **values)
        return count
