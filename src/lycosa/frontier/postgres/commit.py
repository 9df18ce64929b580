"""Commits on PostgreSQL: all that happened in an engine since its last commit, in one transaction.

Owns the order of statements inside it; what each part of a batch means is in `values.Batch`.
Lists travel as arrays sorted by (domain, fingerprint), so that engines that meet take their locks
in the same order.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter
from typing import Any

import orjson

from lycosa.frontier.columns import BLOBS, NUMBERS, TEXTS
from lycosa.frontier.postgres.add import Adder
from lycosa.frontier.postgres.connection import blobs, int8s, texts
from lycosa.frontier.postgres.errands import Errands
from lycosa.frontier.postgres.leases import Leases
from lycosa.frontier.postgres.left_out import LeftOutUrls
from lycosa.frontier.postgres.store import PostgresStore
from lycosa.frontier.postgres.tokens import Tokens
from lycosa.frontier.rules import EXCLUDED
from lycosa.frontier.states import waiting_order
from lycosa.frontier.tally import counted
from lycosa.frontier.values import Batch, Committed, Deferral, Purge
from lycosa.records import Flag, Origin, PageRow, QueuedUrl


class Commits:
    """See `EngineFrontier`."""

    def __init__(
        self,
        store: PostgresStore,
        tokens: Tokens,
        leases: Leases,
        adder: Adder,
        errands: Errands,
        left_out: LeftOutUrls,
    ) -> None:
        self._store = store
        self._tokens = tokens
        self._leases = leases
        self._adder = adder
        self._errands = errands
        self._left_out = left_out

    def commit(self, engine_id: int, batch: Batch) -> Committed:
        """One transaction, applied once: a batch whose number is not new changes nothing (F5)."""
        result = self._store.transaction(
            lambda now: self._apply_once(engine_id, batch, now), engine_id
        )
        self._leases.forget(release.domain_id for release in batch.released)
        self._tokens.rechecked(result.now_ms)
        self._control(result)
        return result

    def watch(self) -> Committed:
        result = Committed(self._store.now_ms(), 0, False, 0)
        self._control(result)
        return result

    def _control(self, result: Committed) -> None:
        now = self._store.test_now()
        found = self._store.read("control", now=now)[0]
        total, stop, version, result.engines, result.least_held = found
        self._leases.engines = result.engines
        result.total_pages = total or 0
        result.stop = stop == "1"
        result.rules_version = int(version or 0)

    def _apply_once(self, engine_id: int, batch: Batch, now: int) -> Committed:
        result = Committed(now, 0, False, 0)
        last, outcomes = self._store.rows("last_batch", engine_id=engine_id)[0]
        if batch.number > last:
            self._apply(engine_id, batch, now, result, outcomes)
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
        self._remember_origins(batch.origins)
        self._remember_delays(batch.delays)
        self._errands.answer(result.refused + batch.answers, now)
        self._errands.free_slots(engine_id, batch.slots)
        self._tokens.release(engine_id, batch.released, result.added, now)
        self._tokens.recheck(now)
        for kind, ident, size, shut in batch.segments:
            self._store.execute(
                "segment_upsert", kind=kind, id=ident, engine_id=engine_id, length=size, closed=shut
            )
        self._store.execute(
            "account",
            engine_id=engine_id,
            number=batch.number,
            pages=sum(1 for page in done if page.status),
            queued=added - left - purged,
            domains=new_domains,
            outcomes=counted(outcomes, (page.outcome for page in done), result.purged),
            stats=orjson.dumps(batch.stats).decode(),
        )

    def _finish(self, pages: list[PageRow]) -> tuple[list[PageRow], int]:
        """Record pages whose URL was ours to record; returns them, and how many left the queue."""
        if not pages:
            return [], 0
        by_key: dict[tuple[int, int], PageRow] = {}
        for page in pages:
            by_key.setdefault((page.domain_id, page.fp), page)
        orders = {key: page.order for key, page in by_key.items()}
        fresh = self._locate(orders)
        gone = self._leave_queue((ident, order, fp) for (ident, fp), order in orders.items())
        kept = [page for key, page in sorted(by_key.items()) if key in fresh or key in gone]
        if kept:
            self._store.execute("page_insert", **_page_arrays(kept))
        return kept, len(gone)

    def _locate(self, orders: dict[tuple[int, int], int]) -> set[tuple[int, int]]:
        """Find the queue rows of pages that a redirect led to; returns those never seen before.

        First the insert, then the look: whoever queued one meanwhile is waited for and then seen.
        """
        found = sorted(key for key, order in orders.items() if order < 0)
        if not found:
            return set()
        domains, fps = zip(*found, strict=True)
        keys = {"domains": int8s(domains), "fps": int8s(fps)}
        fresh = {(row[0], row[1]) for row in self._store.rows("first_seen", **keys)}
        for ident, fp, order in self._store.rows("seen_orders", **keys):
            orders[ident, fp] = order
        return fresh

    def _leave_queue(self, rows: Iterable[tuple[int, int, int]]) -> set[tuple[int, int]]:
        """Delete (domain, order, fp) from the queue; returns what was there as (domain, fp)."""
        domains, orders, fps = zip(*sorted(rows), strict=True)
        values = {"domains": int8s(domains), "orders": int8s(orders), "fps": int8s(fps)}
        return {(row[0], row[1]) for row in self._store.rows("queue_delete", **values)}

    def _purge(self, purges: list[Purge], now: int, result: Committed) -> int:
        total = 0
        for purge in purges:
            low, high = (f"{purge.origin}/", f"{purge.origin}0") if purge.origin else ("", "~")
            values: dict[str, Any] = {"id": purge.domain_id, "low": low, "high": high}
            values["all"] = purge.errands
            if not purge.forget:
                values |= {"now": now, "outcome": purge.outcome}
            forget = "purge_exclude" if purge.outcome == EXCLUDED else "purge_forget"
            count = self._store.one(forget if purge.forget else "purge_record", **values)
            tally = result.drops if purge.forget else result.purged
            tally[purge.outcome] = tally.get(purge.outcome, 0) + count
            total += count
        return total

    def _drop(self, dropped: list[tuple[int, QueuedUrl, str]], result: Committed) -> int:
        """Forget and count single URLs that a rule refuses; returns how many were queued."""
        if not dropped:
            return 0
        for _, _, reason in dropped:
            if reason:
                result.drops[reason] = result.drops.get(reason, 0) + 1
        gone = self._leave_queue((ident, url.order, url.fp) for ident, url, _ in dropped)
        if gone:
            domains, fps = zip(*sorted(gone), strict=True)
            self._store.execute("seen_delete", domains=int8s(domains), fps=int8s(fps))
        excluded = [
            (ident, url)
            for ident, url, reason in dropped
            if reason == EXCLUDED and (ident, url.fp) in gone and not url.flags & Flag.ERRAND
        ]
        self._left_out.leave_out(excluded)
        return len(gone)

    def _defer(self, deferred: list[Deferral]) -> None:
        if not deferred:
            return
        chosen = sorted(deferred, key=lambda each: (each.domain_id, each.url.fp))
        self._store.execute(
            "defer",
            domains=int8s(each.domain_id for each in chosen),
            orders=int8s(each.url.order for each in chosen),
            fps=int8s(each.url.fp for each in chosen),
            until=int8s(waiting_order(each.until_ms) for each in chosen),
            attempts=int8s(each.attempts for each in chosen),
        )

    def _remember_origins(self, origins: list[tuple[int, Origin]]) -> None:
        newest = {(ident, origin.origin): origin for ident, origin in origins}
        if not newest:
            return
        keys = sorted(newest)
        values = [newest[key] for key in keys]
        self._store.execute(
            "origin_upsert",
            domains=int8s(ident for ident, _ in keys),
            origins=texts(name for _, name in keys),
            fetched=int8s(each.fetched_ms for each in values),
            statuses=int8s(each.status for each in values),
            rules=blobs(each.rules for each in values),
            failures=int8s(each.failures for each in values),
            retry=int8s(each.retry_ms for each in values),
            reasons=texts(each.reason for each in values),
            details=texts(each.detail for each in values),
            aims=texts(each.aim for each in values),
            hops=int8s(each.hops for each in values),
            asked=int8s(each.asked_ms for each in values),
        )

    def _remember_delays(self, delays: list[tuple[int, int]]) -> None:
        if delays:
            longest = dict(sorted(delays))  # of several for one domain the last, the longest
            self._store.execute("domain_delay", ids=int8s(longest), delays=int8s(longest.values()))


def _page_arrays(pages: list[PageRow]) -> dict[str, Any]:
    numbers = zip(*map(attrgetter(*NUMBERS), pages), strict=True)
    words = zip(*map(attrgetter(*TEXTS), pages), strict=True)
    binary = zip(*map(attrgetter(*BLOBS), pages), strict=True)
    return {
        **dict(zip(NUMBERS, map(int8s, numbers), strict=True)),
        **dict(zip(TEXTS, map(texts, words), strict=True)),
        **dict(zip(BLOBS, map(blobs, binary), strict=True)),
    }
