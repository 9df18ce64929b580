"""Leases on SQLite: domains go to an engine, with their next URLs and what is known of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lycosa.frontier import queries
from lycosa.frontier.sqlite.connection import errors_mapped
from lycosa.frontier.sqlite.errands import Errands
from lycosa.frontier.sqlite.store import SqliteStore, in_lists, json_ids
from lycosa.frontier.states import WAITING
from lycosa.records import Lease, Origin, QueuedUrl, Url

SQL = queries.load("sqlite")


class Leases:
    """See `EngineFrontier`."""

    def __init__(self, store: SqliteStore, errands: Errands) -> None:
        self._store = store
        self._db = store.db
        self._errands = errands

    @errors_mapped
    def lease(self, engine_id: int, limit: int) -> list[Lease]:
        store = self._store
        if limit <= 0 or store.one("any_ready", {"now": store.now_ms()}) is None:
            return []  # looking costs no write
        with store.transaction(engine_id) as now:
            leases = self._affordable(store.rows("lease_candidates", {"now": now, "limit": limit}))
            ids = json_ids([lease.domain_id for lease in leases])
            self._db.execute(SQL["lease_take"], {"engine_id": engine_id, "ids": ids})
            # Before the end: domains that were taken but not handed out would wait for ever.
            by_id = {lease.domain_id: lease for lease in leases}
            for row in self._db.execute(SQL["origins_of"], (ids,)):
                by_id[row[0]].origins.append(Origin(*row[1:]))
            for ident, urls in self._next_urls(list(by_id), now).items():
                by_id[ident].urls = urls
        self._errands.tell_answers(leases)
        return leases

    def _affordable(self, rows: Iterable[tuple[Any, ...]]) -> list[Lease]:
        """The first of them, as far as the memory for their robots rules goes; at least one."""
        leases: list[Lease] = []
        budget = self._store.rules.robots_bytes
        for ident, name, ready_at, delay_ms, failures, pages, queued, seeded, size in rows:
            budget -= size
            if budget < 0 and leases:
                break
            state = (ready_at, delay_ms, failures, pages, queued, bool(seeded))
            leases.append(Lease(ident, name, *state))
        return leases

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
