"""Commits on PostgreSQL: all that happened in an engine since its last commit, in one transaction.

Owns the order of statements inside it; what each part of a batch means is in `values.Batch`.
Lists travel as arrays sorted by (domain, fingerprint), so that engines that meet take their locks
in the same order.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import orjson

from lycosa.frontier.columns import BLOBS, NUMBERS, TEXTS, failed_page
from lycosa.frontier.postgres.add import Adder
from lycosa.frontier.postgres.connection import blobs, int8s, texts
from lycosa.frontier.postgres.errands import Errands
from lycosa.frontier.postgres.inbox import Buckets
from lycosa.frontier.postgres.leases import Leases
from lycosa.frontier.postgres.left_out import LeftOutUrls
from lycosa.frontier.postgres.planning import Planned, Planner
from lycosa.frontier.postgres.store import PostgresStore
from lycosa.frontier.postgres.tokens import Tokens
from lycosa.frontier.rules import EXCLUDED
from lycosa.frontier.tally import counted
from lycosa.frontier.values import Batch, Committed, Purge
from lycosa.records import Origin, PageRow, QueuedUrl


class Commits:
    """See `EngineFrontier`."""

    def __init__(
        self,
        store: PostgresStore,
        tokens: Tokens,
        leases: Leases,
        planner: Planner,
        adder: Adder,
        inbox: Buckets,
        errands: Errands,
        left_out: LeftOutUrls,
    ) -> None:
        self._store = store
        self._tokens = tokens
        self._leases = leases
        self._planner = planner
        self._adder = adder
        self._inbox = inbox
        self._errands = errands
        self._left_out = left_out

    def commit(self, engine_id: int, batch: Batch) -> Committed:
        """One transaction, applied once: a batch whose number is not new changes nothing (F5). What
        it does to logs is decided before: whoever else could change them may only append."""
        made = self._planner.plan(engine_id, batch)
        result = self._store.transaction(
            lambda now: self._apply_once(engine_id, batch, made, now), engine_id
        )
        self._inbox.rounds.tell(result)
        self._leases.forget(release.domain_id for release in batch.released)
        self._tokens.rechecked(result.now_ms)
        self._control(result)
        return result

    def watch(self) -> Committed:
        result = Committed(self._store.now_ms(), 0, False, 0)
        self._inbox.rounds.tell(result)
        self._control(result)
        return result

    def _control(self, result: Committed) -> None:
        now = self._store.test_now()
        found = self._store.read("control", now=now)[0]
        total, stop, version, self._inbox.rounds.domains, result.engines, result.least_held = found
        self._leases.engines = result.engines
        result.total_pages = total or 0
        result.stop = stop == "1"
        result.rules_version = int(version or 0)

    def _apply_once(self, engine_id: int, batch: Batch, made: Planned, now: int) -> Committed:
        result = Committed(now, 0, False, 0)
        last, outcomes = self._store.rows("last_batch", engine_id=engine_id)[0]
        if batch.number > last:
            self._apply(engine_id, batch, made, result, outcomes)
        return result

    def _apply(
        self, engine_id: int, batch: Batch, made: Planned, result: Committed, outcomes: str
    ) -> None:
        now, plan = result.now_ms, made.plan
        self._tokens.check_hold(engine_id, batch.visited() | plan.own.keys())
        self._planner.write(made, now)
        failed = self._purge(plan.purged, now, result)
        done = self._record(plan.pages + failed)
        result.added |= {ident: own.added for ident, own in plan.own.items() if own.added}
        arrival = self._planner.arrival(engine_id, made, now)
        added, new_domains = self._adder.deliver(arrival.new, now, result, *arrival[1:])
        self._drop(batch, plan.dropped, result)
        if EXCLUDED in result.drops:
            self._left_out.trim()
        self._remember_origins(batch.origins)
        self._remember_delays(batch.delays)
        self._errands.answer(result.refused + batch.answers, now)
        self._errands.free_slots(engine_id, batch.slots)
        self._tokens.recheck(now)
        # After delivering: what came in until now is counted.
        self._tokens.release(engine_id, self._planner.ends(made, batch.released), now)
        for kind, ident, size, shut in batch.segments:
            self._store.execute(
                "segment_upsert", kind=kind, id=ident, engine_id=engine_id, length=size, closed=shut
            )
        self._store.execute(
            "account",
            engine_id=engine_id,
            number=batch.number,
            pages=sum(1 for page in done if page.status),
            queued=added + plan.change,
            domains=new_domains,
            outcomes=counted(outcomes, (page.outcome for page in done), {}),
            stats=orjson.dumps(batch.stats).decode(),
        )

    def _record(self, pages: list[PageRow]) -> list[PageRow]:
        """Pages become rows; returns those that do. Where the marks of a log were damaged, some may
        have a row already."""
        if not pages:
            return []
        by_key = {(page.domain_id, page.fp): page for page in pages}
        arrays = _page_arrays([by_key[key] for key in sorted(by_key)])
        return [by_key[ident, fp] for ident, fp in self._store.rows("page_insert", **arrays)]

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
