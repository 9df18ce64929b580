"""URLs that exclusions took out of the queue, on SQLite: kept up to a bound, and queued again if a
line is removed."""

from __future__ import annotations

from collections.abc import Sequence

from lycosa.frontier import queries
from lycosa.frontier.keys import FINISHED_KEY
from lycosa.frontier.sqlite.add import Adder
from lycosa.frontier.sqlite.store import SqliteStore, json_ids
from lycosa.frontier.values import Committed, LeftOut
from lycosa.records import Flag, QueuedUrl

SQL = queries.load("sqlite")


class LeftOutUrls:
    """See `SupervisorFrontier`."""

    def __init__(self, store: SqliteStore, adder: Adder) -> None:
        self._store = store
        self._db = store.db
        self._adder = adder

    def leave_out(self, urls: list[tuple[int, QueuedUrl]]) -> None:
        """An exclusion took these, by domain, out of the queue. Errands are not kept: who waited
        for one hears that there is no answer, and asks anew if need be."""
        self._db.executemany(
            SQL["left_out_insert"],
            [
                (ident, url.fp, url.url, url.depth, url.flags)
                for ident, url in urls
                if not url.flags & Flag.ERRAND
            ],
        )

    def trim(self) -> None:
        """Keep no more than the newest."""
        self._db.execute(SQL["left_out_trim"], (self._store.rules.left_out,))

    def restore(self, rows: Sequence[LeftOut]) -> int:
        with self._store.transaction() as now:
            result = Committed(now, 0, False, 0)
            count, domains = self._adder.add_links([row.link() for row in rows], now, result)
            self._adder.account(now, count, domains)
            self._db.execute(SQL["left_out_delete"], (json_ids([row.id for row in rows]),))
            if count:
                self._store.put({FINISHED_KEY: 0})
        return count
