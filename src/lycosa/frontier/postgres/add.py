"""URLs on their way into the frontier on PostgreSQL: what is new and allowed is queued.

Owns which domains are refused, created or woken. Links of a batch are judged by domain, then sent
as arrays: one chunk of its log for each domain. A domain's row is written only if it must change
(hot rows).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lycosa.frontier.log.batches import LinksOf, NewUrls, by_domain
from lycosa.frontier.log.values import UrlWait
from lycosa.frontier.postgres.connection import int8s, texts
from lycosa.frontier.postgres.logs import Logs
from lycosa.frontier.postgres.store import PostgresStore
from lycosa.frontier.postgres.tokens import Tokens
from lycosa.frontier.released import MANY
from lycosa.frontier.rules import refusals
from lycosa.frontier.states import DomainState
from lycosa.frontier.values import Committed, Link

Waits = Mapping[int, Sequence[UrlWait]]


class Adder:
    """Adds URLs, those of engines inside a transaction of the caller. See `SupervisorFrontier`."""

    def __init__(self, store: PostgresStore, tokens: Tokens, logs: Logs) -> None:
        self._store = store
        self._tokens = tokens
        self._logs = logs

    def add(
        self,
        links: Iterable[Link],
        *,
        seeds_done: Mapping[str, Any] | None = None,
        rank: int | None = None,
    ) -> int:
        """Queue URLs that no engine found. With a rank they are seeds: first come, first visited,
        before any domain that was found by a link."""
        new = self.new_to_logs(links, anyway=True)  # it may be a seed now

        def work(now: int) -> int:
            count, domains = self.add_links(new, now, rank=rank)
            self.account(now, count, domains)
            self._store.put(seeds_done or {})
            return count

        return self._store.transaction(work)

    def account(self, now: int, queued: int, domains: int) -> None:
        """Count what no engine added."""
        self._store.execute("account_add", now=now, queued=queued, domains=domains)

    def new_to_logs(self, links: Iterable[Link], *, anyway: bool = False) -> NewUrls:
        """Links by domain, without those that its log knows; `anyway`: also a domain of which none
        is left. Needs no transaction."""
        found, new = by_domain(links), NewUrls()
        for part in self._logs.in_parts(found):
            for ident, log in part.logs.items():
                new.take(log, found[ident], anyway=anyway)
        # In the order that was given: that of seeds is the order of their visits.
        new.links = {ident: new.links[ident] for ident in found if ident in new.links}
        return new

    def add_links(self, new: NewUrls, now: int, *, rank: int | None = None) -> tuple[int, int]:
        """Queue what is allowed, for somebody who holds no domain; returns (URLs queued, domains
        created)."""
        self.begin()
        places = {} if rank is None else {ident: rank + n for n, ident in enumerate(new.links)}
        result = Committed(now, 0, False, 0)
        return self.deliver(new, now, result, places=places, seed=rank is not None)

    def begin(self) -> None:
        """Before the first look at states of domains, where no fence was."""
        self._store.execute("begins")

    def deliver(
        self,
        found: NewUrls,
        now: int,
        result: Committed,
        chunks: Mapping[int, list[bytes]] | None = None,
        places: Mapping[int, int] | None = None,
        *,
        seed: bool = False,
    ) -> tuple[int, int]:
        """Queue URLs that are new to their domains, which somebody else may hold; returns (URLs
        queued, domains created). `chunks`: those that were made before the transaction; `places`:
        from when on domains are ready that are new, if not from now on."""
        if not found.links:
            return 0, 0
        states = self.states(found.links)
        kept = self._allowed(found.links, states, seed, now, result)
        puts = []
        for ident, links in kept.items():
            made = chunks.get(ident) if chunks and len(links) == len(found.links[ident]) else None
            made = made or found.chunks_of(ident, links, self._store.epoch_ms, now)
            puts += [(ident, chunk) for chunk in made]
        fresh = {ident: len(links) for ident, links in kept.items()}
        result.join(Committed(now, 0, False, 0, added=fresh))
        unknown = {ident: links[0][4] for ident, links in kept.items() if ident not in states}
        ready = {ident: (places or {}).get(ident, now) for ident in unknown}
        ours = self._create(unknown, fresh, ready, seed)
        # Others found some at the same moment, and may be done with them already.
        wakes = {ident for ident in fresh if ident in states and states[ident].wakes()}
        wakes |= unknown.keys() - ours
        self._tokens.wake({ident: fresh[ident] for ident in wakes}, now)
        self._count({ident: fresh[ident] for ident in fresh.keys() - wakes - ours})
        self._logs.insert(puts)
        if seed:
            self._store.execute("domain_seeded", ids=int8s(sorted(found.links)))
        return sum(fresh.values()), len(ours)

    def _allowed(
        self,
        found: LinksOf,
        states: Mapping[int, DomainState],
        seed: bool,
        now: int,
        result: Committed,
    ) -> LinksOf:
        """Those links that their domains take; the others are counted."""
        allowed: LinksOf = {}
        for ident, links in found.items():
            reason = self._store.rules.refuses(states.get(ident), 0, seed)
            kept = self._store.rules.kept(links, reason)
            if len(kept) < len(links):
                result.drops[reason] = result.drops.get(reason, 0) + len(links) - len(kept)
                if not kept:
                    result.refused += refusals(links, now)
            if kept:
                allowed[ident] = kept
        return allowed

    def _count(self, grown: dict[int, int]) -> None:
        """Where many URLs came to a domain that has others, a cap hears of them before its next
        visit; a row that somebody else is writing is not waited for."""
        many = sorted(ident for ident, count in grown.items() if count >= MANY)
        if many:
            counts = int8s(grown[ident] for ident in many)
            self._store.execute("domain_grew", ids=int8s(many), counts=counts)

    def states(self, ids: Iterable[int]) -> dict[int, DomainState]:
        rows = self._store.rows("domain_states", ids=int8s(sorted(ids)))
        return {row[0]: DomainState._make(row[1:]) for row in rows}

    def _create(
        self, names: dict[int, str], fresh: dict[int, int], ready: dict[int, int], seed: bool
    ) -> set[int]:
        """Make the domains that are new; returns those that nobody else made meanwhile."""
        if not names:
            return set()
        ids = sorted(names)
        rows = self._store.rows(
            "domain_insert",
            ids=int8s(ids),
            names=texts(names[ident] for ident in ids),
            queued=int8s(fresh[ident] for ident in ids),
            seeded=seed,
        )
        ours = {row[0] for row in rows}
        self._tokens.enter([(ready[ident], ident) for ident in ours])
        return ours
