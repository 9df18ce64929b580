"""URLs that exclusions took out of the queue, on PostgreSQL: kept up to a bound, and queued
again if a line is removed."""

from __future__ import annotations

from collections.abc import Sequence

from lycosa.frontier.keys import FINISHED_KEY
from lycosa.frontier.postgres.add import Adder
from lycosa.frontier.postgres.connection import int8s, texts
from lycosa.frontier.postgres.store import PostgresStore
from lycosa.frontier.values import LeftOut
from lycosa.records import Flag, QueuedUrl


class LeftOutUrls:
    """See `SupervisorFrontier`."""

    def __init__(self, store: PostgresStore, adder: Adder) -> None:
        self._store = store
        self._adder = adder

    def leave_out(self, urls: list[tuple[int, QueuedUrl]]) -> None:
        """An exclusion took these, by domain, out of the queue. Not errands: who waited for them
        hears that there is no answer, and asks anew if need be."""
        urls = [each for each in urls if not each[1].flags & Flag.ERRAND]
        if urls:
            self._store.execute(
                "left_out_insert",
                domains=int8s(ident for ident, _ in urls),
                fps=int8s(url.fp for _, url in urls),
                urls=texts(url.url for _, url in urls),
                depths=int8s(url.depth for _, url in urls),
                flags=int8s(url.flags for _, url in urls),
            )

    def trim(self) -> None:
        """Keep no more than the newest."""
        self._store.execute("left_out_trim", most=self._store.rules.left_out)

    def restore(self, rows: Sequence[LeftOut]) -> int:
        new = self._adder.new_to_logs(row.link() for row in rows)

        def work(now: int) -> int:
            count, domains = self._adder.add_links(new, now)
            self._adder.account(now, count, domains)
            self._store.execute("left_out_delete", ids=int8s(row.id for row in rows))
            if count:
                self._store.put({FINISHED_KEY: 0})
            return count

        return self._store.transaction(work)
