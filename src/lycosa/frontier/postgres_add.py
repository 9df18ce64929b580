"""URLs on their way into the frontier on PostgreSQL: what is new and allowed is queued.

Owns which domains are refused, created or woken. Links of a batch are judged by domain, then sent
as arrays; a domain's row is written only if it must change (hot rows).
"""

from __future__ import annotations

from collections import Counter

from lycosa.frontier import Committed, Link
from lycosa.frontier.postgres_db import int8s, texts
from lycosa.frontier.postgres_store import PostgresStore
from lycosa.frontier.states import IDLE, READY, found_order

# lease_owner, ready_at, polite_at, queued, pages, seeded
State = tuple[int, int, int, int, int, bool]


class PostgresAdder(PostgresStore):
    """Adds URLs inside a transaction of its caller."""

    def _add(
        self,
        links: list[Link],
        now: int,
        result: Committed,
        *,
        own: int = 0,
        rank: int | None = None,
    ) -> tuple[int, int]:
        """Queue what is new and allowed; returns (URLs queued, domains created)."""
        if not links:
            return 0, 0
        names = {link[0]: link[4] for link in links}  # in the order of the links
        places = {} if rank is None else {ident: rank + i for i, ident in enumerate(names)}
        states = self._states(names)
        seed = rank is not None
        refused = {
            ident: reason
            for ident in names
            if (reason := self.rules.refuses(states.get(ident), own, seed))
        }
        if refused:
            for link in links:
                if link[0] in refused:
                    reason = refused[link[0]]
                    result.drops[reason] = result.drops.get(reason, 0) + 1
        fresh = self._queue([link for link in links if link[0] not in refused], now)
        result.added.update(fresh)
        created = self._create(fresh, states, names, places, now)
        self._wake(fresh, states, seed, now)
        if seed:
            self._execute("domain_seeded", ids=int8s(sorted(names)))
        return sum(fresh.values()), created

    def _states(self, names: dict[int, str]) -> dict[int, State]:
        rows = self._rows("domain_states", ids=int8s(sorted(names)))
        return {row[0]: row[1:] for row in rows}

    def _queue(self, links: list[Link], now: int) -> dict[int, int]:
        """Queue those links that were never seen; returns how many by domain."""
        first: dict[tuple[int, int], Link] = {}
        for link in links:
            first.setdefault((link[0], link[1]), link)
        if not first:
            return {}
        keys = sorted(first)
        domains, fps = zip(*keys, strict=True)
        orders = int8s(found_order(first[key][3], now) for key in keys)
        # Most links of a page are known: their URLs need not travel.
        new = self._rows("seen_insert", domains=int8s(domains), fps=int8s(fps), orders=orders)
        if new:
            self._enter([first[domain, fp] for domain, fp in new], now)
        return dict(Counter(domain for domain, _ in new))

    def _enter(self, links: list[Link], now: int) -> None:
        domains, fps, urls, depths, _, flags = zip(*links, strict=True)
        self._execute(
            "queue_insert",
            domains=int8s(domains),
            fps=int8s(fps),
            orders=int8s(found_order(depth, now) for depth in depths),
            depths=int8s(depths),
            flags=int8s(flags),
            urls=texts(urls),
        )

    def _create(
        self,
        fresh: dict[int, int],
        states: dict[int, State],
        names: dict[int, str],
        places: dict[int, int],
        now: int,
    ) -> int:
        ids = sorted(ident for ident in fresh if ident not in states)
        if not ids:
            return 0
        rows = self._rows(
            "domain_insert",
            ids=int8s(ids),
            names=texts(names[ident] for ident in ids),
            ready=int8s(places.get(ident, now) for ident in ids),
            queued=int8s(fresh[ident] for ident in ids),
            seeded=bool(places),
            now=now,
        )
        return sum(1 for (inserted,) in rows if inserted)

    def _wake(self, fresh: dict[int, int], states: dict[int, State], seed: bool, now: int) -> None:
        ids = sorted(ident for ident in fresh if ident in states and _waits(states[ident]))
        if ids:
            queued = int8s(fresh[ident] for ident in ids)
            self._execute("domain_wake", ids=int8s(ids), queued=queued, seeded=seed, now=now)


def _waits(state: State) -> bool:
    """Whether a domain is idle, or only waits for a retry."""
    lease_owner, ready_at, polite_at, *_ = state
    return lease_owner == IDLE or (lease_owner == READY and ready_at > polite_at > 0)
