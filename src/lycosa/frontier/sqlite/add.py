"""URLs on their way into the frontier on SQLite: what is new and allowed is queued.

Owns which domains are refused, created or woken. Links are judged by domain; a domain's row is
written only if it must change (hot rows), and its links are one chunk of its log.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lycosa.frontier import queries
from lycosa.frontier.log.batches import NewUrls, by_domain
from lycosa.frontier.log.values import UrlWait
from lycosa.frontier.released import MANY
from lycosa.frontier.rules import refusals
from lycosa.frontier.sqlite.logs import Logs
from lycosa.frontier.sqlite.store import SqliteStore, json_ids
from lycosa.frontier.sqlite.tokens import Tokens
from lycosa.frontier.states import DomainState
from lycosa.frontier.values import Committed, Link

SQL = queries.load("sqlite")
Waits = Mapping[int, Sequence[UrlWait]]


class Adder:
    """Adds URLs, those of engines inside a transaction of the caller. See `SupervisorFrontier`."""

    def __init__(self, store: SqliteStore, tokens: Tokens, logs: Logs) -> None:
        self._store = store
        self._db = store.db
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
        given = list(links)
        with self._store.transaction() as now:
            count, domains = self.add_links(given, now, Committed(now, 0, False, 0), rank=rank)
            self.account(now, count, domains)
            self._store.put(seeds_done or {})
        return count

    def account(self, now: int, queued: int, domains: int) -> None:
        """Count what no engine added."""
        values = {"now": now, "queued": queued, "domains": domains}
        self._db.execute(SQL["account_add"], values)

    def add_links(
        self, links: list[Link], now: int, result: Committed, *, rank: int | None = None
    ) -> tuple[int, int]:
        """Queue what is new and allowed, for somebody who holds no domain; returns (URLs queued,
        domains created)."""
        new = self.new_to_logs(links, anyway=True)  # it may be a seed now
        places = {} if rank is None else {ident: rank + n for n, ident in enumerate(new.links)}
        return self.deliver(new, now, result, places=places, seed=rank is not None)

    def new_to_logs(self, links: Iterable[Link], *, anyway: bool = False) -> NewUrls:
        """Links by domain, without those that its log knows; `anyway`: also a domain of which none
        is left."""
        found, new = by_domain(links), NewUrls()
        for part in self._logs.in_parts(found):
            for ident, log in part.logs.items():
                new.take(log, found[ident], anyway=anyway)
        # In the order that was given: that of seeds is the order of their visits.
        new.links = {ident: new.links[ident] for ident in found if ident in new.links}
        return new

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
        states = self.states(sorted(found.links))
        chunks, places = chunks or {}, places or {}
        puts, created = [], []
        queued = 0
        for ident, links in found.links.items():
            state = states.get(ident)
            kept = self._allowed(links, state, seed, now, result)
            if kept:
                made = chunks.get(ident) if len(kept) == len(links) else None
                made = made or found.chunks_of(ident, kept, self._store.epoch_ms, now)
                puts += [(ident, chunk) for chunk in made]
                result.added[ident] = result.added.get(ident, 0) + len(kept)
                queued += len(kept)
            if state is not None:
                self._wake(ident, state, len(kept), now, seed)
            elif kept:
                created.append((ident, kept[0][4], len(kept), seed, places.get(ident, now)))
        self._create(created)
        self._logs.insert(puts)
        return queued, len(created)

    def _allowed(
        self,
        links: list[Link],
        state: DomainState | None,
        seed: bool,
        now: int,
        result: Committed,
    ) -> list[Link]:
        """Those links that a domain takes; the others are counted."""
        reason = self._store.rules.refuses(state, 0, seed)
        kept = self._store.rules.kept(links, reason)
        if len(kept) < len(links):
            result.drops[reason] = result.drops.get(reason, 0) + len(links) - len(kept)
            if not kept:
                result.refused += refusals(links, now)
        return kept

    def states(self, ids: list[int]) -> dict[int, DomainState]:
        rows = self._store.rows("domain_states", (json_ids(ids),))
        return {row[0]: DomainState._make(row[1:]) for row in rows}

    def _create(self, domains: list[tuple[int, str, int, bool, int]]) -> None:
        """Domains that are new: id, name, how many URLs, whether seeds, and when they are ready."""
        rows = sorted(domains)
        self._store.write_rows("domain_insert", [row[:4] for row in rows])
        self._tokens.enter(sorted((row[4], row[0]) for row in rows))

    def _wake(self, ident: int, state: DomainState, new: int, now: int, seed: bool) -> None:
        """The token and the row of a domain after `new` URLs came: moved and written only if they
        must change."""
        if new and state.wakes():
            self._tokens.wake(ident, state, new, now)
        elif new >= MANY:
            self._db.execute(SQL["domain_grew"], (new, ident))
        if seed and not state.seeded:
            self._db.execute(SQL["domain_seeded"], (ident,))

    def wake(self, new: Mapping[int, int], now: int) -> None:
        """Domains that are known got so many URLs, by id."""
        for ident, state in self.states(sorted(new)).items():
            self._wake(ident, state, new[ident], now, False)
