"""Leases on PostgreSQL: domains go to an engine, with their next URLs and what is known of them.

Owns which domains this process knows that it holds: a lease whose commit was cut off may be held
all the same. How a domain becomes held is in `tokens`.
"""

from __future__ import annotations

from collections.abc import Iterable

from lycosa.errors import DiskFull, StoreGone
from lycosa.frontier.log.domain_log import DomainLog
from lycosa.frontier.postgres.connection import int8s
from lycosa.frontier.postgres.errands import Errands
from lycosa.frontier.postgres.inbox import Buckets
from lycosa.frontier.postgres.logs import Logs
from lycosa.frontier.postgres.store import PostgresStore
from lycosa.frontier.postgres.tokens import Tokens
from lycosa.records import Lease, Origin, QueuedUrl

ASK_MS = 6000  # for which others give domains back to one that holds few


class Leases:
    """See `EngineFrontier`."""

    def __init__(
        self, store: PostgresStore, tokens: Tokens, logs: Logs, inbox: Buckets, errands: Errands
    ) -> None:
        self._store = store
        self._inbox = inbox
        self._tokens = tokens
        self._logs = logs
        self._errands = errands
        self.held: dict[int, int] = {}  # engine by domain, as far as engines here know
        self.engines = 1  # of all nodes, by the last commit
        self._asked = 0  # when others were last asked for domains
        self._unsure = False  # a lease whose commit was cut off may be ours

    def lease(self, engine_id: int, limit: int) -> list[Lease]:
        """Where fewer domains are ready than are asked for, links on their way may lead to more."""
        if limit <= 0 or (
            self._store.timeline.leases_from and self._store.timeline.waits(self._store.now_ms())
        ):
            return []
        leases = self._lease(engine_id, limit)
        try:
            if len(leases) < limit and self._inbox.deliver_for(engine_id):
                leases += self._lease(engine_id, limit - len(leases))
        except (StoreGone, DiskFull):
            if not leases:
                raise  # else the caller must hear of what it holds by now
        if not leases:
            self._ask_for_domains()
        return leases

    def _lease(self, engine_id: int, limit: int) -> list[Lease]:
        leases = self._lost_leases(engine_id) if self._unsure else []
        if not leases and not self._tokens.any_ready():
            return []  # looking costs no write
        if not leases:
            leases = self._take(engine_id, limit)
        self.held.update((lease.domain_id, engine_id) for lease in leases)
        leases.sort(key=lambda each: each.ready_ms)
        self._complete(leases)
        return leases

    def _ask_for_domains(self) -> None:
        """Nothing is ready, and other engines may hold more than this one: ask them for some."""
        if self.engines < 2:
            return
        now = self._store.now_ms()
        if now >= self._asked + ASK_MS // 3:
            self._asked = now
            values = {"held": len(self.held), "until": now + ASK_MS, "now": now}
            self._store.run(lambda: self._store.execute("ask_for_domains", **values))

    def _take(self, engine_id: int, limit: int) -> list[Lease]:
        self._unsure = True  # until we have heard that it worked
        leases = self._store.transaction(
            lambda now: self._tokens.lease(engine_id, limit, now), engine_id
        )
        self._tokens.leased()
        self._unsure = False
        return leases

    def _lost_leases(self, engine_id: int) -> list[Lease]:
        """Domains that are ours by a transaction whose end we did not hear of."""
        leases = self._store.transaction(
            lambda now: self._tokens.held_unknown(engine_id, self.held, now), engine_id
        )
        self._unsure = False
        return leases

    def _complete(self, leases: list[Lease]) -> None:
        """Read URLs and origins after the transaction, so that it is short."""
        by_id = {lease.domain_id: lease for lease in leases}
        try:
            self._read_logs(by_id)
            for row in self._store.read("origins_of", ids=int8s(by_id)):
                by_id[row[0]].origins.append(Origin(*row[1:]))
            self._errands.tell_answers(leases)
        except BaseException:
            self.forget(by_id)
            self._unsure = True
            raise

    def forget(self, ids: Iterable[int]) -> None:
        """These are held no longer."""
        for ident in ids:
            self.held.pop(ident, None)

    def _read_logs(self, leases: dict[int, Lease]) -> None:
        now = self._store.now_ms() if leases else 0
        for part in self._logs.in_parts(leases):
            for ident, log in part.logs.items():
                lease, counts = leases[ident], log.counts()
                lease.urls, lease.pages = self._run(log, now), counts.responses
                lease.queued = counts.queued

    def refill(self, domain_ids: list[int]) -> dict[int, list[QueuedUrl]]:
        now = self._store.now_ms() if domain_ids else 0
        runs: dict[int, list[QueuedUrl]] = {}
        for part in self._logs.in_parts(domain_ids):
            runs |= {ident: self._run(log, now) for ident, log in part.logs.items()}
        return runs

    def _run(self, log: DomainLog, now: int) -> list[QueuedUrl]:
        """As many URLs as memory is meant for; at least one."""
        rules = self._store.rules
        return log.next(now, rules.run_urls, rules.run_bytes)

    def settled(self, targets: list[tuple[int, int]]) -> set[tuple[int, int]]:
        read = self._logs.read(ident for ident, _ in targets)
        return {(ident, fp) for ident, fp in targets if read[ident].state(fp) == "done"}
