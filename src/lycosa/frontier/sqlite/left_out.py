"""URLs that exclusions took out of the queue, on SQLite: queued again if a line is removed."""

from __future__ import annotations

from collections.abc import Sequence

from lycosa.frontier import queries
from lycosa.frontier.protocol import Committed, LeftOut
from lycosa.frontier.sqlite.again import SqliteAgain
from lycosa.frontier.sqlite.store import json_ids

SQL = queries.load("sqlite")


class SqliteLeftOut(SqliteAgain):
    """See `frontier.Frontier`."""

    def restore(self, rows: Sequence[LeftOut]) -> int:
        with self._transaction() as now:
            result = Committed(now, 0, False, 0)
            count, domains = self._add([row.link() for row in rows], now, result)
            self.db.execute(SQL["account_add"], {"now": now, "queued": count, "domains": domains})
            self.db.execute(SQL["left_out_delete"], (json_ids([row.id for row in rows]),))
            if count:
                self._put({"finished": 0})
        return count
