"""URLs on their way into the frontier on SQLite: what is new and allowed is queued.

Owns which domains are refused, created or woken. Links are judged by domain; a domain's row is
written only if it must change (hot rows). Most of the cost of a page is here: rows go in by the
dozen, because a statement per link would take twice the time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from lycosa.frontier import queries
from lycosa.frontier.rules import refusals
from lycosa.frontier.sqlite.store import ROWS, SqliteStore, in_lists, json_ids
from lycosa.frontier.sqlite.tokens import Tokens
from lycosa.frontier.states import DomainState, found_order
from lycosa.frontier.values import Committed, Link

SQL = queries.load("sqlite")
FEW = 2  # links of a domain that go in one by one
SMALL = 64  # URLs of a domain that are read rather than asked for one by one


@cache
def seen_rows(count: int) -> str:
    """The statement that notes `count` URLs of one domain and order as seen."""
    return SQL["seen_insert_rows"] + ", ".join(f"(?1, ?{n}, ?2)" for n in range(3, count + 3))


@cache
def queue_rows(count: int) -> str:
    """The statement that queues `count` URLs of one domain, order, depth and kind."""
    return SQL["queue_insert_rows"] + ", ".join(
        f"(?1, ?2, ?{n}, ?{n + 1}, ?3, 0, ?4)" for n in range(5, 2 * count + 5, 2)
    )


class Adder:
    """Adds URLs, those of engines inside a transaction of the caller. See `SupervisorFrontier`."""

    def __init__(self, store: SqliteStore, tokens: Tokens) -> None:
        self._store = store
        self._db = store.db
        self._tokens = tokens

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
        with self._store.transaction() as now:
            all_new = rank is not None and self._add_unknown(found, now, rank)
            if all_new:
                count, domains = len(found), len({link[0] for link in found.values()})
            else:
                result = Committed(now, 0, False, 0)
                count, domains = self.add_links(list(found.values()), now, result, rank=rank)
            self.account(now, count, domains)
            self._store.put(seeds_done or {})
        return count

    def account(self, now: int, queued: int, domains: int) -> None:
        """Count what no engine added."""
        values = {"now": now, "queued": queued, "domains": domains}
        self._db.execute(SQL["account_add"], values)

    def add_links(
        self,
        links: list[Link],
        now: int,
        result: Committed,
        *,
        own: int = 0,
        rank: int | None = None,
    ) -> tuple[int, int]:
        """Queue what is new and allowed; returns (URLs queued, domains created)."""
        by_domain: dict[int, list[Link]] = {}
        for link in links:
            by_domain.setdefault(link[0], []).append(link)
        ready = {} if rank is None else {ident: rank + i for i, ident in enumerate(by_domain)}
        ids = sorted(by_domain)
        states = self.states(ids)
        known = self._all_known([i for i in ids if len(by_domain[i]) > FEW], states)
        queued = created = 0
        for ident in ids:
            found = by_domain[ident]
            state = states.get(ident)
            refused = self._store.rules.refuses(state, own, rank is not None)
            if refused:
                kept = self._refuse(found, refused, now, result)
                if not kept:
                    continue
                found = kept
            new = self._queue(found, state, known.get(ident), now)
            created += state is None and new > 0
            self.wake(found[0], state, new, ready.get(ident, now), rank is not None)
            if new:
                result.added[ident] = new
                queued += new
        return queued, created

    def _refuse(self, links: list[Link], reason: str, now: int, result: Committed) -> list[Link]:
        """Count what a domain does not take; returns what it takes all the same."""
        kept = self._store.rules.kept(links, reason)
        if len(kept) < len(links):
            result.drops[reason] = result.drops.get(reason, 0) + len(links) - len(kept)
        if not kept:
            result.refused += refusals(links, now)
        return kept

    def states(self, ids: list[int]) -> dict[int, DomainState]:
        rows = self._store.rows("domain_states", (json_ids(ids),))
        return {row[0]: DomainState._make(row[1:]) for row in rows}

    def _all_known(self, ids: list[int], states: dict[int, DomainState]) -> dict[int, list[int]]:
        """All URLs of those domains of which few were seen."""
        # Perhaps many more by now: the row is not always up to date.
        small = [i for i in ids if i in states and states[i].queued + states[i].pages <= SMALL]
        known = (
            each
            for ids in in_lists(small)
            for each in self._store.rows("seen_first", (SMALL + 1, ids))
        )
        return {ident: fps for ident, fps in known if len(fps) <= SMALL}

    def _queue(
        self, links: list[Link], state: DomainState | None, known: list[int] | None, now: int
    ) -> int:
        """Queue those links of one domain that were never seen; returns how many."""
        if len(links) <= FEW:
            return sum(self._queue_one(link, now) for link in links)
        if known is None:
            known = [] if state is None else self._known(links)
        done = set(known)
        before = len(done)
        groups: dict[tuple[int, int], list[Any]] = {}  # fp and URL in turn, by depth and flags
        for _, fp, url, depth, _, flags in links:
            if fp not in done:
                done.add(fp)
                groups.setdefault((depth, flags), []).extend((fp, url))
        for (depth, flags), values in groups.items():
            self._insert(links[0][0], depth, flags, values, now)
        return len(done) - before

    def _known(self, links: list[Link]) -> list[int]:
        """Which of these links, all of one domain, were seen."""
        fps = list({link[1]: None for link in links})
        known: list[int] = self._store.rows("seen_among", (links[0][0], json_ids(fps)))
        return known

    def _insert(self, ident: int, depth: int, flags: int, values: list[Any], now: int) -> None:
        order = found_order(depth, now)
        for at in range(0, len(values), 2 * ROWS):
            part = values[at : at + 2 * ROWS]
            count = len(part) // 2
            self._db.execute(seen_rows(count), [ident, order, *part[::2]])
            self._db.execute(queue_rows(count), [ident, order, depth, flags, *part])

    def _queue_one(self, link: Link, now: int) -> int:
        ident, fp, url, depth, _, flags = link
        order = found_order(depth, now)
        if not self._db.execute(SQL["seen_insert"], (ident, fp, order)).rowcount:
            return 0
        self._db.execute(SQL["queue_insert"], (ident, order, fp, url, depth, 0, flags))
        return 1

    def wake(self, link: Link, state: DomainState | None, new: int, ready: int, seed: bool) -> None:
        """The domain's row after `new` URLs came: written only if it must change."""
        ident, name = link[0], link[4]
        if state is None:
            if new:
                values = {"id": ident, "name": name, "queued": new, "seeded": seed}
                self._db.execute(SQL["domain_insert"], values)
                self._tokens.enter([(ready, ident)])
            return
        if new and state.wakes():
            self._tokens.wake(ident, state, new, self._store.now_ms())
        if seed and not state.seeded:
            self._db.execute(SQL["domain_seeded"], (ident,))

    def _add_unknown(self, found: dict[tuple[int, int], Link], now: int, rank: int) -> bool:
        """Queue seeds in bulk if none of them nor of their domains is known; else do nothing.

        Four statements for a chunk instead of five for a seed: a fifth of the time.
        """
        first: dict[int, tuple[str, int]] = {}
        for place, link in enumerate(found.values()):
            first.setdefault(link[0], (link[4], place))
        counts = Counter(link[0] for link in found.values())
        rows = [
            (ident, found_order(depth, now), fp, url, depth, 0, flags)
            for ident, fp, url, depth, _, flags in sorted(found.values())
        ]
        self._db.execute("SAVEPOINT bulk")
        domains = self._db.executemany(
            SQL["domain_insert_new"],
            [(i, first[i][0], counts[i]) for i in sorted(first)],
        ).rowcount
        seen = self._db.executemany(SQL["seen_insert"], [(r[0], r[2], r[1]) for r in rows]).rowcount
        if all_new := domains == len(first) and seen == len(rows):
            self._db.executemany(SQL["queue_insert"], rows)
            self._tokens.enter([(rank + place, ident) for ident, (_, place) in first.items()])
        self._store.end_savepoint("bulk", keep=all_new)
        return all_new
