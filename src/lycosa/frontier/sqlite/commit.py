"""Commits on SQLite: all that happened in an engine since its last commit, in one transaction.

Owns the order of statements inside it; what each part of a batch means is in `values.Batch`.
"""

from __future__ import annotations

import orjson

from lycosa.frontier import queries
from lycosa.frontier.columns import failed_page
from lycosa.frontier.rules import EXCLUDED
from lycosa.frontier.sqlite.add import Adder
from lycosa.frontier.sqlite.connection import errors_mapped
from lycosa.frontier.sqlite.errands import Errands
from lycosa.frontier.sqlite.inbox import Buckets
from lycosa.frontier.sqlite.leases import Leases
from lycosa.frontier.sqlite.left_out import LeftOutUrls
from lycosa.frontier.sqlite.pages import Pages
from lycosa.frontier.sqlite.planning import Planned, Planner
from lycosa.frontier.sqlite.store import SqliteStore
from lycosa.frontier.sqlite.tokens import Tokens
from lycosa.frontier.tally import counted
from lycosa.frontier.values import Batch, Committed, Purge
from lycosa.records import PageRow, QueuedUrl

SQL = queries.load("sqlite")
FEW_ROWS = 8  # of one statement where a row may have half a megabyte (robots.txt)


class Commits:
    """See `EngineFrontier`."""

    def __init__(
        self,
        store: SqliteStore,
        tokens: Tokens,
        leases: Leases,
        planner: Planner,
        pages: Pages,
        adder: Adder,
        inbox: Buckets,
        errands: Errands,
        left_out: LeftOutUrls,
    ) -> None:
        self._store = store
        self._db = store.db
        self._tokens = tokens
        self._leases = leases
        self._planner = planner
        self._pages = pages
        self._adder = adder
        self._inbox = inbox
        self._errands = errands
        self._left_out = left_out

    @errors_mapped
    def commit(self, engine_id: int, batch: Batch) -> Committed:
        """One transaction, applied once: a batch whose number is not new changes nothing (F5). What
        it does to logs is decided before: whoever else could change them may only append."""
        made = self._planner.plan(engine_id, batch)
        with self._store.transaction(engine_id, self._store.shorten_log) as now:
            result = Committed(now, 0, False, 0)
            last, outcomes = self._db.execute(
                SQL["last_batch"], {"engine_id": engine_id}
            ).fetchone()
            if batch.number > last:
                self._apply(engine_id, batch, made, result, outcomes)
        self._inbox.rounds.tell(result)
        self._leases.forget(release.domain_id for release in batch.released)
        self._control(result)
        return result

    @errors_mapped
    def watch(self) -> Committed:
        result = Committed(self._store.now_ms(), 0, False, 0)
        self._inbox.rounds.tell(result)
        self._control(result)
        return result

    def _apply(
        self, engine_id: int, batch: Batch, made: Planned, result: Committed, outcomes: str
    ) -> None:
        now, plan = result.now_ms, made.plan
        self._tokens.check_hold(engine_id, batch.visited())
        grown = self._planner.grown(made, batch.released)
        self._planner.write(made, now)
        failed = self._purge(plan.purged, now, result)
        done = self._pages.record(plan.pages + failed)
        result.added |= {ident: own.added for ident, own in plan.own.items() if own.added}
        arrival, arrived = self._planner.arrival(engine_id, made, now), Committed(now, 0, False, 0)
        added, new_domains = self._adder.deliver(arrival.new, now, arrived, *arrival[1:])
        result.join(arrived)
        ends = self._planner.ends(made, batch.released, grown | arrived.added.keys())
        self._drop(batch, plan.dropped, result)
        if EXCLUDED in result.drops:
            self._left_out.trim()
        self._remember(batch)
        self._errands.answer(result.refused + batch.answers, now)
        self._errands.free_slots(engine_id, batch.slots)
        self._tokens.release(engine_id, ends)
        self._db.executemany(
            SQL["segment_upsert"],
            [(kind, ident, engine_id, size, shut) for kind, ident, size, shut in batch.segments],
        )
        account = {
            "engine_id": engine_id,
            "number": batch.number,
            "pages": sum(1 for page in done if page.status),
            "queued": added + plan.change,
            "domains": new_domains,
            "outcomes": counted(outcomes, (page.outcome for page in done), {}),
            "stats": orjson.dumps(batch.stats).decode(),
        }
        self._db.execute(SQL["account"], account)

    def _purge(
        self, purged: list[tuple[Purge, list[QueuedUrl]]], now: int, result: Committed
    ) -> list[PageRow]:
        """Count URLs that were taken out of the queue; returns those that failed for good."""
        failed: list[PageRow] = []
        for purge, urls in purged:
            tally = result.drops if purge.forget else result.purged
            tally[purge.outcome] = tally.get(purge.outcome, 0) + len(urls)
            ident = purge.domain_id
            if purge.outcome == EXCLUDED:
                self._left_out.leave_out([(ident, url) for url in urls])
            if not purge.forget:
                failed += [failed_page(ident, url, purge.outcome, now) for url in urls]
        return failed

    def _drop(
        self, batch: Batch, gone: list[tuple[int, QueuedUrl, str]], result: Committed
    ) -> None:
        """Count single URLs that a rule refuses."""
        for _, _, reason in batch.dropped:
            if reason:
                result.drops[reason] = result.drops.get(reason, 0) + 1
        excluded = [(ident, url) for ident, url, reason in gone if reason == EXCLUDED]
        self._left_out.leave_out(excluded)

    def _remember(self, batch: Batch) -> None:
        self._store.write_rows(
            "origin_upsert",
            [
                (ident, o.origin, o.fetched_ms, o.status, o.rules, o.failures, o.retry_ms, *more)
                for ident, o in batch.origins
                for more in ((o.reason, o.detail, o.aim, o.hops, o.asked_ms),)
            ],
            most=FEW_ROWS,
        )
        self._db.executemany(SQL["domain_delay"], [(delay, ident) for ident, delay in batch.delays])

    def _control(self, result: Committed) -> None:
        found = self._db.execute(SQL["control"]).fetchone()
        total, stop, version, self._inbox.rounds.domains = found
        result.total_pages = total or 0
        result.stop = stop == "1"
        result.rules_version = int(version or 0)
