"""The frontier on PostgreSQL: one connection per engine, one short transaction a second.

Owns the order of statements inside each transaction. The SQL itself is in `*.sql`,
the states in `states.py`, adding URLs in `add`. Lists travel as arrays sorted by
(domain, fingerprint), so that engines that meet take their locks in the same order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import takewhile
from operator import attrgetter
from typing import Any

import orjson

from lycosa.frontier.postgres.connection import blobs, int8s, texts
from lycosa.frontier.postgres.errands import PostgresErrands
from lycosa.frontier.postgres.left_out import PostgresLeftOut
from lycosa.frontier.protocol import EXCLUDED, Batch, Committed, Deferral, Link, Purge, Release
from lycosa.frontier.states import IDLE, WAITING, waiting_order
from lycosa.frontier.tally import counted
from lycosa.records import Flag, Lease, Origin, PageRow, QueuedUrl
from lycosa.urls.domains import domain_id as id_of

RECOUNT_EVERY = 8  # releases between two counts of a domain's queue
BEG_MS = 6000  # for which others give domains back to one that holds few
LOOK_AGAIN_MS = 30_000  # after which a domain found to be idle is looked at once more: five times
# the longest transaction seen, on a server with cold caches
LOOK_AGAIN = 100_000  # such domains remembered; the sweep at the end finds the others
OPEN_LOCK = 0x6C79636E  # nodes open a crawl one after the other

_PAGE_TEXTS = ("url", "outcome", "content_type", "redirect", "title")
_PAGE_NUMBERS = (
    *("domain_id", "fp", "depth", "fetched_ms", "status", "wire_bytes", "text_chars"),
    *("content_hash", "text_segment", "text_frame", "text_offset", "warc_segment", "warc_offset"),
)


class PostgresFrontier(PostgresLeftOut, PostgresErrands):
    """See `frontier.Frontier`."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._engines = 1  # of all nodes
        self._begged = 0
        self._unsure = False  # a lease whose commit was cut off may be ours
        self._idled: deque[tuple[int, int]] = deque(maxlen=LOOK_AGAIN)  # (when, domain)

    # -- engines ------------------------------------------------------------------------------

    def register(self, host: str, pid: int, node: str = "", directory: str = "") -> int:
        def work(now: int) -> int:
            lease = self.rules.lease_ms
            owner: int = self._one(
                "register", host=host, pid=pid, node=node, directory=directory, now=now, lease=lease
            )
            return owner

        return self._transaction(work)

    def retire(self, owner: int) -> None:
        def work(now: int) -> None:
            if self._one("held_by", owner=owner) is None:
                self._execute("declare_dead", owner=owner)

        self._transaction(work)

    def expired(self) -> list[int]:
        now = self.now_ms()
        if not self._contact.long_enough(now):
            return []  # who was cut off himself can't tell
        return [row[0] for row in self._run(lambda: self._rows("expired", now=now))]

    def rescue(
        self, known_dead: Collection[int] = (), delays: Mapping[str, int] | None = None
    ) -> int:
        if not known_dead and not delays and not self.expired():
            return 0
        may_bury = self._contact.long_enough(self.now_ms())
        return self._transaction(lambda now: self._rescue(known_dead, delays or {}, may_bury, now))

    def _rescue(
        self, known: Collection[int], delays: Mapping[str, int], may_bury: bool, now: int
    ) -> int:
        ends = dict.fromkeys(sorted(known), now)
        if may_bury:
            ends.update(self._rows("bury_expired", now=now, known=int8s(known)))
        rescued = sum(self._take_over(owner, since) for owner, since in ends.items())
        if delays:
            ids, until = zip(*sorted((id_of(n), now + ms) for n, ms in delays.items()), strict=True)
            self._execute("wait_longer", ids=int8s(ids), until=int8s(until))
        return rescued

    def _take_over(self, owner: int, since: int) -> int:
        self._execute("declare_dead", owner=owner)
        if self.rules.max_pages_per_domain:
            self._execute("recount_pages", owner=owner)
        values = {"owner": owner, "since": since, "delay": self.rules.delay_ms}
        self._execute("slots_of_dead", **values)
        return self._execute("take_over", **values).rowcount

    def living(self, node: str = "") -> list[int]:
        return [row[0] for row in self._run(lambda: self._rows("living", node=node)) if row[0]]

    def everyone(self, node: str = "") -> list[int]:
        return [row[0] for row in self._run(lambda: self._rows("everyone", node=node))]

    def others(self, node: str) -> int:
        now, lease = self._test_now(), self.rules.lease_ms
        count: int = self._run(lambda: self._one("others", node=node, now=now, lease=lease))
        return count

    @contextmanager
    def opening(self) -> Iterator[None]:
        """One node at a time: who looks whether it is alone must know of those who look too."""
        self._run(lambda: self._execute("open_lock", key=OPEN_LOCK))
        try:
            yield
        finally:
            self._run(lambda: self._execute("open_unlock", key=OPEN_LOCK))

    def suspect(self, domain_id: int, order: int, fp: int) -> bool:
        """An engine died while it parsed this URL: twice, and it is poison (S3)."""
        values = {"id": domain_id, "ord": order, "fp": fp}
        return self._transaction(lambda now: self._execute("suspect", **values).rowcount > 0)

    # -- leases -------------------------------------------------------------------------------

    def lease(self, owner: int, limit: int) -> list[Lease]:
        if limit <= 0 or (self._timeline.leases_from and self._timeline.waits(self.now_ms())):
            return []
        found = self._lost_leases(owner) if self._unsure else []
        now = self._test_now()
        if not found and self._run(lambda: self._one("any_ready", now=now)) is None:
            self._beg()
            return []  # looking costs no write
        if not found:
            found = self._take(owner, limit)
        self._held.update((row[0], owner) for row in found)
        leases = sorted((_lease(row) for row in found), key=lambda each: each.ready_ms)
        self._complete(leases)
        return leases

    def _beg(self) -> None:
        """Nothing is ready, and others may hold more than we do: ask them for some."""
        if self._engines < 2:
            return
        now = self.now_ms()
        if now >= self._begged + BEG_MS // 3:
            self._begged = now
            values = {"held": len(self._held), "until": now + BEG_MS, "now": now}
            self._run(lambda: self._execute("beg", **values))

    def _take(self, owner: int, limit: int) -> list[tuple[Any, ...]]:
        budget = self.rules.robots_bytes
        self._unsure = True  # until we have heard that it worked
        found = self._transaction(
            lambda now: self._rows("lease", owner=owner, now=now, limit=limit, budget=budget), owner
        )
        self._unsure = False
        return found

    def _lost_leases(self, owner: int) -> list[tuple[Any, ...]]:
        """Domains that are ours by a transaction whose end we did not hear of."""
        known = int8s(self._held)
        found = self._transaction(
            lambda now: self._rows("held_unknown", owner=owner, known=known), owner
        )
        self._unsure = False
        return found

    def _complete(self, leases: list[Lease]) -> None:
        """Read URLs and origins after the transaction, so that it is short."""
        by_id = {lease.domain_id: lease for lease in leases}
        try:
            for ident, urls in self.refill(list(by_id)).items():
                by_id[ident].urls = urls
            ids = int8s(by_id)
            for row in self._run(lambda: self._rows("origins_of", ids=ids)):
                by_id[row[0]].origins.append(Origin(*row[1:]))
            self._tell_answers(leases)
        except BaseException:
            self._forget(by_id)
            self._unsure = True
            raise

    def _forget(self, ids: Iterable[int]) -> None:
        """These are held no longer."""
        for ident in ids:
            self._held.pop(ident, None)

    def refill(self, domain_ids: list[int]) -> dict[int, list[QueuedUrl]]:
        runs: dict[int, list[QueuedUrl]] = {ident: [] for ident in domain_ids}
        budgets = dict.fromkeys(domain_ids, self.rules.run_bytes)
        due = WAITING + self.now_ms() if domain_ids else 0
        values = {"ids": int8s(domain_ids), "waiting": WAITING, "limit": self.rules.run_urls}
        for ident, order, fp, url, depth, attempts, flags in self._run(
            lambda: self._rows("next_urls", due=due, **values)
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
        return {(row[0], row[1]) for row in self._run(lambda: self._rows("settled", **values))}

    # -- commit -------------------------------------------------------------------------------

    def commit(self, owner: int, batch: Batch) -> Committed:
        """One transaction, applied once: a batch whose number is not new changes nothing (F5)."""
        result = self._transaction(lambda now: self._apply_once(owner, batch, now), owner)
        self._forget(release.domain_id for release in batch.released)
        while self._idled and self._idled[0][0] <= result.now_ms - LOOK_AGAIN_MS:
            self._idled.popleft()
        self._control(result)
        return result

    def watch(self) -> Committed:
        result = Committed(self.now_ms(), 0, False, 0)
        self._control(result)
        return result

    def _control(self, result: Committed) -> None:
        now = self._test_now()
        found = self._run(lambda: self._rows("control", now=now))[0]
        total, stop, version, result.engines, result.least_held = found
        self._engines = result.engines
        result.total_pages = total or 0
        result.stop = stop == "1"
        result.rules_version = int(version or 0)

    def _apply_once(self, owner: int, batch: Batch, now: int) -> Committed:
        result = Committed(now, 0, False, 0)
        last, outcomes = self._rows("last_batch", owner=owner)[0]
        if batch.number > last:
            self._apply(owner, batch, now, result, outcomes)
        return result

    def _apply(self, owner: int, batch: Batch, now: int, result: Committed, outcomes: str) -> None:
        done, left = self._finish(batch.pages)
        self._defer(batch.deferred)
        errands = self._needed(batch.errands, now)
        added, new_domains = self._add(batch.links + errands, now, result, own=owner)
        self._defer(self._spaced(errands, now))
        # After adding: the page that filled a domain's cap may have brought links of its own.
        purged = self._purge(batch.purges, now, result) + self._drop(batch.dropped, result)
        if EXCLUDED in result.drops:
            self._execute("left_out_trim", most=self.rules.left_out)
        self._remember_origins(batch.origins)
        self._remember_delays(batch.delays)
        self._answer(result.refused + batch.answers, now)
        self._free_slots(owner, batch.slots)
        self._release(owner, batch.released, result, now)
        for kind, ident, size, shut in batch.segments:
            self._execute(
                "segment_upsert", kind=kind, id=ident, owner=owner, length=size, closed=shut
            )
        self._execute(
            "account",
            owner=owner,
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
            self._execute("page_insert", **_page_arrays(kept))
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
        fresh = {(row[0], row[1]) for row in self._rows("first_seen", **keys)}
        for ident, fp, order in self._rows("seen_orders", **keys):
            orders[ident, fp] = order
        return fresh

    def _leave_queue(self, rows: Iterable[tuple[int, int, int]]) -> set[tuple[int, int]]:
        """Delete (domain, order, fp) from the queue; returns what was there as (domain, fp)."""
        domains, orders, fps = zip(*sorted(rows), strict=True)
        values = {"domains": int8s(domains), "orders": int8s(orders), "fps": int8s(fps)}
        return {(row[0], row[1]) for row in self._rows("queue_delete", **values)}

    def _purge(self, purges: list[Purge], now: int, result: Committed) -> int:
        total = 0
        for purge in purges:
            low, high = (f"{purge.origin}/", f"{purge.origin}0") if purge.origin else ("", "~")
            values: dict[str, Any] = {"id": purge.domain_id, "low": low, "high": high}
            values["all"] = purge.errands
            if not purge.forget:
                values |= {"now": now, "outcome": purge.outcome}
            forget = "purge_exclude" if purge.outcome == EXCLUDED else "purge_forget"
            count = self._one(forget if purge.forget else "purge_record", **values)
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
            self._execute("seen_delete", domains=int8s(domains), fps=int8s(fps))
        excluded = [
            (ident, url)
            for ident, url, reason in dropped
            if reason == EXCLUDED and (ident, url.fp) in gone and not url.flags & Flag.ERRAND
        ]
        self._leave_out(excluded)
        return len(gone)

    def _defer(self, deferred: list[Deferral]) -> None:
        if not deferred:
            return
        chosen = sorted(deferred, key=lambda each: (each.domain_id, each.url.fp))
        self._execute(
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
        self._execute(
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
            self._execute("domain_delay", ids=int8s(longest), delays=int8s(longest.values()))

    def _release(self, owner: int, released: list[Release], result: Committed, now: int) -> None:
        if released:
            chosen = sorted(released, key=lambda each: each.domain_id)
            rows = self._rows(
                "release",
                owner=owner,
                waiting=WAITING,
                recount=RECOUNT_EVERY,
                cap=self.rules.max_queued_per_domain + 1,
                ids=int8s(each.domain_id for each in chosen),
                polite=int8s(each.polite_ms for each in chosen),
                failures=int8s(each.failures for each in chosen),
                pages=int8s(each.pages for each in chosen),
                queued=int8s(each.queued + result.added.get(each.domain_id, 0) for each in chosen),
            )
            self._idled.extend((now, ident) for ident, state in rows if state == IDLE)
        self._look_again(now)

    def _look_again(self, now: int) -> None:
        """An engine that adds a URL to a domain while its holder finds it idle sees it held, and
        the holder does not see the URL: a moment later both have committed. They are forgotten
        when this transaction has."""
        due = takewhile(lambda each: each[0] <= now - LOOK_AGAIN_MS, self._idled)
        ids = {ident for _, ident in due}
        if ids:
            self._execute("wake_again", ids=int8s(sorted(ids)), now=now)

    # -- adding URLs, and the end -------------------------------------------------------------

    def add(
        self,
        links: Iterable[Link],
        *,
        seeds_done: Mapping[str, Any] | None = None,
        rank: int | None = None,
    ) -> int:
        """Queue URLs that no engine found. With a rank they are seeds: first come, first visited,
        before any domain that was found by a link."""
        given = list(links)

        def work(now: int) -> int:
            result = Committed(now, 0, False, 0)
            count, domains = self._add(given, now, result, rank=rank)
            self._execute("account_add", now=now, queued=count, domains=domains)
            self._put(seeds_done or {})
            return count

        return self._transaction(work)

    def finished(self) -> bool:
        if self._run(lambda: self._one("any_live_domain")) is not None:
            return False
        values = {"lease": self.rules.lease_ms, "now": self._test_now()}
        if self._run(lambda: self._one("any_loading", **values)) is not None:
            return False
        if self._run(lambda: self._one("any_queued")) is None:
            return True
        self._transaction(lambda now: self._execute("sweep"))
        return False


def _lease(row: tuple[Any, ...]) -> Lease:
    ident, name, ready_at, delay_ms, failures, pages, queued, seeded = row
    return Lease(ident, name, ready_at, delay_ms, failures, pages, queued, seeded)


def _page_arrays(pages: list[PageRow]) -> dict[str, Any]:
    numbers = zip(*map(attrgetter(*_PAGE_NUMBERS), pages), strict=True)
    words = zip(*map(attrgetter(*_PAGE_TEXTS), pages), strict=True)
    return {
        **dict(zip(_PAGE_NUMBERS, map(int8s, numbers), strict=True)),
        **dict(zip(_PAGE_TEXTS, map(texts, words), strict=True)),
    }
