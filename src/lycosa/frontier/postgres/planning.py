"""What a batch does to the logs of domains on PostgreSQL: read and decided before its transaction,
and written in it.

Nothing that was decided can be wrong by then, however often the transaction is tried: only the
engine that holds a domain changes its log, and the fence says that it still does. Others may have
appended links meanwhile; a domain that goes to sleep is counted for that (`tokens.release`).
"""

from __future__ import annotations

from dataclasses import dataclass

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
from lycosa.frontier.postgres.connection import int8s
from lycosa.frontier.postgres.errands import Errands
from lycosa.frontier.postgres.inbox import Buckets
from lycosa.frontier.postgres.logs import Logs, LogsSeen
from lycosa.frontier.postgres.store import PostgresStore
from lycosa.frontier.postgres.tokens import Ended
from lycosa.frontier.released import end_of
from lycosa.frontier.values import Batch, Release

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

    def __init__(self, store: PostgresStore, logs: Logs, inbox: Buckets, errands: Errands) -> None:
        self._store = store
        self._logs = logs
        self._inbox = inbox
        self._errands = errands

    def plan(self, engine_id: int, batch: Batch) -> Planned:
        """What a batch does."""
        pause = self._store.shifts.pause
        pause()
        found, changed = found_links(batch), touched(batch)
        ids = sorted(changed | found.domains() | {link[0] for link in batch.errands})
        clock = self._store.test_now()
        values = {"now": clock, "ids": int8s(ids), "engine_id": engine_id}
        now, held = self._store.read("what_is_held", **values)[0]
        epoch = self._store.epoch_ms
        pause()
        found = unpacked(found, set(held))
        links, posted = apart(found.links, set(held))
        count = self._inbox.count(len(posted))
        if count == 1:
            links, posted = found.links, []
        at_once = FoundLinks(links, found.blocks)
        wanted = self._errands.unanswered(batch.errands, now)
        asked = self._logs.read(link[0] for link in wanted)
        errands = [link for link in wanted if not asked[link[0]].state(link[1])]
        turns = self._errands.spaced(errands, asked.logs, now)
        given, seen = (at_once, errands, turns), LogsSeen()
        logs = self._logs.in_parts(changed | at_once.domains() | {link[0] for link in errands})
        plan = plan_batch(batch, given, set(held), seen.one_by_one(logs), now, LIMITS)
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
        self._logs.delete([(ident, seq) for ident, plan in own.items() for seq in plan.deletes])
        self._logs.insert([(ident, put) for ident, plan in own.items() for put in plan.puts])
        damaged = [
            (ident, seq, why)
            for ident, some in made.seen.damaged.items()
            if ident in own
            for seq, why in some
        ]
        self._logs.set_aside(damaged, now)

    @staticmethod
    def ends(made: Planned, released: list[Release]) -> list[Ended]:
        """What becomes of the domains that are given back, as far as the plan knows; and how many
        chunks each has if nobody brought one since."""
        ends = []
        for each in sorted(released, key=lambda each: each.domain_id):
            plan = made.plan.own.get(each.domain_id)
            if plan is not None:
                seen = made.seen
                count = seen.chunks[each.domain_id] + len(plan.puts) - len(plan.deletes)
                count -= len(seen.damaged.get(each.domain_id, ()))
                ends.append(Ended(end_of(each, plan, grown=False), count))
        return ends
