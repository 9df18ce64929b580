"""What a batch does to the logs of domains on SQLite: read and decided before its transaction, and
written in it.

Nothing that was decided can be wrong by then: only the engine that holds a domain changes its log,
and the fence says that it still does. Others may have appended links meanwhile; `ends` looks for
them before a domain goes to sleep.
"""

from __future__ import annotations

from dataclasses import dataclass

from lycosa.frontier import queries
from lycosa.frontier.log.batches import BatchPlan, plan_batch, touched
from lycosa.frontier.log.values import Limits
from lycosa.frontier.released import DomainEnd, end_of
from lycosa.frontier.sqlite.add import Adder
from lycosa.frontier.sqlite.errands import Errands
from lycosa.frontier.sqlite.logs import Logs, LogsRead
from lycosa.frontier.sqlite.store import SqliteStore, json_ids
from lycosa.frontier.values import Batch, Release

SQL = queries.load("sqlite")
LIMITS = Limits()


@dataclass(slots=True)
class Planned:
    """A batch's plan, with what it was made from."""

    plan: BatchPlan
    read: LogsRead
    chunks: dict[int, list[bytes]]  # links to domains that the engine does not hold


class Planner:
    """Plans for `commit`."""

    def __init__(self, store: SqliteStore, logs: Logs, adder: Adder, errands: Errands) -> None:
        self._store = store
        self._logs = logs
        self._adder = adder
        self._errands = errands

    def plan(self, engine_id: int, batch: Batch) -> Planned:
        """What a batch does."""
        now = self._store.now_ms()
        wanted = self._errands.unanswered(batch.errands, now)
        ids = touched(batch) | {link[0] for link in (*batch.links, *wanted)}
        values = {"ids": json_ids(sorted(ids)), "engine_id": engine_id}
        held = set(self._store.rows("held_among", values))
        read = self._logs.read(ids)
        errands = [link for link in wanted if not read[link[0]].state(link[1])]
        turns = self._errands.spaced(errands, read.logs, now)
        plan = plan_batch(batch, (errands, turns), held, read.logs, now, LIMITS)
        found, epoch = plan.found, self._store.epoch_ms
        chunks = {ident: found.chunks(ident, epoch, now) for ident in found.links}
        return Planned(plan, read, chunks)

    # What follows is for the inside of the transaction.

    def write(self, made: Planned, now: int) -> None:
        """Change the logs of the domains that the engine holds."""
        own = made.plan.own
        self._logs.delete((ident, seq) for ident, plan in own.items() for seq in plan.deletes)
        self._logs.insert([(ident, put) for ident, plan in own.items() for put in plan.puts])
        for ident in own:
            self._logs.set_aside(ident, made.read[ident].damaged, now)

    def ends(self, made: Planned, released: list[Release]) -> list[DomainEnd]:
        """What becomes of the domains that are given back. Before `write`: it looks for chunks that
        were not read."""
        own = made.plan.own
        given = [each for each in released if each.domain_id in own]
        asleep = [each.domain_id for each in given if not own[each.domain_id].runnable]
        grown = self._logs.grown(asleep, made.read)
        return [end_of(each, own[each.domain_id], each.domain_id in grown) for each in given]
