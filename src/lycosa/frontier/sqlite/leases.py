"""Leases on SQLite: domains go to an engine, with their next URLs and what is known of them.

Owns which domains this process knows that it holds: what a lease brings is read after its
transaction, so that others wait for less, and if that fails, the domains are held all the same. How
a domain becomes held is in `tokens`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from lycosa.errors import DiskFull, StoreGone
from lycosa.frontier import queries
from lycosa.frontier.log.domain_log import DomainLog
from lycosa.frontier.sqlite.connection import errors_mapped
from lycosa.frontier.sqlite.errands import Errands
from lycosa.frontier.sqlite.inbox import Buckets
from lycosa.frontier.sqlite.logs import Logs
from lycosa.frontier.sqlite.store import SqliteStore, in_lists
from lycosa.frontier.sqlite.tokens import Tokens
from lycosa.records import Lease, Origin, QueuedUrl

SQL = queries.load("sqlite")


class Leases:
    """See `EngineFrontier`."""

    def __init__(
        self, store: SqliteStore, tokens: Tokens, logs: Logs, inbox: Buckets, errands: Errands
    ) -> None:
        self._store = store
        self._inbox = inbox
        self._db = store.db
        self._tokens = tokens
        self._logs = logs
        self._errands = errands
        self._held: dict[int, int] = {}  # engine by domain, as far as engines here know
        self._unsure = False  # engines here may hold domains that they were not told of

    def lease(self, engine_id: int, limit: int) -> list[Lease]:
        """Where fewer domains are ready than are asked for, links on their way may lead to more."""
        if limit <= 0:
            return []
        leases = self._lease(engine_id, limit)
        try:
            if len(leases) < limit and self._inbox.deliver_for(engine_id):
                leases += self._lease(engine_id, limit - len(leases))
        except (StoreGone, DiskFull):
            if not leases:
                raise  # else the caller must hear of what it holds by now
        return leases

    @errors_mapped
    def _lease(self, engine_id: int, limit: int) -> list[Lease]:
        store = self._store
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
            self._store.shifts.pause()
            for row in self._db.execute(SQL["origins_of"], (ids,)):
                by_id[row[0]].origins.append(Origin(*row[1:]))
        for log in self._each_log(by_id):
            lease, counts = by_id[log.domain_id], log.counts()
            lease.urls = self._run(log, now)
            lease.pages, lease.queued = counts.responses, counts.queued
        self._errands.tell_answers(leases)

    def forget(self, ids: Iterable[int]) -> None:
        """These are held no longer."""
        for ident in ids:
            self._held.pop(ident, None)

    @errors_mapped
    def refill(self, domain_ids: list[int]) -> dict[int, list[QueuedUrl]]:
        now = self._store.now_ms()
        return {log.domain_id: self._run(log, now) for log in self._each_log(domain_ids)}

    def _each_log(self, domain_ids: Iterable[int]) -> Iterator[DomainLog]:
        """The logs of these domains, of which few are in memory at a time."""
        return chain.from_iterable(part.logs.values() for part in self._logs.in_parts(domain_ids))

    def _run(self, log: DomainLog, now: int) -> list[QueuedUrl]:
        """As many URLs as memory is meant for; at least one."""
        rules = self._store.rules
        return log.next(now, rules.run_urls, rules.run_bytes)

    @errors_mapped
    def settled(self, targets: list[tuple[int, int]]) -> set[tuple[int, int]]:
        read = self._logs.read({ident for ident, _ in targets})
        return {(ident, fp) for ident, fp in targets if read[ident].state(fp) == "done"}
