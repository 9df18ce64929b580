"""Commits on SQLite: all that happened in an engine since its last commit, in one transaction.

Owns the order of statements inside it; what each part of a batch means is in `values.Batch`.
"""

from __future__ import annotations

import orjson

from lycosa.frontier import queries
from lycosa.frontier.columns import page_values
from lycosa.frontier.rules import EXCLUDED
from lycosa.frontier.sqlite.add import Adder
from lycosa.frontier.sqlite.connection import errors_mapped
from lycosa.frontier.sqlite.errands import Errands
from lycosa.frontier.sqlite.leases import Leases
from lycosa.frontier.sqlite.left_out import LeftOutUrls
from lycosa.frontier.sqlite.store import SqliteStore
from lycosa.frontier.sqlite.tokens import Tokens
from lycosa.frontier.states import waiting_order
from lycosa.frontier.tally import counted
from lycosa.frontier.values import Batch, Committed, Deferral, Purge
from lycosa.records import Flag, PageRow, QueuedUrl

SQL = queries.load("sqlite")
FEW_ROWS = 8  # of one statement where a row may have half a megabyte (robots.txt)


class Commits:
    """See `EngineFrontier`."""

    def __init__(
        self,
        store: SqliteStore,
        tokens: Tokens,
        leases: Leases,
        adder: Adder,
        errands: Errands,
        left_out: LeftOutUrls,
    ) -> None:
        self._store = store
        self._db = store.db
        self._tokens = tokens
        self._leases = leases
        self._adder = adder
        self._errands = errands
        self._left_out = left_out

    @errors_mapped
    def commit(self, engine_id: int, batch: Batch) -> Committed:
        """One transaction, applied once: a batch whose number is not new changes nothing (F5)."""
        with self._store.transaction(engine_id, self._store.shorten_log) as now:
            result = Committed(now, 0, False, 0)
            last, outcomes = self._db.execute(
                SQL["last_batch"], {"engine_id": engine_id}
            ).fetchone()
            if batch.number > last:
                self._apply(engine_id, batch, now, result, outcomes)
        self._leases.forget(release.domain_id for release in batch.released)
        self._control(result)
        return result

    @errors_mapped
    def watch(self) -> Committed:
        result = Committed(self._store.now_ms(), 0, False, 0)
        self._control(result)
        return result

    def _apply(
        self, engine_id: int, batch: Batch, now: int, result: Committed, outcomes: str
    ) -> None:
        self._tokens.check_hold(engine_id, batch.visited())
        done, left = self._finish(batch.pages)
        self._defer(batch.deferred)
        errands = self._errands.needed(batch.errands, now)
        added, new_domains = self._adder.add_links(
            batch.links + errands, now, result, own=engine_id
        )
        self._defer(self._errands.spaced(errands, now))
        # After adding: the page that filled a domain's cap may have brought links of its own.
        purged = self._purge(batch.purges, now, result) + self._drop(batch.dropped, result)
        if EXCLUDED in result.drops:
            self._left_out.trim()
        self._remember(batch)
        self._errands.answer(result.refused + batch.answers, now)
        self._errands.free_slots(engine_id, batch.slots)
        self._tokens.release(engine_id, batch.released, result.added)
        self._db.executemany(
            SQL["segment_upsert"],
            [(kind, ident, engine_id, size, shut) for kind, ident, size, shut in batch.segments],
        )
        account = {
            "engine_id": engine_id,
            "number": batch.number,
            "pages": sum(1 for page in done if page.status),
            "queued": added - left - purged,
            "domains": new_domains,
            "outcomes": counted(outcomes, (page.outcome for page in done), result.purged),
            "stats": orjson.dumps(batch.stats).decode(),
        }
        self._db.execute(SQL["account"], account)

    def _finish(self, pages: list[PageRow]) -> tuple[list[PageRow], int]:
        """Record pages whose URL was ours to record; returns them, and how many left the queue."""
        if self._all_leave(pages):
            done, left = pages, len(pages)
        else:
            done, left = [], 0
            for page in pages:
                taken = self._leave_queue(page)
                left += taken
                if taken or (page.order < 0 and self._first_seen(page)):
                    done.append(page)
        self._store.write_rows("page_insert", [page_values(page) for page in done])
        return done, left

    def _all_leave(self, pages: list[PageRow]) -> bool:
        """Take all pages out of the queue if all are there, as is usual; else do nothing."""
        self._db.execute("SAVEPOINT leave")
        keys = [(page.domain_id, page.order, page.fp) for page in pages]
        gone = self._store.write_rows("queue_delete", keys)
        self._store.end_savepoint("leave", keep=gone == len(keys))
        return gone == len(keys)

    def _leave_queue(self, page: PageRow) -> int:
        order = page.order
        if order < 0:
            order = self._store.one("seen_order", (page.domain_id, page.fp))
            if order is None:
                return 0
        return self._db.execute(SQL["queue_delete"], (page.domain_id, order, page.fp)).rowcount

    def _first_seen(self, page: PageRow) -> bool:
        return self._db.execute(SQL["seen_insert"], (page.domain_id, page.fp, 0)).rowcount == 1

    def _purge(self, purges: list[Purge], now: int, result: Committed) -> int:
        total = 0
        for purge in purges:
            low, high = (f"{purge.origin}/", f"{purge.origin}0") if purge.origin else ("", "~")
            values = {
                "id": purge.domain_id,
                "low": low,
                "high": high,
                "now": now,
                "outcome": purge.outcome,
                "all": purge.errands,
            }
            if purge.outcome == EXCLUDED:
                self._db.execute(SQL["purge_keep"], values)
            self._db.execute(SQL["purge_forget" if purge.forget else "purge_record"], values)
            count = self._db.execute(SQL["purge_delete"], values).rowcount
            tally = result.drops if purge.forget else result.purged
            tally[purge.outcome] = tally.get(purge.outcome, 0) + count
            total += count
        return total

    def _drop(self, dropped: list[tuple[int, QueuedUrl, str]], result: Committed) -> int:
        """Forget and count single URLs that a rule refuses; returns how many were queued."""
        total = 0
        excluded = []
        for ident, url, reason in dropped:
            gone = self._db.execute(SQL["queue_delete"], (ident, url.order, url.fp)).rowcount
            if gone:
                self._db.execute(SQL["seen_delete"], (ident, url.fp))
            if gone and reason == EXCLUDED and not url.flags & Flag.ERRAND:
                excluded.append((ident, url))
            if reason:
                result.drops[reason] = result.drops.get(reason, 0) + 1
            total += gone
        self._left_out.leave_out(excluded)
        return total

    def _defer(self, deferred: list[Deferral]) -> None:
        for each in deferred:
            url, ident = each.url, each.domain_id
            gone = self._db.execute(SQL["queue_delete"], (ident, url.order, url.fp)).rowcount
            if not gone:
                continue
            order = waiting_order(each.until_ms)
            row = (ident, order, url.fp, url.url, url.depth, each.attempts, url.flags)
            self._db.execute(SQL["queue_insert"], row)
            self._db.execute(SQL["seen_move"], (order, ident, url.fp))

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
        total, stop, version = self._db.execute(SQL["control"]).fetchone()
        result.total_pages = total or 0
        result.stop = stop == "1"
        result.rules_version = int(version or 0)
