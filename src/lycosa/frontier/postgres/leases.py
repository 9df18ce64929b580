"""Leases on PostgreSQL: domains go to an engine, with their next URLs and what is known of them.

Owns the tables `ready` and `held` as far as engines move domains between them, and which domains
this process holds: a lease whose commit was cut off may be held all the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from lycosa.errors import Fenced
from lycosa.frontier.postgres.connection import int8s
from lycosa.frontier.postgres.errands import Errands
from lycosa.frontier.postgres.store import PostgresStore
from lycosa.frontier.states import WAITING
from lycosa.log import get_logger
from lycosa.records import Lease, Origin, QueuedUrl

ASK_MS = 6000  # for which others give domains back to one that holds few
ROUNDS = 5  # of one lease, if it must put back what it took
# For so long a look begins where the last one ended. Before that place lie dead rows, as many as
# somebody's open snapshot keeps. Seldom does a domain come to stand there (seeds do): it is found
# so much later, unless no other is ready.
FRONT_MS = 5000
BEFORE_ALL = -(1 << 63)

log = get_logger("store")


class InLine(NamedTuple):
    """A row of `ready` that was taken, with what is known of its domain."""

    id: int
    ready_at: int
    pages: int
    queued: int
    robots: int  # bytes of robots rules of all that were taken before and with it
    name: str | None  # None, as all that follows: the domain is not known
    delay_ms: int
    failures: int
    seeded: bool
    idle: bool
    not_before: int
    wait_at: int

    def lease(self) -> Lease:
        assert self.name is not None
        moment = max(self.ready_at, self.not_before)
        known = (self.delay_ms, self.failures, self.pages, self.queued, self.seeded)
        return Lease(self.id, self.name, moment, *known)


class Leases:
    """See `EngineFrontier`."""

    def __init__(self, store: PostgresStore, errands: Errands) -> None:
        self._store = store
        self._errands = errands
        self.held: dict[int, int] = {}  # engine by domain, as far as engines here know
        self.engines = 1  # of all nodes, by the last commit
        self._asked = 0  # when others were last asked for domains
        self._unsure = False  # a lease whose commit was cut off may be ours
        self._front = BEFORE_ALL  # where looks begin
        self._front_until = 0

    def lease(self, engine_id: int, limit: int) -> list[Lease]:
        if limit <= 0 or (
            self._store.timeline.leases_from and self._store.timeline.waits(self._store.now_ms())
        ):
            return []
        leases = self._lost_leases(engine_id) if self._unsure else []
        if not leases and not self._any_ready():
            self._ask_for_domains()
            return []  # looking costs no write
        if not leases:
            leases = self._take(engine_id, limit)
        self.held.update((lease.domain_id, engine_id) for lease in leases)
        leases.sort(key=lambda each: each.ready_ms)
        self._complete(leases)
        return leases

    def _any_ready(self) -> bool:
        now = self._store.test_now()
        found = self._store.read_one("any_ready", front=self._front, now=now)
        if found is None and self._front > BEFORE_ALL:
            self._front = BEFORE_ALL
            found = self._store.read_one("any_ready", front=self._front, now=now)
        return found is not None

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
            lambda now: self._take_rounds(engine_id, limit, now), engine_id
        )
        self._unsure = False
        return leases

    def _take_rounds(self, engine_id: int, limit: int, now: int) -> list[Lease]:
        """The first in line that may be visited, and no more than memory is meant for their robots
        rules."""
        if now >= self._front_until:
            self._front, self._front_until = BEFORE_ALL, now + FRONT_MS
        leases: list[Lease] = []
        budget = self._store.rules.robots_bytes
        for _ in range(ROUNDS):
            asked = limit - len(leases)
            values = {"front": self._front, "now": now, "limit": asked, "budget": budget}
            rows = [InLine(*row) for row in self._store.rows("lease", **values)]
            if not rows:
                break
            self._front = max(row.ready_at for row in rows)
            leases += self._sorted_out(engine_id, rows, now)
            budget -= max(row.robots for row in rows)
            # Once more only if some of as many as were asked for could not be handed out.
            if len(leases) >= limit or len(rows) < asked:
                break
        return leases

    def _sorted_out(self, engine_id: int, rows: list[InLine], now: int) -> list[Lease]:
        """Of those that left the line: who may be visited is held now, who must wait for longer
        goes back. A row that should not have been there is gone, and the lease goes on."""
        by_id: dict[int, InLine] = {}
        for row in sorted(rows, key=lambda row: row.ready_at):
            if row.id in by_id:
                _log_stray(row, "it stood there twice")
            by_id[row.id] = row
        due: list[InLine] = []
        early: list[InLine] = []
        for row in by_id.values():
            if row.name is None or row.idle:
                _log_stray(row, "it is idle" if row.idle else "it is not known")
            else:
                (early if row.not_before > now else due).append(row)
        held = self._hold(engine_id, due)
        self._put_back(early)
        if waited := [row.id for row in (*due, *early) if row.wait_at]:
            self._store.execute("wait_over", ids=int8s(sorted(waited)))
        return [row.lease() for row in due if row.id in held]

    def _hold(self, engine_id: int, due: list[InLine]) -> set[int]:
        if not due:
            return set()
        rows = self._store.rows("hold", engine_id=engine_id, **_tokens(due))
        held = {row[0] for row in rows}
        for row in due:
            if row.id not in held:
                _log_stray(row, "it is held")
        return held

    def _put_back(self, early: list[InLine]) -> None:
        if early:
            moments = int8s(max(row.ready_at, row.not_before) for row in early)
            self._store.execute("stand_in_line", moments=moments, **_tokens(early))

    def _lost_leases(self, engine_id: int) -> list[Lease]:
        """Domains that are ours by a transaction whose end we did not hear of."""
        known = int8s(self.held)

        def work(now: int) -> list[Lease]:
            rows = self._store.rows("held_unknown", engine_id=engine_id, known=known)
            # They were ready when they were leased, and their place in line is gone.
            return [Lease(ident, name, now, *more) for ident, name, *more in rows]

        leases = self._store.transaction(work, engine_id)
        self._unsure = False
        return leases

    def check_held(self, engine_id: int, ids: Iterable[int]) -> None:
        """Raise Fenced if the engine does not hold all of these domains: somebody else may visit
        them. Inside a transaction, behind the fence."""
        asked = sorted(set(ids))
        if asked:
            lost = self._store.one("not_held", engine_id=engine_id, ids=int8s(asked))
            if lost is not None:
                raise Fenced(f"Engine {engine_id} does not hold domain {lost}, of which it tells.")

    def _complete(self, leases: list[Lease]) -> None:
        """Read URLs and origins after the transaction, so that it is short."""
        by_id = {lease.domain_id: lease for lease in leases}
        try:
            for ident, urls in self.refill(list(by_id)).items():
                by_id[ident].urls = urls
            ids = int8s(by_id)
            for row in self._store.read("origins_of", ids=ids):
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

    def refill(self, domain_ids: list[int]) -> dict[int, list[QueuedUrl]]:
        runs: dict[int, list[QueuedUrl]] = {ident: [] for ident in domain_ids}
        budgets = dict.fromkeys(domain_ids, self._store.rules.run_bytes)
        due = WAITING + self._store.now_ms() if domain_ids else 0
        values = {"ids": int8s(domain_ids), "waiting": WAITING, "limit": self._store.rules.run_urls}
        for ident, order, fp, url, depth, attempts, flags in self._store.read(
            "next_urls", due=due, **values
        ):
            budgets[ident] -= len(url)
            if budgets[ident] >= 0 or not runs[ident]:
                runs[ident].append(QueuedUrl(fp, url, depth, order, attempts, flags))
        return runs

    def settled(self, targets: list[tuple[int, int]]) -> set[tuple[int, int]]:
        if not targets:
            return set()
        domains, fps = zip(*sorted(targets), strict=True)
        values = {"domains": int8s(domains), "fps": int8s(fps)}
        return {(row[0], row[1]) for row in self._store.read("settled", **values)}


def _tokens(rows: Sequence[InLine]) -> dict[str, Any]:
    return {
        "ids": int8s(row.id for row in rows),
        "pages": int8s(row.pages for row in rows),
        "queued": int8s(row.queued for row in rows),
    }


def _log_stray(row: InLine, why: str) -> None:
    log.error(
        f"A bug: domain {row.name or row.id} stood in line though {why}; the crawl goes on.",
        domain_id=row.id,
        ready_at=row.ready_at,
    )
