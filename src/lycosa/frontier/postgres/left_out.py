"""URLs that exclusions took out of the queue, on PostgreSQL: queued again if a line is removed."""

from __future__ import annotations

from collections.abc import Sequence

from lycosa.frontier.postgres.again import PostgresAgain
from lycosa.frontier.postgres.connection import int8s, texts
from lycosa.frontier.protocol import Committed, LeftOut
from lycosa.records import QueuedUrl


class PostgresLeftOut(PostgresAgain):
    """See `frontier.Frontier`."""

    def _leave_out(self, urls: list[tuple[int, QueuedUrl]]) -> None:
        """An exclusion took these out of the queue."""
        if urls:
            self._execute(
                "left_out_insert",
                domains=int8s(ident for ident, _ in urls),
                fps=int8s(url.fp for _, url in urls),
                urls=texts(url.url for _, url in urls),
                depths=int8s(url.depth for _, url in urls),
                flags=int8s(url.flags for _, url in urls),
            )

    def restore(self, rows: Sequence[LeftOut]) -> int:
        links = [row.link() for row in rows]

        def work(now: int) -> int:
            result = Committed(now, 0, False, 0)
            count, domains = self._add(links, now, result)
            self._execute("account_add", now=now, queued=count, domains=domains)
            self._execute("left_out_delete", ids=int8s(row.id for row in rows))
            if count:
                self._put({"finished": 0})
            return count

        return self._transaction(work)
