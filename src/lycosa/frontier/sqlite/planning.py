"""What a batch does to the logs of domains on SQLite: read and decided before its transaction, and
written in it.

Nothing that was decided can be wrong by then: only the engine that holds a domain changes its log,
and the fence says that it still does. Others may have appended links meanwhile; `ends` looks for
them before a domain goes to sleep.
"""

from __future__ import annotations

from dataclasses import dataclass

from lycosa.frontier import queries
from lycosa.frontier.inbox import Arrival, Delivery, InboxRow, apart, rows_of
from lycosa.frontier.log.batches import (
    BatchPlan,
    FoundLinks,
    found_links,
    plan_batch,
    touched,
    unpacked,
)
from lycosa.frontier.log.values import Limits
from lycosa.frontier.released import DomainEnd, end_of
from lycosa.frontier.sqlite.errands import Errands
from lycosa.frontier.sqlite.inbox import Buckets
from lycosa.frontier.sqlite.logs import Logs, LogsSeen
from lycosa.frontier.sqlite.store import SqliteStore, json_ids
from lycosa.frontier.values import Batch, Release

SQL = queries.load("sqlite")
LIMITS = Limits()


@dataclass(slots=True)
class Planned:
    """A batch's plan, with what it was made from."""

    plan: BatchPlan
    seen: LogsSeen
    chunks: dict[int, list[bytes]]  # links to domains that the engine does not hold
    posts: list[InboxRow]  # such links that go on their way
    delivery: Delivery  # those of all engines that arrive


class Planner:
    """Plans for `commit`."""

    def __init__(self, store: SqliteStore, logs: Logs, inbox: Buckets, errands: Errands) -> None:
        self._store = store
        self._logs = logs
        self._inbox = inbox
        self._errands = errands

    def plan(self, engine_id: int, batch: Batch) -> Planned:
        """What a batch does."""
        pause = self._store.shifts.pause
        pause()
        now, epoch = self._store.now_ms(), self._store.epoch_ms
        wanted = self._errands.unanswered(batch.errands, now)
        found, changed = found_links(batch), touched(batch)
        ids = changed | found.domains() | {link[0] for link in wanted}
        values = {"ids": json_ids(sorted(ids)), "engine_id": engine_id}
        held = set(self._store.rows("held_among", values))
        pause()
        found = unpacked(found, held)
        links, posted = apart(found.links, held)
        count = self._inbox.count(len(posted))
        if count == 1:
            links, posted = found.links, []
        at_once = FoundLinks(links, found.blocks)
        asked = self._logs.read(link[0] for link in wanted)
        errands = [link for link in wanted if not asked[link[0]].state(link[1])]
        turns = self._errands.spaced(errands, asked.logs, now)
        given, seen = (at_once, errands, turns), LogsSeen()
        logs = self._logs.in_parts(changed | at_once.domains() | {link[0] for link in errands})
        plan = plan_batch(batch, given, held, seen.one_by_one(logs), now, LIMITS)
        pause()
        chunks = plan.found.chunks(epoch, now)
        pause()
        posts = rows_of(posted, count, (engine_id, batch.number), now - epoch)
        delivery = self._inbox.next(engine_id, len(posted), now)
        return Planned(plan, seen, chunks, posts, delivery)

    # What follows is for the inside of the transaction.

    def arrival(self, engine_id: int, made: Planned, now: int) -> Arrival:
        """All links that go to logs of domains which their finders do not hold: those of the batch,
        and those on their way, if no other engine brought them. The others go on theirs."""
        self._inbox.post(made.posts)
        arrival = Arrival(made.plan.found, made.chunks, {})
        taken = self._inbox.take(engine_id, made.delivery, now)
        return arrival.joined(made.delivery) if taken else arrival

    def write(self, made: Planned, now: int) -> None:
        """Change the logs of the domains that the engine holds."""
        own = made.plan.own
        self._logs.delete((ident, seq) for ident, plan in own.items() for seq in plan.deletes)
        self._logs.insert([(ident, put) for ident, plan in own.items() for put in plan.puts])
        for ident in own.keys() & made.seen.damaged.keys():
            self._logs.set_aside(ident, made.seen.damaged[ident], now)

    def grown(self, made: Planned, released: list[Release]) -> set[int]:
        """Those of the domains that are given back which would sleep, and got links that the plan
        does not know of. Before `write`: it looks for chunks that were not read."""
        own = made.plan.own
        given = {each.domain_id for each in released} & own.keys()
        return self._logs.grown([ident for ident in given if not own[ident].runnable], made.seen)

    @staticmethod
    def ends(made: Planned, released: list[Release], grown: set[int]) -> list[DomainEnd]:
        """What becomes of the domains that are given back."""
        own = made.plan.own
        given = [each for each in released if each.domain_id in own]
        return [end_of(each, own[each.domain_id], each.domain_id in grown) for each in given]
