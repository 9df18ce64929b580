"""The store thread's work: what an engine exchanges with the store about once a second.

Owns the order that makes F2 true: content on disk and synced, then the commit, then new leases
and URLs. `Exchanger.perform` is synchronous; `StoreThread` runs it beside the loop.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from lycosa.archive.edges import edges_frame
from lycosa.archive.segments import SegmentState, SegmentWriter
from lycosa.archive.text import pack
from lycosa.clock import ClockGap
from lycosa.engine.page_rows import counted_as
from lycosa.engine.store_clock import StoreClock
from lycosa.errors import StoreGone
from lycosa.frontier.protocol import Batch, Committed, EngineFrontier
from lycosa.log import get_logger
from lycosa.metrics import Stats
from lycosa.records import FOUND, Lease, PageRow, QueuedUrl
from lycosa.settings.steered import Steered, rules_now, steered
from lycosa.shifts import Shifts
from lycosa.urls.scope import Scope

log = get_logger("exchange")

FREED = 1000  # rows freed at once, in a millisecond


@dataclass(slots=True)
class Exchange:
    """What an engine tells the store, and asks it for."""

    batch: Batch
    want: int = 0  # domains to lease
    to_refill: list[int] = field(default_factory=list)  # domains out of URLs
    skipped: list[PageRow] = field(default_factory=list)  # found to be done before
    claims: list[str] = field(default_factory=list)  # addresses for errands
    hold_ms: int = 0  # for how long they are claimed
    news: bool = False  # those who read the store should see our figures now


@dataclass(slots=True)
class Reply:
    """What the store answered. `sent`: when the renewal of the lease was sent, engine's clock."""

    sent: float
    committed: Committed | None = None
    asked: int = 0
    leases: list[Lease] = field(default_factory=list)
    runs: dict[int, list[QueuedUrl]] = field(default_factory=dict)
    slots: dict[str, int] = field(default_factory=dict)  # addresses that are ours, until when
    steered: Steered | None = None  # set when something changed that engines go by
    scope: Scope | None = None  # set when the exclusions or the depth changed
    try_again: bool = False  # origins that were given up
    skipped: list[PageRow] = field(default_factory=list)  # done before: not recorded again
    clock: StoreClock | None = None  # as measured, where the store has one of its own
    error: BaseException | None = None
    commit_s: float = 0.0  # that the commit took, once content was on disk; 0.0: there was none
    lease_s: float = 0.0


class Syncs(Protocol):
    """Something with content that must be on disk before a commit."""

    def sync(self, closing: bool = False) -> list[SegmentState]: ...


class Exchanger:
    """Performs exchanges for one engine, one after the other."""

    def __init__(
        self,
        frontier: EngineFrontier,
        engine_id: int,
        clock: Callable[[], float],
        text: SegmentWriter | None = None,
        warc: SegmentWriter | None = None,
        ledger: Syncs | None = None,
        renew_every: float = 0.0,
        scope: Scope | None = None,
        edges: SegmentWriter | None = None,
        node: str = "",
        shifts: Shifts | None = None,
    ) -> None:
        self.frontier = frontier
        self.engine_id = engine_id
        self._clock = clock
        self._text = text
        self._warc = warc
        self._ledger = ledger
        self._edges = edges
        self._number = 0
        self._renew_every = renew_every  # seconds for which an empty batch needs no commit
        self._renewed = float("-inf")
        self._rules_version = 0
        self._node = node  # its name in the store
        self._said = Steered()  # what the store said last
        # Domains that the last two commits gave back, and when they may be visited.
        self._released: tuple[list[tuple[int, int]], ...] = ([], [])
        self._scope = scope
        self._gap = ClockGap()  # between the store's clock and ours
        self.shifts = shifts or Shifts()

    def perform(self, exchange: Exchange, closing: bool = False) -> Reply:
        """Write, commit, lease, refill; a failure is a value, the loop decides what it means."""
        reply = Reply(self._clock())
        try:
            idle = exchange.batch.empty() and not exchange.news and not closing
            if idle and self._renewed_lately(reply):
                reply.committed = self.frontier.watch()
            else:
                self._commit(exchange, reply, closing)
            self._hear(reply)
            self._supply(exchange, reply)
            self._let_go(exchange.batch)
            if closing:
                with suppress(StoreGone):  # it holds nothing: its lease may run out
                    self.frontier.retire(self.engine_id)
        except Exception as error:  # crosses to the loop's thread
            reply.error = error
        return reply

    def _supply(self, exchange: Exchange, reply: Reply) -> None:
        """New domains and URLs. If the store goes away now, what was committed still counts: the
        engine asks again later."""
        try:
            if self._said.pause is not None:
                return  # the loop hears of it with this reply
            if exchange.want:
                asked = self._clock()
                reply.leases = self.frontier.lease(self.engine_id, exchange.want)
                reply.lease_s = self._clock() - asked
                reply.asked = exchange.want
            if exchange.to_refill:
                reply.runs = self.frontier.refill(exchange.to_refill)
            if exchange.claims:
                reply.slots = self.frontier.claim(self.engine_id, exchange.claims, exchange.hold_ms)
        except StoreGone as error:
            log.warning("the store gives no new work, asking again", error=str(error))

    def _renewed_lately(self, reply: Reply) -> bool:
        """Whether the lease need not be renewed now; it then counts from its last renewal."""
        if reply.sent - self._renewed >= self._renew_every:
            return False
        reply.sent = self._renewed
        return True

    def _hear(self, reply: Reply) -> None:
        """What changed since the last time."""
        if reply.committed is None or reply.committed.rules_version == self._rules_version:
            return
        before, said = self._said, steered(self.frontier.setting, self._node)
        version, self._rules_version = self._rules_version, reply.committed.rules_version
        # Every change makes the version grow by one. What is left when those of settings are taken
        # off were changes of exclusions, or `lycosa retry`; a first look finds all of it new.
        told = (
            0
            if not version
            else sum(
                one != other
                for one, other in (
                    (before.crawl, said.crawl),
                    (before.pause, said.pause),
                    (before.max_pages, said.max_pages),
                    (before.node, said.node),
                )
            )
        )
        reply.try_again = self._rules_version - version > told
        self._said = reply.steered = said
        self._renewed = float("-inf")  # so that the next exchange tells the store what we do now
        if said.crawl is not None:
            self._postpone(said.crawl.delay, said.least_delay(reply.committed.now_ms))
            self.frontier.obey(rules_now(self.frontier.rules, said.crawl))
        self._rebuild_scope(reply, said)

    def _postpone(self, delay: float, least: float) -> None:
        """With a longer delay, what was given back by the old one waits for as much longer. Whoever
        changed the delay has seen to all domains that were in the store by then: not to those that
        we gave back in that moment."""
        now, longer = round(delay * 1000), round((delay - least) * 1000)
        late = [(ident, at + longer) for part in self._released for ident, at in part]
        if now > self.frontier.rules.delay_ms and late:
            self.frontier.postpone(late)

    def _rebuild_scope(self, reply: Reply, said: Steered) -> None:
        """New exclusions are compiled here: a long list would hold the loop."""
        if self._scope is None:
            return
        rules = self._scope.rules
        if said.crawl is not None:
            rules = replace(rules, max_depth=said.crawl.max_depth)
        if reply.try_again:
            rules = replace(rules, exclude=tuple(self.frontier.exclusions()))
        if rules != self._scope.rules:
            self._scope = reply.scope = Scope(rules)

    def _commit(self, exchange: Exchange, reply: Reply, closing: bool) -> None:
        """A batch that has a number was written before: its commit failed and is tried again
        (F5)."""
        batch = exchange.batch
        if not batch.number:
            batch.pages, exchange.skipped = self._unsettled(batch.pages)
            _uncount(batch.stats, exchange.skipped)
            self.shifts.away()
            self._write(batch)
            batch.segments = [
                (state.kind, state.id, state.length, state.closed)
                for state in self._sync_all(closing)
            ]
            self._number += 1
            batch.number = self._number
        reply.sent = self._clock()
        reply.committed = self.frontier.commit(self.engine_id, batch)
        reply.commit_s = self._clock() - reply.sent
        reply.skipped = exchange.skipped
        released = [(each.domain_id, each.polite_ms) for each in batch.released]
        self._released = (self._released[1], released)
        self._renewed = reply.sent
        if self.frontier.server_clock:
            ahead_ms = self._gap.measure(reply.committed.now_ms, reply.sent, self._clock())
            reply.clock = StoreClock(ahead_ms, self._gap.doubt)

    def _unsettled(self, pages: list[PageRow]) -> tuple[list[PageRow], list[PageRow]]:
        """Pages to record, and those that redirects led to and that were done before: no text
        twice (F1)."""
        targets = [(page.domain_id, page.fp) for page in pages if page.order == FOUND]
        if not targets:
            return pages, []
        done = self.frontier.settled(targets)
        kept: list[PageRow] = []
        skipped: list[PageRow] = []
        for page in pages:
            key = (page.domain_id, page.fp)
            again = page.order == FOUND and key in done
            (skipped if again else kept).append(page)
            done.add(key)
        return kept, skipped

    def _write(self, batch: Batch) -> None:
        """Text and WARC go to disk; they need not stay in memory for the commit."""
        if self._text is not None:
            self._write_text([page for page in batch.pages if page.text_row])
        if self._warc is not None:
            for record in batch.records:
                self._warc.append(*record)
            for page in batch.pages:
                if page.warc:
                    page.warc_segment, page.warc_offset = self._warc.append(*page.warc)
                    page.warc = ()
        if self._edges is not None and batch.edges:
            self._edges.append(edges_frame(batch.edges))

    def _write_text(self, pages: list[PageRow]) -> None:
        """One zstd frame for all, so that a crash costs at most an unfinished frame."""
        if not pages or self._text is None:
            return
        frame, offsets = pack([page.text_row for page in pages])
        segment, at = self._text.append(frame)
        for page, offset in zip(pages, offsets, strict=True):
            page.text_segment, page.text_frame, page.text_offset = segment, at, offset
            page.text_row = b""

    def _sync_all(self, closing: bool) -> Iterable[SegmentState]:
        for writer in (self._text, self._warc, self._ledger, self._edges):
            if writer is not None:
                yield from writer.sync(closing)

    def _let_go(self, batch: Batch) -> None:
        """Free what is committed in the store thread, some at a time: freeing all of it at once
        would hold the interpreter, and with it the loop."""
        many: tuple[list[Any], ...] = (
            *(batch.links, batch.blocks, batch.pages, batch.origins, batch.released),
        )
        for rows in many:
            while rows:
                del rows[-FREED:]
                self.shifts.pause()


def _uncount(stats: dict[str, Any], skipped: list[PageRow]) -> None:
    """Take pages back out of the counters that go with the batch."""
    if skipped:
        counted = Stats.from_dict(stats)
        for page in skipped:
            counted.uncount(*counted_as(page))
        stats.update(counted.to_dict())


class StoreThread:
    """Runs an Exchanger beside the loop, in shifts: one exchange under way at a time."""

    def __init__(self, exchanger: Exchanger, wake: Callable[[], None]) -> None:
        self._exchanger = exchanger
        self._wake = wake
        self._jobs: queue.SimpleQueue[tuple[Exchange, bool] | None] = queue.SimpleQueue()
        self._replies: queue.SimpleQueue[Reply] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="store", daemon=True)
        self.busy = False
        self._thread.start()

    def submit(self, exchange: Exchange, closing: bool = False) -> None:
        self.busy = True
        self._jobs.put((exchange, closing))

    def poll(self) -> Reply | None:
        """The reply to the exchange under way, when it is there."""
        try:
            reply = self._replies.get_nowait()
        except queue.Empty:
            return None
        self.busy = False
        return reply

    def close(self) -> None:
        self._jobs.put(None)
        self._thread.join(timeout=30)

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            self._exchanger.shifts.store_begins()
            self._replies.put(self._exchanger.perform(*job))  # nobody keeps it here
            self._exchanger.shifts.store_ends()
            self._wake()
