"""What a commit does to the log of a domain: which URLs change their state, what is written. Pure.

Owns the order in which the changes of a commit take effect, and what the store has to count. It
asks the index, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from lycosa.frontier.log.folding import ChunkSize, to_fold
from lycosa.frontier.log.format import FULL, MAX_TIME, Wait
from lycosa.frontier.log.new_chunk import NewRecords, new_chunks
from lycosa.frontier.log.rule import IS_DONE, QUEUED, UNKNOWN
from lycosa.frontier.log.values import Limits, LogChanges, LogPlan, LogPurge
from lycosa.frontier.states import found_order, waiting_order
from lycosa.frontier.values import Link
from lycosa.records import Flag, QueuedUrl, Url

AT_ONCE = 256  # URLs of the queue that a purge reads at once


class LogMoment(NamedTuple):
    """When, and in which log, something is planned."""

    stamp: int  # of what is written: later than all that was read
    now_ms: int
    epoch_ms: int
    domain_id: int

    def since(self, moment_ms: int) -> int:
        """A time as chunks hold it; never 0, which means none."""
        return min(max(moment_ms - self.epoch_ms, 1), MAX_TIME)


class LogIndex(Protocol):
    """The part of an index that a plan needs."""

    unreadable: dict[int, int]

    def add(self, seq: int, blob: bytes) -> str: ...
    def remove(self, seqs: Sequence[int]) -> None: ...
    def chunks(self) -> list[ChunkSize]: ...
    def tell(self, fps: Sequence[int]) -> list[int]: ...
    def unseen(self, links: Sequence[Link]) -> dict[int, Link]: ...
    def counts(self) -> tuple[int, int, int, int]: ...
    def lanes(self) -> tuple[int, int]: ...
    def first_wait(self, without: frozenset[int]) -> int: ...
    def is_waiting(self, fps: Sequence[int]) -> list[bool]: ...
    def part(self, begin: int, count: int) -> list[QueuedUrl]: ...
    def fold(self, seqs: Sequence[int], level: int, settled: int, limit: int) -> list[bytes]: ...


@dataclass(slots=True)
class Draft:
    """What the changes come to, one after the other."""

    states: dict[int, int]  # of the URLs that the changes name, as they are by now; not of new ones
    done: list[int] = field(default_factory=list)
    drops: list[int] = field(default_factory=list)  # of URLs that were queued before
    leaving: list[int] = field(default_factory=list)  # were queued before, and are not any more
    new: dict[int, Link] = field(default_factory=dict)
    waits: dict[int, tuple[int, int]] = field(default_factory=dict)  # until, attempts
    recorded: list[int] = field(default_factory=list)
    responses: int = 0
    left: int = 0
    added: int = 0
    refused: int = 0

    def queued(self, fp: int) -> bool:
        return self.states.get(fp) == QUEUED or fp in self.new

    def leave(self, fp: int, state: int) -> None:
        """A queued URL is done, or forgotten."""
        self.states[fp] = state
        if state == IS_DONE:
            self.done.append(fp)
        if self.new.pop(fp, None) is None:
            self.leaving.append(fp)
            if state == UNKNOWN:
                self.drops.append(fp)


def plan(index: LogIndex, changes: LogChanges, at: LogMoment, limits: Limits) -> LogPlan:
    """See `DomainLog.plan`."""
    return _plan_visit(index, changes, at, limits) or plan_any(index, changes, at, limits)


def _plan_visit(
    index: LogIndex, changes: LogChanges, at: LogMoment, limits: Limits
) -> LogPlan | None:
    """What nearly all commits do to a log, planned by the compiled index in one go: URLs are done,
    links came, and more is left to be visited. None: it is more than that."""
    done, deferred, links, waits, purges, dropped, blocks = changes
    visit = getattr(index, "visit", None)
    if visit is None or deferred or waits or purges or dropped or index.unreadable:
        return None
    found = visit(done, blocks, links, limits.max_urls, at.stamp, limits.chunk_bytes)
    if found is None:
        return None
    made, chunks = LogPlan._make(found[0]), found[1]
    if chunks + len(made.puts) < limits.tier:
        return made
    puts, deletes = _folded(index, made.puts, False, at, limits)
    return made._replace(puts=puts, deletes=deletes)


def plan_any(index: LogIndex, changes: LogChanges, at: LogMoment, limits: Limits) -> LogPlan:
    """What any commit does."""
    queued, copies, known_done, responses = index.counts()
    draft = Draft(_states(index, changes))
    _finish(draft, changes.done)
    _defer(draft, changes.deferred)
    links = [link for block in changes.blocks for link in block.links()]
    links += changes.links
    _take_links(draft, links, index, limits.max_urls - queued - known_done)
    for fp, until, attempts in changes.first_waits:
        if fp in draft.new:
            draft.waits[fp] = until, attempts
    purged = [_purge(draft, purge, index, at) for purge in changes.purges]
    dropped = _forget(draft, changes.dropped)
    lost = _forget(draft, list(index.unreadable)) if index.unreadable else []
    after = queued + len(draft.new) - len(draft.leaving)
    news = _written(draft, at, after - copies, limits)
    puts, deletes = _folded(index, news, after == 0, at, limits)
    runnable, first_wait = _ready(index, draft, at)
    return LogPlan(
        *(puts, deletes, draft.recorded, draft.left, draft.added, purged, dropped, lost),
        refused=draft.refused,
        gone=copies - queued if puts else 0,
        change=after - copies if puts else 0,
        queued=after,
        responses=responses + draft.responses,
        runnable=runnable,
        first_wait_ms=first_wait,
    )


def _states(index: LogIndex, changes: LogChanges) -> dict[int, int]:
    """The states of all URLs that the changes name, but for links: asked for at once."""
    fps = [fp for fp, _ in changes.done]
    if changes.deferred:
        fps += [fp for fp, _, _ in changes.deferred]
    fps += changes.dropped
    fps += index.unreadable
    return dict(zip(fps, index.tell(fps), strict=True))


def _finish(draft: Draft, done: Sequence[tuple[int, bool]]) -> None:
    for fp, response in done:
        state = draft.states[fp]
        if state == IS_DONE:
            continue
        draft.recorded.append(fp)
        draft.responses += response
        draft.states[fp] = IS_DONE
        draft.done.append(fp)
        if state == QUEUED:
            draft.left += 1
            draft.leaving.append(fp)


def _defer(draft: Draft, deferred: Sequence[tuple[int, int, int]]) -> None:
    for fp, until, attempts in deferred:
        if draft.states[fp] == QUEUED:
            draft.waits[fp] = until, attempts


def _take_links(draft: Draft, links: Sequence[Link], index: LogIndex, room: int) -> None:
    """Links that are neither known nor done by this commit."""
    found = index.unseen(links)
    for fp, state in draft.states.items():
        if state != UNKNOWN:
            found.pop(fp, None)
    draft.refused = max(len(found) - max(room, 0), 0)
    if draft.refused:
        found = dict(list(found.items())[: max(room, 0)])
    draft.new = found
    draft.added = len(found)


def _purge(draft: Draft, purge: LogPurge, index: LogIndex, at: LogMoment) -> list[QueuedUrl]:
    """All queued URLs of an origin fail for good, or are forgotten."""
    origin, _, forget, errands = purge
    begin = f"{origin}/" if origin else ""
    taken = [
        url
        for url in _all_queued(draft, index, at)
        if url.url.startswith(begin) and (errands or not url.flags & Flag.ERRAND)
    ]
    for url in taken:
        draft.leave(url.fp, UNKNOWN if forget else IS_DONE)
    return taken


def _all_queued(draft: Draft, index: LogIndex, at: LogMoment) -> Iterator[QueuedUrl]:
    """The queue, as it is by now; what this commit brings is at its end."""
    for begin in range(0, sum(index.lanes()), AT_ONCE):
        for url in index.part(begin, AT_ONCE):
            if draft.states.get(url.fp, QUEUED) != QUEUED:
                continue
            if url.fp in draft.waits:
                until, url.attempts = draft.waits[url.fp]
                url.order = waiting_order(until)
            yield url
    for _, fp, text, depth, _, flags in list(draft.new.values()):
        until, attempts = draft.waits.get(fp, (0, 0))
        order = waiting_order(until) if until else found_order(depth, at.now_ms)
        yield QueuedUrl(fp, Url(text), depth, order, attempts, flags)


def _forget(draft: Draft, fps: Sequence[int]) -> list[int]:
    """Those of them that are queued are so no longer."""
    taken = []
    for fp in fps:
        if draft.queued(fp):
            draft.leave(fp, UNKNOWN)
            taken.append(fp)
    return taken


def _written(draft: Draft, at: LogMoment, balance: int, limits: Limits) -> list[bytes]:
    """The new chunks; none if nothing changes, and the store has counted right."""
    waits: list[Wait] = [
        (fp, at.since(until), at.stamp, attempts)
        for fp, (until, attempts) in draft.waits.items()
        if draft.queued(fp)
    ]
    if not (draft.new or draft.done or draft.drops or waits or balance):
        return []
    records = NewRecords(list(draft.new.values()), draft.done, draft.drops, waits)
    return new_chunks(at.domain_id, at.stamp, draft.responses, balance, records, limits.chunk_bytes)


def _ready(index: LogIndex, draft: Draft, at: LogMoment) -> tuple[bool, int]:
    """Whether something is queued that does not wait; else until when the first waits."""
    plain, _ = index.lanes()
    plain += len(draft.new)
    if plain > len(draft.leaving) + len(draft.waits):
        return True, 0
    plain -= sum(fp in draft.new for fp in draft.waits)
    moved = [fp for fp in draft.waits if fp not in draft.new and draft.queued(fp)]
    moved += draft.leaving
    if plain - index.is_waiting(moved).count(False) > 0:
        return True, 0
    first = index.first_wait(frozenset(moved))
    times = [at.epoch_ms + first] if first else []
    times += [
        at.epoch_ms + at.since(until) for fp, (until, _) in draft.waits.items() if draft.queued(fp)
    ]
    return False, min(times, default=0)


def _folded(
    index: LogIndex, news: list[bytes], empty: bool, at: LogMoment, limits: Limits
) -> tuple[list[bytes], list[int]]:
    """What is written at last, and which chunks that replaces."""
    chunks = index.chunks()
    sizes = [*chunks, *(_size(number, blob) for number, blob in enumerate(news))]
    part = to_fold(sizes, empty, limits) if len(sizes) > 1 else None
    if part is None:
        return news, []
    folded, level = part
    seqs = [seq for seq, _, _, _ in folded]
    added = [-1 - number for number in range(len(news))]
    unreadable = dict(index.unreadable)
    try:  # the index is asked as it will be; nobody else looks meanwhile
        for seq, blob in zip(added, news, strict=True):
            fault = index.add(seq, blob)
            assert not fault, fault
        settled = at.now_ms - at.epoch_ms - limits.settle_ms
        made = index.fold(seqs, level, settled, limits.chunk_bytes)
    finally:
        index.remove(added)
        index.unreadable.update(unreadable)
    rest = [blob for seq, blob in zip(added, news, strict=True) if seq not in seqs]
    return made + rest, [seq for seq in seqs if seq >= 0]


def _size(number: int, blob: bytes) -> ChunkSize:
    """A new chunk, as if it were in the log."""
    full = blob[2] == FULL
    return -1 - number, FULL if full else 0, len(blob), int(full)
