"""Tokens on SQLite: which domains are ready, held or idle, and how each comes from one to another.

Owns `ready`, `held` and `domains.idle` (the table of states is in `frontier.states`), and which row
of `domains` a visit writes. All of it happens inside a transaction of the caller: the one lock on
writing makes what was read there true until its end. Knows nothing of URLs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from lycosa.errors import Fenced
from lycosa.frontier import queries
from lycosa.frontier.released import DomainEnd, StoredRow, must_follow
from lycosa.frontier.sqlite.store import SqliteStore, json_ids
from lycosa.frontier.states import DomainState
from lycosa.log import get_logger
from lycosa.records import Lease

SQL = queries.load("sqlite")
ROUNDS = 8  # looks at the line for one lease, if those first in line must wait for longer
log = get_logger("store")


class InLine(NamedTuple):
    """A domain that is due, as `ready_head` tells it; without a name it is unknown."""

    ready_at: int
    id: int
    more_pages: int
    more_queued: int
    name: str | None
    idle: int
    engine_id: int | None
    wait_at: int
    polite_at: int
    not_before: int
    delay_ms: int
    failures: int
    pages: int
    queued: int
    seeded: int
    robots_bytes: int

    @property
    def due_ms(self) -> int:
        """When a visit may begin."""
        return max(self.ready_at, self.polite_at, self.not_before)

    def wrong(self) -> str:
        """What it has beside its place in line, though a domain has one token; '': nothing."""
        if self.name is None:
            return "is not known"
        if self.engine_id is not None:
            return f"is held by engine {self.engine_id}"
        return "is idle" if self.idle else ""

    def lease(self) -> Lease:
        assert self.name is not None
        known = (self.due_ms, self.delay_ms, self.failures, self.pages, self.queued)
        return Lease(self.id, self.name, *known, bool(self.seeded))


class Head(NamedTuple):
    """The first in line, sorted out."""

    go: list[InLine]
    later: list[InLine]  # somebody said that they must wait for longer
    wrong: list[tuple[InLine, str]]  # and why they have no place in line
    last: InLine | None  # of all of them

    @property
    def served(self) -> int:
        return len(self.go) + len(self.later) + len(self.wrong)


def sorted_out(found: list[InLine], taken: set[int], budget: int, now: int) -> Head:
    """Who may go, as far as the budget for robots rules goes: at least one, if none was taken
    before. The others stay in line."""
    head = Head([], [], [], None)
    known = set(taken)
    for each in found:
        why = each.wrong() or ("is in line twice" if each.id in known else "")
        if why:
            head.wrong.append((each, why))
        elif each.due_ms > now:
            head.later.append(each)
        elif each.robots_bytes > budget and (head.go or taken):
            break
        else:
            head.go.append(each)
            budget -= each.robots_bytes
        known.add(each.id)
        head = head._replace(last=each)
    return head


class Tokens:
    """What other parts of the frontier do with domains."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self._db = store.db

    # -- ready -> held ------------------------------------------------------------------------

    def lease(self, engine_id: int, limit: int, now: int) -> list[Lease]:
        """Up to `limit` domains that are due, as far as the memory for their robots rules goes (at
        least one), now held by an engine."""
        taken: list[InLine] = []
        budget = self._store.rules.robots_bytes
        for _ in range(ROUNDS):
            values = {"now": now, "limit": limit - len(taken)}
            found = [InLine._make(row) for row in self._store.rows("ready_head", values)]
            head = sorted_out(found, {each.id for each in taken}, budget, now)
            self._leave_line(head)
            taken += head.go
            budget -= sum(each.robots_bytes for each in head.go)
            if len(taken) == limit or head.served < len(found) or not found:
                break
        held = [(each.id, engine_id, *each[2:4]) for each in taken]
        self._store.write_rows("held_insert", held)
        return [each.lease() for each in taken]

    def _leave_line(self, head: Head) -> None:
        if head.last is None:
            return
        values = {"ready_at": head.last.ready_at, "id": head.last.id}
        self._db.execute(SQL["ready_take"], values)
        waited = [each.id for each in (*head.go, *head.later) if each.wait_at]
        if waited:
            self._db.execute(SQL["wait_over"], (json_ids(waited),))
        for each, why in head.wrong:
            log.error("bug: a domain had two tokens", domain=each.id, name=each.name, why=why)
        later = [(each.due_ms, *each[1:4]) for each in head.later]
        self._store.write_rows("ready_insert", sorted(later))

    # -- held ---------------------------------------------------------------------------------

    def held_unknown(self, engine_id: int, known: Collection[int]) -> list[Lease]:
        """Domains that an engine holds without having heard of it."""
        rows = self._store.rows("held_known", {"engine_id": engine_id})
        found = []
        for ident, name, polite, not_before, delay, failures, seeded in rows:
            if ident not in known:
                known_of = (max(polite, not_before), delay, failures, 0, 0, bool(seeded))
                found.append(Lease(ident, name, *known_of))  # its log tells its counts
        return found

    def check_hold(self, engine_id: int, ids: Iterable[int]) -> None:
        """Raise Fenced if an engine does not hold one of these domains."""
        values = {"ids": json_ids(list(set(ids))), "engine_id": engine_id}
        missing = self._store.one("any_not_held", values)
        if missing is not None:
            raise Fenced(f"Engine {engine_id} does not hold domain {missing} any more.")

    def any_held(self, engine_id: int) -> bool:
        return self._store.one("held_by", (engine_id,)) is not None

    # -- held -> ready or idle ----------------------------------------------------------------

    def release(self, engine_id: int, ends: Sequence[DomainEnd]) -> None:
        """An engine gives domains back."""
        if not ends:
            return
        values = {"ids": json_ids([end.domain_id for end in ends]), "engine_id": engine_id}
        said = {row[0]: StoredRow._make(row[1:]) for row in self._store.rows("held_states", values)}
        ready, written = [], []
        for end in ends:
            row = said[end.domain_id]
            more = (end.pages - row.pages, end.queued - row.queued)
            if must_follow(row, end, self._store.rules):
                written.append(_row(end))
                more = (0, 0)
            if end.ready_at is not None:
                ready.append((end.ready_at, end.domain_id, *more))
        self._db.execute(SQL["held_delete"], values)
        self._store.write_rows("ready_insert", sorted(ready))
        self._store.write_rows("released", written)

    # -- idle -> ready ------------------------------------------------------------------------

    def enter(self, rows: Sequence[tuple[int, int]]) -> None:
        """Domains that were just made get in line: (ready_at, id)."""
        self._store.write_rows("ready_insert", [(*row, 0, 0) for row in rows])

    def wake(self, ident: int, state: DomainState, new: int, now: int) -> None:
        """A domain that `wakes` got new URLs."""
        values = {"id": ident, "queued": new, "wait_at": state.wait_at, "now": now}
        if state.idle:
            more = [(0, 0)]
            polite = self._db.execute(SQL["wake_idle"], values).fetchall()
        else:
            more = self._db.execute(SQL["ready_leave"], values).fetchall()
            polite = self._db.execute(SQL["wake_waiting"], values).fetchall() if more else []
        for (at,) in polite:
            self._db.execute(SQL["ready_insert"], (max(at, now), ident, *more[0]))

    def sweep(self) -> None:
        """A lost wake-up heals: every idle domain with something queued is ready again."""
        self.enter(self._db.execute(SQL["sweep"]).fetchall())

    # -- all at once --------------------------------------------------------------------------

    def take_over(self, engine_id: int, since: int) -> int:
        """The domains of an engine that was just declared dead get in line; returns how many. A
        second rescuer finds none."""
        values = {"engine_id": engine_id, "since": since, "delay": self._store.rules.delay_ms}
        rescued = self._db.execute(SQL["take_over"], values).rowcount
        self._db.execute(SQL["held_forget"], values)
        return rescued

    def wait_longer(self, until: Iterable[tuple[int, int]]) -> None:
        """Domains, by id, are not visited before these moments."""
        rows = [{"id": ident, "until": moment} for ident, moment in until]
        self._db.executemany(SQL["wait_longer"], rows)

    def reschedule(self, before: int, delay: int, now: int) -> None:
        """The delay of the crawl changed: see `SupervisorFrontier.steer`."""
        values = {"now": now, "delay": delay, "before": before}
        longer = ("wait_as_much_longer", "wait_as_much_longer_later")
        for query in longer if delay > before else ("wait_no_longer", "wait_no_longer_later"):
            self._db.execute(SQL[query], values)


def _row(end: DomainEnd) -> tuple[int, ...]:
    """What the row of a domain says after a release."""
    idle = int(end.ready_at is None)
    counts = (end.failures, end.pages, end.queued)
    return (end.domain_id, idle, end.polite_ms, end.wait_at, *counts)
