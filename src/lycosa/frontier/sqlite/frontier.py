"""The frontier on SQLite: one file, one short write transaction per engine and second.

Owns the order of statements inside each transaction. The SQL itself is in `*.sql`,
the states in `states.py`. Every engine has its own connection and calls it from one thread.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import orjson

from lycosa.errors import Bug
from lycosa.frontier import queries
from lycosa.frontier.protocol import EXCLUDED, Batch, Committed, Deferral, Link, Purge, Release
from lycosa.frontier.sqlite.connection import errors_mapped
from lycosa.frontier.sqlite.errands import SqliteErrands
from lycosa.frontier.sqlite.left_out import SqliteLeftOut
from lycosa.frontier.sqlite.store import in_lists, json_ids
from lycosa.frontier.states import IDLE, READY, WAITING, domain_ready_ms, waiting_order
from lycosa.frontier.tally import counted
from lycosa.records import Flag, Lease, Origin, PageRow, QueuedUrl, Url
from lycosa.urls.domains import domain_id as id_of

SQL = queries.load("sqlite")
RECOUNT_EVERY = 8  # releases between two counts of a domain's queue
FEW_ROWS = 8  # of one statement where a row may have half a megabyte (robots.txt)


class SqliteFrontier(SqliteLeftOut, SqliteErrands):
    """See `frontier.Frontier`."""

    # -- engines ------------------------------------------------------------------------------

    def register(self, host: str, pid: int, node: str = "", directory: str = "") -> int:
        with self._transaction() as now:
            values = {"host": host, "pid": pid, "now": now, "lease": self.rules.lease_ms}
            cursor = self.db.execute(SQL["register"], values)
        if not cursor.lastrowid:
            raise Bug("An engine got no number.")
        return cursor.lastrowid

    def retire(self, owner: int) -> None:
        with self._transaction():
            if self._one("held_by", (owner,)) is None:
                self.db.execute(SQL["declare_dead"], (owner,))

    @errors_mapped
    def expired(self) -> list[int]:
        return list(self._expired(self.now_ms()))

    def _expired(self, now: int) -> dict[int, int]:
        """Engines whose lease ended, with the moment; who was cut off himself can't tell."""
        if not self._contact.long_enough(now):
            return {}
        return dict(self.db.execute(SQL["expired"], {"now": now}).fetchall())

    def rescue(
        self, known_dead: Collection[int] = (), delays: Mapping[str, int] | None = None
    ) -> int:
        if not known_dead and not delays and not self.expired():
            return 0
        with self._transaction() as now:
            ends = {**self._expired(now), **dict.fromkeys(known_dead, now)}
            rescued = sum(self._take_over(owner, since) for owner, since in ends.items())
            self.db.executemany(
                SQL["wait_longer"],
                [
                    {"id": id_of(name), "until": now + delay}
                    for name, delay in (delays or {}).items()
                ],
            )
        return rescued

    def _take_over(self, owner: int, since: int) -> int:
        self.db.execute(SQL["declare_dead"], (owner,))
        if self.rules.max_pages_per_domain:
            self.db.execute(SQL["recount_pages"], {"owner": owner})
        values = {"owner": owner, "since": since, "delay": self.rules.delay_ms}
        self.db.execute(SQL["slots_of_dead"], values)
        return self.db.execute(SQL["take_over"], values).rowcount

    @errors_mapped
    def living(self, node: str = "") -> list[int]:
        """Engines that nobody declared dead: all are of the one node."""
        return [row[0] for row in self.db.execute(SQL["living"]) if row[0]]

    @errors_mapped
    def everyone(self, node: str = "") -> list[int]:
        return [row[0] for row in self.db.execute(SQL["everyone"])]

    def others(self, node: str) -> int:
        return 0

    def suspect(self, domain_id: int, order: int, fp: int) -> bool:
        """An engine died while it parsed this URL: twice, and it is poison (S3)."""
        with self._transaction():
            return self.db.execute(SQL["suspect"], (domain_id, order, fp)).rowcount > 0

    # -- leases -------------------------------------------------------------------------------

    @errors_mapped
    def lease(self, owner: int, limit: int) -> list[Lease]:
        if limit <= 0 or self._one("lease_head", {"now": self.now_ms()}) is None:
            return []  # looking costs no write
        with self._transaction(owner) as now:
            values = {"now": now, "limit": limit}
            leases = self._affordable(self._rows("lease_candidates", values))
            ids = json_ids([lease.domain_id for lease in leases])
            self.db.execute(SQL["lease_take"], {"owner": owner, "ids": ids})
            # Before the end: domains that were taken but not handed out would wait for ever.
            by_id = {lease.domain_id: lease for lease in leases}
            for row in self.db.execute(SQL["origins_of"], (ids,)):
                by_id[row[0]].origins.append(Origin(*row[1:]))
            for ident, urls in self._next_urls(list(by_id), now).items():
                by_id[ident].urls = urls
        self._tell_answers(leases)
        return leases

    def _affordable(self, rows: Iterable[tuple[Any, ...]]) -> list[Lease]:
        """The first of them, as far as the memory for their robots rules goes; at least one."""
        leases: list[Lease] = []
        budget = self.rules.robots_bytes
        for ident, name, ready_at, delay_ms, failures, pages, queued, seeded, size in rows:
            budget -= size
            if budget < 0 and leases:
                break
            state = (ready_at, delay_ms, failures, pages, queued, bool(seeded))
            leases.append(Lease(ident, name, *state))
        return leases

    @errors_mapped
    def refill(self, domain_ids: list[int]) -> dict[int, list[QueuedUrl]]:
        return self._next_urls(domain_ids, self.now_ms())

    def _next_urls(self, domain_ids: list[int], now: int) -> dict[int, list[QueuedUrl]]:
        values = {"waiting": WAITING, "now": now, "limit": self.rules.run_urls}
        runs: dict[int, list[QueuedUrl]] = {}
        for ids in in_lists(domain_ids):
            found = self._rows("next_urls", {"ids": ids, **values})
            runs.update({ident: self._run(rows) for ident, rows in found})
        return runs

    def _run(self, rows: Iterable[tuple[int, int, Url, int, int, int]]) -> list[QueuedUrl]:
        """As many as memory is meant for; at least one."""
        urls: list[QueuedUrl] = []
        budget = self.rules.run_bytes
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
        order = self._one("seen_order", (domain_id, fp))
        return order is not None and self._one("is_queued", (domain_id, order, fp)) is None

    # -- commit -------------------------------------------------------------------------------

    @errors_mapped
    def commit(self, owner: int, batch: Batch) -> Committed:
        """One transaction, applied once: a batch whose number is not new changes nothing (F5)."""
        with self._transaction(owner, self._shorten_log) as now:
            result = Committed(now, 0, False, 0)
            last, outcomes = self.db.execute(SQL["last_batch"], {"owner": owner}).fetchone()
            if batch.number > last:
                self._apply(owner, batch, now, result, outcomes)
        self._control(result)
        return result

    @errors_mapped
    def watch(self) -> Committed:
        result = Committed(self.now_ms(), 0, False, 0)
        self._control(result)
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
            self.db.execute(SQL["left_out_trim"], (self.rules.left_out,))
        self._remember(batch)
        self._answer(result.refused + batch.answers, now)
        self._free_slots(owner, batch.slots)
        self._release(owner, batch.released, result.added)
        self.db.executemany(
            SQL["segment_upsert"],
            [(kind, ident, owner, size, shut) for kind, ident, size, shut in batch.segments],
        )
        account = {
            "owner": owner,
            "number": batch.number,
            "pages": sum(1 for page in done if page.status),
            "queued": added - left - purged,
            "domains": new_domains,
            "outcomes": counted(outcomes, (page.outcome for page in done), result.purged),
            "stats": orjson.dumps(batch.stats).decode(),
        }
        self.db.execute(SQL["account"], account)

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
        self._write_rows("page_insert", [_page_values(page) for page in done])
        return done, left

    def _all_leave(self, pages: list[PageRow]) -> bool:
        """Take all pages out of the queue if all are there, as is usual; else do nothing."""
        self.db.execute("SAVEPOINT leave")
        keys = [(page.domain_id, page.order, page.fp) for page in pages]
        gone = self._write_rows("queue_delete", keys)
        self._end_savepoint("leave", keep=gone == len(keys))
        return gone == len(keys)

    def _leave_queue(self, page: PageRow) -> int:
        order = page.order
        if order < 0:
            order = self._one("seen_order", (page.domain_id, page.fp))
            if order is None:
                return 0
        return self.db.execute(SQL["queue_delete"], (page.domain_id, order, page.fp)).rowcount

    def _first_seen(self, page: PageRow) -> bool:
        return self.db.execute(SQL["seen_insert"], (page.domain_id, page.fp, 0)).rowcount == 1

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
                self.db.execute(SQL["purge_keep"], values)
            self.db.execute(SQL["purge_forget" if purge.forget else "purge_record"], values)
            count = self.db.execute(SQL["purge_delete"], values).rowcount
            tally = result.drops if purge.forget else result.purged
            tally[purge.outcome] = tally.get(purge.outcome, 0) + count
            total += count
        return total

    def _drop(self, dropped: list[tuple[int, QueuedUrl, str]], result: Committed) -> int:
        """Forget and count single URLs that a rule refuses; returns how many were queued."""
        total = 0
        for ident, url, reason in dropped:
            gone = self.db.execute(SQL["queue_delete"], (ident, url.order, url.fp)).rowcount
            if gone:
                self.db.execute(SQL["seen_delete"], (ident, url.fp))
            if gone and reason == EXCLUDED and not url.flags & Flag.ERRAND:
                row = (ident, url.fp, url.url, url.depth, url.flags)
                self.db.execute(SQL["left_out_insert"], row)
            if reason:
                result.drops[reason] = result.drops.get(reason, 0) + 1
            total += gone
        return total

    def _defer(self, deferred: list[Deferral]) -> None:
        for each in deferred:
            url, ident = each.url, each.domain_id
            gone = self.db.execute(SQL["queue_delete"], (ident, url.order, url.fp)).rowcount
            if not gone:
                continue
            order = waiting_order(each.until_ms)
            row = (ident, order, url.fp, url.url, url.depth, each.attempts, url.flags)
            self.db.execute(SQL["queue_insert"], row)
            self.db.execute(SQL["seen_move"], (order, ident, url.fp))

    def _remember(self, batch: Batch) -> None:
        self._write_rows(
            "origin_upsert",
            [
                (ident, o.origin, o.fetched_ms, o.status, o.rules, o.failures, o.retry_ms, *more)
                for ident, o in batch.origins
                for more in ((o.reason, o.detail, o.aim, o.hops, o.asked_ms),)
            ],
            most=FEW_ROWS,
        )
        self.db.executemany(SQL["domain_delay"], [(delay, ident) for ident, delay in batch.delays])

    def _release(self, owner: int, released: list[Release], added: dict[int, int]) -> None:
        """Give domains back; those that are no longer ours are left alone."""
        ids = json_ids([release.domain_id for release in released])
        rows = self._rows("release_states", (ids, owner))
        states = {ident: (releases, head) for ident, releases, head in rows}
        self._write_rows(
            "release",
            [
                self._released(owner, each, *states[each.domain_id], added.get(each.domain_id, 0))
                for each in released
                if each.domain_id in states
            ],
        )

    def _released(
        self, owner: int, release: Release, releases: int, head: int | None, added: int
    ) -> tuple[Any, ...]:
        ready = domain_ready_ms(release.polite_ms, head)
        queued = 0 if ready is None else max(1, release.queued + added)
        if ready is not None and (releases + 1) % RECOUNT_EVERY == 0:
            limit = self.rules.max_queued_per_domain + 1
            queued = self._one("queue_count", (release.domain_id, limit))
        return (
            release.domain_id,
            owner,
            IDLE if ready is None else READY,
            release.polite_ms if ready is None else ready,
            release.polite_ms,
            release.failures,
            release.pages,
            queued,
        )

    def _control(self, result: Committed) -> None:
        total, stop, version = self.db.execute(SQL["control"]).fetchone()
        result.total_pages = total or 0
        result.stop = stop == "1"
        result.rules_version = int(version or 0)

    # -- adding URLs --------------------------------------------------------------------------

    def add(
        self,
        links: Iterable[Link],
        *,
        seeds_done: Mapping[str, Any] | None = None,
        rank: int | None = None,
    ) -> int:
        """Queue URLs that no engine found. With a rank they are seeds: first come, first visited,
        before any domain that was found by a link."""
        found = {link[:2]: link for link in links}
        with self._transaction() as now:
            all_new = rank is not None and self._add_unknown(found, now, rank)
            if all_new:
                count, domains = len(found), len({link[0] for link in found.values()})
            else:
                result = Committed(now, 0, False, 0)
                count, domains = self._add(list(found.values()), now, result, rank=rank)
            self.db.execute(SQL["account_add"], {"now": now, "queued": count, "domains": domains})
            self.db.executemany(
                SQL["setting_put"], [(key, str(value)) for key, value in (seeds_done or {}).items()]
            )
        return count

    # -- the end ------------------------------------------------------------------------------

    @errors_mapped
    def finished(self) -> bool:
        if self._one("any_live_domain") is not None:
            return False
        if self._one("any_queued") is None:
            return True
        with self._transaction():
            self.db.execute(SQL["sweep"])
        return False


def _page_values(page: PageRow) -> tuple[Any, ...]:
    return (
        page.domain_id,
        page.fp,
        page.url,
        page.depth,
        page.fetched_ms,
        page.status,
        page.outcome,
        page.content_type,
        page.wire_bytes,
        page.text_chars,
        page.content_hash,
        page.redirect,
        page.title,
        page.text_segment,
        page.text_frame,
        page.text_offset,
        page.warc_segment,
        page.warc_offset,
    )
