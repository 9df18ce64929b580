"""Tokens on PostgreSQL: which domains are ready, held or idle, and how they change places.

Owns `ready`, `held` and `domains.idle` (the table of states is in `frontier.states`), and which row
of `domains` a visit writes. Nearly all of it happens inside a transaction of the caller. Engines
meet here: each statement that makes a token takes its domains from one that consumed a token, or
made the domain, and what another engine is about to take is skipped or waited for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from lycosa.errors import Fenced
from lycosa.frontier.postgres.connection import Int8s, int8s
from lycosa.frontier.postgres.store import PostgresStore
from lycosa.frontier.released import FEW, DomainEnd
from lycosa.log import get_logger
from lycosa.records import Lease

ROUNDS = 8  # looks at the line for one lease, if those first in line must wait for longer
# For so long a look begins where the last one ended. Before that place lie dead rows, as many as
# somebody's open snapshot keeps. Seldom does another process put a domain there (seeds are): it is
# found so much later, unless no other is ready.
FRONT_MS = 5000
BEFORE_ALL = -(1 << 63)
RECHECK_MS = 2000  # between two looks at those who sleep
RECHECKS = 5000  # domains of one look
LONGEST_MS = 600_000  # no transaction of ours is longer
log = get_logger("store")


class InLine(NamedTuple):
    """A domain that left the line, as `lease` tells it; without a name it is unknown."""

    id: int
    ready_at: int
    more_pages: int
    more_queued: int
    robots_bytes: int  # of its robots rules, and of those before it
    name: str | None
    idle: bool
    wait_at: int
    polite_at: int
    not_before: int
    delay_ms: int
    failures: int
    pages: int
    queued: int
    seeded: bool

    @property
    def due_ms(self) -> int:
        """When a visit may begin."""
        return max(self.ready_at, self.polite_at, self.not_before)

    def lease(self) -> Lease:
        assert self.name is not None
        known = (self.due_ms, self.delay_ms, self.failures, self.pages, self.queued)
        return Lease(self.id, self.name, *known, self.seeded)


class Ended(NamedTuple):
    """A domain that is given back."""

    end: DomainEnd
    chunks: int  # of its log, as far as its engine knows


class Tokens:
    """What other parts of the frontier do with domains."""

    def __init__(self, store: PostgresStore) -> None:
        self._store = store
        self._front = BEFORE_ALL  # where looks at the line begin
        self._front_until = 0
        self._reached = BEFORE_ALL  # by a lease that has not yet ended
        self._recheck_at = 0

    # -- ready -> held ------------------------------------------------------------------------

    def any_ready(self) -> bool:
        """Whether a domain is due; needs no transaction."""
        now = self._store.test_now()
        found = self._store.read_one("any_ready", front=self._front, now=now)
        if found is None and self._front > BEFORE_ALL:
            self._front = BEFORE_ALL
            found = self._store.read_one("any_ready", front=self._front, now=now)
        return found is not None

    def lease(self, engine_id: int, limit: int, now: int) -> list[Lease]:
        """Up to `limit` domains that are due, as far as the memory for their robots rules goes (at
        least one), now held by an engine."""
        if now >= self._front_until:
            self._front, self._front_until = BEFORE_ALL, now + FRONT_MS
        self._reached = self._front
        leases: list[Lease] = []
        budget = self._store.rules.robots_bytes
        for _ in range(ROUNDS):
            asked = limit - len(leases)
            values = {"front": self._reached, "now": now, "limit": asked, "budget": budget}
            found = [InLine._make(row) for row in self._store.rows("lease", **values)]
            if not found:
                break
            self._reached = max(each.ready_at for each in found)
            leases += self._sort_out(engine_id, found, now)
            budget -= max(each.robots_bytes for each in found)
            # Once more only if some of as many as were asked for could not be handed out.
            if len(leases) >= limit or len(found) < asked or budget <= 0:
                break
        return leases

    def leased(self) -> None:
        """The lease is committed: the next look begins where it ended."""
        self._front = self._reached

    def _sort_out(self, engine_id: int, found: list[InLine], now: int) -> list[Lease]:
        """Who may go is held now, who must wait for longer gets in line again. Who had no place in
        line has lost it, and the lease goes on."""
        go: dict[int, InLine] = {}
        later: dict[int, InLine] = {}
        for each in sorted(found, key=lambda each: each.ready_at):
            if each.name is None or each.idle:
                _complain(each, "is not known" if each.name is None else "is idle")
                continue
            if each.id in go or each.id in later:
                _complain(each, "is in line twice")
            (later if each.due_ms > now else go)[each.id] = each
        held = self._hold(engine_id, list(go.values()))
        if later:
            moments = int8s(each.due_ms for each in later.values())
            self._store.execute("stand_in_line", moments=moments, **_arrays(later.values()))
        if waited := [each.id for each in found if each.wait_at]:
            self._store.execute("wait_over", ids=int8s(sorted(waited)))
        return [each.lease() for each in go.values() if each.id in held]

    def _hold(self, engine_id: int, go: list[InLine]) -> set[int]:
        if not go:
            return set()
        held = {row[0] for row in self._store.rows("hold", engine_id=engine_id, **_arrays(go))}
        for each in go:
            if each.id not in held:
                _complain(each, "is held")
        return held

    def held_unknown(self, engine_id: int, known: Collection[int], now: int) -> list[Lease]:
        """What an engine holds without having heard of it. It was due when it was leased, and its
        place in line is gone."""
        rows = self._store.rows("held_unknown", engine_id=engine_id, known=int8s(known))
        return [Lease(ident, name, now, *more) for ident, name, *more in rows]

    def check_hold(self, engine_id: int, ids: Collection[int]) -> None:
        """Raise Fenced if an engine does not hold one of these domains; behind the fence."""
        if ids:
            values = {"engine_id": engine_id, "ids": int8s(sorted(ids))}
            missing = self._store.one("any_not_held", **values)
            if missing is not None:
                raise Fenced(f"Engine {engine_id} does not hold domain {missing} any more.")

    def any_held(self, engine_id: int) -> bool:
        return self._store.one("held_by", engine_id=engine_id) is not None

    # -- held -> ready or idle ----------------------------------------------------------------

    def release(self, engine_id: int, ended: Sequence[Ended], now: int) -> None:
        """An engine gives domains back, in the order of their ids."""
        if not ended:
            return
        ends = [each.end for each in ended]
        self._front = min(self._front, min(end.polite_ms for end in ends))
        self._store.execute(
            "release",
            engine_id=engine_id,
            now=now,
            few=FEW,
            cap=self._store.rules.max_queued_per_domain,
            page_cap=self._store.rules.max_pages_per_domain,
            ids=int8s(end.domain_id for end in ends),
            moments=int8s(-1 if end.ready_at is None else end.ready_at for end in ends),
            polite=int8s(end.polite_ms for end in ends),
            failures=int8s(end.failures for end in ends),
            pages=int8s(end.pages for end in ends),
            queued=int8s(end.queued for end in ends),
            chunks=int8s(each.chunks for each in ended),
        )

    # -- asleep -------------------------------------------------------------------------------
    # The race: an engine brings a URL to a domain and sees that it is held; at the same time its
    # holder puts it to sleep, and does not see the URL, which is not yet committed. Nobody waits
    # for anybody. Instead, `release` notes who sleeps and how many chunks it had. When all
    # transactions are over that were under way when somebody saw the note, the chunks are counted
    # once more.

    def recheck(self, now: int) -> None:
        """Wake those who sleep and got a URL, from time to time."""
        if now >= self._recheck_at:
            self.wake_grown(now)

    def rechecked(self, now: int) -> None:
        """After that transaction: look who else sleeps."""
        if now >= self._recheck_at:
            self._recheck_at = now + RECHECK_MS
            self.see_asleep()

    def see_asleep(self) -> None:
        """From now on it is known who may have found them awake. Outside of any transaction."""
        self._store.run(lambda: self._store.execute("asleep_seen", limit=RECHECKS))

    def wake_grown(self, now: int) -> None:
        """Wake those of them that got a URL meanwhile; forget the others."""
        values = {"limit": RECHECKS, "before": now - LONGEST_MS}
        grown = self._store.rows("asleep_over", **values)
        self.wake({row[0]: 0 for row in grown}, now)

    # -- idle -> ready ------------------------------------------------------------------------

    def enter(self, rows: Sequence[tuple[int, int]]) -> None:
        """Domains that were just made get in line: (ready_at, id)."""
        if rows:
            moments, ids = zip(*sorted(rows), strict=True)
            self._front = min(self._front, moments[0])
            none = int8s([0] * len(ids))
            values = {"ids": int8s(ids), "more_pages": none, "more_queued": none}
            self._store.execute("stand_in_line", moments=int8s(moments), **values)

    def wake(self, queued: Mapping[int, int], now: int) -> None:
        """Those of these domains that are idle, or only wait for retries, are ready; how many URLs
        came in, by domain."""
        if queued:
            ids = sorted(queued)
            counts = int8s(queued[ident] for ident in ids)
            values = {"ids": int8s(ids), "queued": counts, "now": now}
            self._store.execute("wake_idle", **values)
            self._store.execute("wake_waiting", **values)

    def sweep(self) -> None:
        """A lost wake-up heals: every idle domain with something queued is ready again."""
        self._front = BEFORE_ALL
        self._store.execute("sweep")

    # -- all at once --------------------------------------------------------------------------

    def take_over(self, engine_id: int, since: int) -> int:
        """The domains of an engine that was just declared dead get in line; returns how many. A
        second rescuer finds none."""
        self._front = BEFORE_ALL
        values = {"engine_id": engine_id, "since": since, "delay": self._store.rules.delay_ms}
        return self._store.execute("take_over", **values).rowcount

    def wait_longer(self, until: Iterable[tuple[int, int]]) -> None:
        """Domains, by id, are not visited before these moments."""
        latest: dict[int, int] = {}
        for ident, moment in until:
            latest[ident] = max(moment, latest.get(ident, 0))
        ids = sorted(latest)
        moments = int8s(latest[ident] for ident in ids)
        self._store.execute("wait_longer", ids=int8s(ids), until=moments)

    def reschedule(self, before: int, delay: int, now: int) -> None:
        """The delay of the crawl changed: see `SupervisorFrontier.steer`."""
        self._front = BEFORE_ALL
        values = {"now": now, "delay": delay}
        if delay > before:
            self._store.execute("wait_as_much_longer", before=before, **values)
            self._store.execute("wait_as_much_longer_later", before=before, **values)
        else:
            self._store.execute("wait_no_longer", **values)
            self._store.execute("wait_no_longer_later", **values)


def _arrays(rows: Iterable[InLine]) -> dict[str, Int8s]:
    chosen = list(rows)
    return {
        "ids": int8s(each.id for each in chosen),
        "more_pages": int8s(each.more_pages for each in chosen),
        "more_queued": int8s(each.more_queued for each in chosen),
    }


def _complain(each: InLine, why: str) -> None:
    log.error("bug: a domain had two tokens", domain=each.id, name=each.name, why=why)
