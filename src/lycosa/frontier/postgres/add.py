"""URLs on their way into the frontier on PostgreSQL: what is new and allowed is queued.

Owns which domains are refused, created or woken. Links of a batch are judged by domain, then sent
as arrays; a domain's row is written only if it must change (hot rows).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from itertools import accumulate, chain
from typing import Any

from lycosa.frontier.postgres.connection import Int8s, int8s, texts
from lycosa.frontier.postgres.store import PostgresStore
from lycosa.frontier.postgres.tokens import Tokens
from lycosa.frontier.rules import refusals
from lycosa.frontier.states import DomainState, found_order
from lycosa.frontier.values import Committed, Link

# The links of a batch by domain and fingerprint, each once.
Groups = dict[int, dict[int, Link]]


class Adder:
    """Adds URLs, those of engines inside a transaction of the caller. See `SupervisorFrontier`.

    `held`: the engine of each domain that engines of this process hold, as far as they know.
    """

    def __init__(self, store: PostgresStore, tokens: Tokens, held: Mapping[int, int]) -> None:
        self._store = store
        self._tokens = tokens
        self._held = held

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
            count, domains = self.add_links(given, now, result, rank=rank)
            self.account(now, count, domains)
            self._store.put(seeds_done or {})
            return count

        return self._store.transaction(work)

    def account(self, now: int, queued: int, domains: int) -> None:
        """Count what no engine added."""
        self._store.execute("account_add", now=now, queued=queued, domains=domains)

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
        if not links:
            return 0, 0
        groups = _grouped(links)
        seed = rank is not None
        places = _places(links, rank)
        new = self._unseen(groups)
        # Of a domain that the caller holds all is known: the fence says that it still does.
        asked = [ident for ident in new if not own or self._held.get(ident) != own]
        states = self.states(asked)
        for ident in asked:
            if reason := self._store.rules.refuses(states.get(ident), own, seed):
                self._refuse(new, ident, reason, now, result)
        fresh = self._queue(new, now)
        result.added.update(fresh)
        created = self._create(
            {ident: new[ident][0][4] for ident in asked if ident in fresh and ident not in states},
            fresh,
            places,
            now,
        )
        woken = (ident for ident in fresh if ident in states and states[ident].wakes())
        self._tokens.wake({ident: fresh[ident] for ident in woken}, now)
        if seed:
            self._store.execute("domain_seeded", ids=int8s(sorted(groups)))
        return sum(fresh.values()), created

    def _refuse(
        self, new: dict[int, list[Link]], ident: int, reason: str, now: int, result: Committed
    ) -> None:
        """Count what a domain does not take, and leave what it takes all the same."""
        links = new.pop(ident)
        kept = self._store.rules.kept(links, reason)
        if len(kept) < len(links):
            result.drops[reason] = result.drops.get(reason, 0) + len(links) - len(kept)
        if kept:
            new[ident] = kept
        else:
            result.refused += refusals(links, now)

    def _unseen(self, groups: Groups) -> dict[int, list[Link]]:
        """Those links that were not seen when we looked: few, for most links of a page are known.

        One look at the index per domain, for all its links, costs much less than trying to insert
        each (docs/decisions/0006).
        """
        ends = list(accumulate(map(len, groups.values())))
        starts = (end - len(group) + 1 for end, group in zip(ends, groups.values(), strict=True))
        rows = self._store.rows(
            "known",
            domains=int8s(groups),
            starts=int8s(starts),
            ends=int8s(ends),
            fps=int8s(chain.from_iterable(groups.values())),
        )
        found: dict[int, list[Link]] = {}
        for ident, fps in rows:
            group = groups[ident]
            if fps is None:
                found[ident] = list(group.values())
            elif len(fps) < len(group):
                found[ident] = [group[fp] for fp in group.keys() - fps]
        return found

    def states(self, ids: list[int]) -> dict[int, DomainState]:
        if not ids:
            return {}
        rows = self._store.rows("domain_states", ids=int8s(sorted(ids)))
        return {row[0]: DomainState._make(row[1:]) for row in rows}

    def _queue(self, new: dict[int, list[Link]], now: int) -> dict[int, int]:
        """Queue those links that nobody else has queued meanwhile; returns how many by domain."""
        links = {(link[0], link[1]): link for found in new.values() for link in found}
        if not links:
            return {}
        keys = sorted(links)
        domains, fps = zip(*keys, strict=True)
        orders = _orders([links[key] for key in keys], now)
        ours = self._store.rows(
            "seen_insert", domains=int8s(domains), fps=int8s(fps), orders=orders
        )
        if ours:
            self.enter([links[key] for key in ours], now)
        return dict(Counter([domain for domain, _ in ours]))

    def enter(self, links: list[Link], now: int) -> None:
        """URLs that are new enter the queue."""
        domains, fps, urls, depths, _, flags = zip(*links, strict=True)
        self._store.execute(
            "queue_insert",
            domains=int8s(domains),
            fps=int8s(fps),
            orders=_orders(links, now),
            depths=int8s(depths),
            flags=int8s(flags),
            urls=texts(urls),
        )

    def _create(
        self, names: dict[int, str], fresh: dict[int, int], places: dict[int, int], now: int
    ) -> int:
        if not names:
            return 0
        ids = sorted(names)
        rows = self._store.rows(
            "domain_insert",
            ids=int8s(ids),
            names=texts(names[ident] for ident in ids),
            queued=int8s(fresh[ident] for ident in ids),
            seeded=bool(places),
        )
        ours = {row[0] for row in rows}
        self._tokens.enter([(places.get(ident, now), ident) for ident in ours])
        # Others found them at the same moment, and may be done with them already.
        self._tokens.wake({ident: fresh[ident] for ident in names.keys() - ours}, now)
        return len(ours)


def _places(links: list[Link], rank: int | None) -> dict[int, int]:
    """Seeds are visited in the order in which they were given."""
    if rank is None:
        return {}
    return {ident: rank + i for i, ident in enumerate(dict.fromkeys(link[0] for link in links))}


def _grouped(links: list[Link]) -> Groups:
    groups: Groups = defaultdict(dict)
    for link in reversed(links):  # of the same URL, the one that was found first stays
        groups[link[0]][link[1]] = link
    return groups


def _orders(links: list[Link], now: int) -> Int8s:
    depths = [link[3] for link in links]
    by_depth = {depth: found_order(depth, now) for depth in set(depths)}
    return int8s([by_depth[depth] for depth in depths])
