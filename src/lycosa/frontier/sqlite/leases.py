"""Leases on SQLite: domains go to an engine, with their next URLs and what is known of them.

Owns which domains this process knows that it holds: what a lease brings is read after its
transaction, so that others wait for less, and if that fails, the domains are held all the same. How
a domain becomes held is in `tokens`.
"""

from __future__ import annotations

from collections.abc import Iterable

from lycosa.frontier import queries
from lycosa.frontier.sqlite.connection import errors_mapped
from lycosa.frontier.sqlite.errands import Errands
from lycosa.frontier.sqlite.store import SqliteStore, in_lists
from lycosa.frontier.sqlite.tokens import Tokens
from lycosa.frontier.states import WAITING
from lycosa.records import Lease, Origin, QueuedUrl, Url

SQL = queries.load("sqlite")


class Leases:
    """See `EngineFrontier`."""

    def __init__(self, store: SqliteStore, tokens: Tokens, errands: Errands) -> None:
        self._store = store
        self._db = store.db
        self._tokens = tokens
        self._errands = errands
        self._held: dict[int, int] = {}  # engine by domain, as far as engines here know
        self._unsure = False  # engines here may hold domains that they were not told of

    @errors_mapped
    def lease(self, engine_id: int, limit: int) -> list[Lease]:
        store = self._store
        if limit <= 0:
            return []
        if not self._unsure and store.one("any_ready", {"now": store.now_ms()}) is None:
            return []  # looking costs no write
        before, self._unsure = self._unsure, True  # until all of it was handed out
        with store.transaction(engine_id) as now:
            leases = self._tokens.held_unknown(engine_id, self._held) if before else []
            if not leases:
                leases = self._tokens.lease(engine_id, limit, now)
        self._complete(leases, now)
        self._held.update((lease.domain_id, engine_id) for lease in leases)
        self._unsure = False
        return leases

    def _complete(self, leases: list[Lease], now: int) -> None:
        """Read URLs and origins after the transaction, so that it is short."""
        by_id = {lease.domain_id: lease for lease in leases}
        for ids in in_lists(list(by_id)):
            for row in self._db.execute(SQL["origins_of"], (ids,)):
                by_id[row[0]].origins.append(Origin(*row[1:]))
        for ident, urls in self._next_urls(list(by_id), now).items():
            by_id[ident].urls = urls
        self._errands.tell_answers(leases)

    def forget(self, ids: Iterable[int]) -> None:
        """These are held no longer."""
        for ident in ids:
            self._held.pop(ident, None)

    @errors_mapped
    def refill(self, domain_ids: list[int]) -> dict[int, list[QueuedUrl]]:
        return self._next_urls(domain_ids, self._store.now_ms())

    def _next_urls(self, domain_ids: list[int], now: int) -> dict[int, list[QueuedUrl]]:
        values = {"waiting": WAITING, "now": now, "limit": self._store.rules.run_urls}
        runs: dict[int, list[QueuedUrl]] = {}
        for ids in in_lists(domain_ids):
            found = self._store.rows("next_urls", {"ids": ids, **values})
            runs.update({ident: self._run(rows) for ident, rows in found})
        return runs

    def _run(self, rows: Iterable[tuple[int, int, Url, int, int, int]]) -> list[QueuedUrl]:
        """As many as memory is meant for; at least one."""
        urls: list[QueuedUrl] = []
        budget = self._store.rules.run_bytes
        for order, fp, url, depth, attempts, flags in rows:
            budget -= len(url)
            if budget < 0 and urls:
                break
            urls.append(QueuedUrl(fp, url, depth, order, attempts, flags))
        return urls

    @errors_mapped
    def settled(self, targets: list[tuple[int, int]]) -> set[tuple[int, int]]:
        return {each for each in targets if self._settled(*each)}

    def _settled(self, domain_id: int, fp: int) -> bool:
        order = self._store.one("seen_order", (domain_id, fp))
        return order is not None and self._store.one("is_queued", (domain_id, order, fp)) is None
