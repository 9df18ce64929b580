"""The log of one domain in the memory of who holds it, or of who asks; and deliveries to others.

`DomainLog` is built from the chunks that a store keeps. `plan` says what a commit does to it
without changing it, `apply` advances it once the transaction is known to have happened. Owns no
rule: what chunks say together is in `rule`, what a commit changes in `planning`. `_domain_log`
(compiled) is used where it could be built.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

from lycosa.frontier.log import compiled as _compiled
from lycosa.frontier.log import planning
from lycosa.frontier.log.format import FOREIGN, MAX_KILLS, MAX_TIME, REOPENED
from lycosa.frontier.log.new_chunk import NewRecords, new_chunks
from lycosa.frontier.log.rule import IS_DONE, QUEUED
from lycosa.frontier.log.twin import TwinIndex
from lycosa.frontier.log.values import Limits, LogChanges, LogCounts, LogPlan, UrlWait
from lycosa.frontier.values import Link
from lycosa.records import QueuedUrl

__all__ = [
    "FOREIGN",
    "DomainLog",
    "Limits",
    "LogChanges",
    "LogCounts",
    "LogPlan",
    "UrlWait",
    "compiled",
    "delivery",
]

AT_ONCE = 256  # URLs that `queued` reads ahead
DEFAULT = Limits()


class Index(Protocol):
    """What `TwinIndex` and the compiled class have in common; they are documented there."""

    unreadable: dict[int, int]

    def add(self, seq: int, blob: bytes) -> str: ...
    def remove(self, seqs: Iterable[int]) -> None: ...
    def chunks(self) -> list[tuple[int, int, int, int]]: ...
    def newest_stamp(self) -> int: ...
    def memory(self) -> int: ...
    def tell(self, fps: Sequence[int]) -> list[int]: ...
    def unseen(self, links: Sequence[Link]) -> dict[int, Link]: ...
    def counts(self) -> tuple[int, int, int, int]: ...
    def lanes(self) -> tuple[int, int]: ...
    def first_wait(self, without: frozenset[int]) -> int: ...
    def is_waiting(self, fps: Sequence[int]) -> list[bool]: ...
    def next(self, now: int, limit: int, budget: int) -> list[QueuedUrl]: ...
    def part(self, begin: int, count: int) -> list[QueuedUrl]: ...
    def find(self, fp: int) -> tuple[int, QueuedUrl | None]: ...
    def fold(self, seqs: Sequence[int], level: int, settled: int, limit: int) -> list[bytes]: ...


compiled: Callable[[int, int], Index] | None = _compiled.Index


class DomainLog:
    """The log of one domain. Times (`now_ms`, `until`) are ms of the store's clock; `epoch_ms` is
    the moment from which the store's chunks count them, kept in its table `crawl`."""

    __slots__ = ("_index", "damaged", "domain_id", "epoch_ms")

    def __init__(
        self, domain_id: int, epoch_ms: int, index: Callable[[int, int], Index] | None = None
    ) -> None:
        """`index`: TwinIndex or `compiled`; None: the compiled one if there is one."""
        self.domain_id = domain_id
        self.epoch_ms = epoch_ms
        self.damaged: list[tuple[int, str]] = []
        """Seq and fault of every chunk that `add` refused: they are to be set aside by who holds
        the domain. Those of other domains are not among them."""
        self._index: Index = (index or compiled or TwinIndex)(domain_id, epoch_ms)

    def add(self, seq: int, blob: bytes) -> bool:
        """Takes a chunk in, in any order; one that is known already changes nothing. False: it is
        damaged, and in `damaged`; or it is another domain's, and in no list. Never raises."""
        fault = self._index.add(seq, blob)
        if fault and fault != FOREIGN:
            self.damaged.append((seq, fault))
        return not fault

    def seqs(self) -> list[int]:
        """The chunks that were taken in, sorted. What a store has besides is unread."""
        return [seq for seq, _, _, _ in self._index.chunks()]

    @property
    def bytes(self) -> int:
        """Memory in use, blobs included, about."""
        return self._index.memory()

    @property
    def newest_stamp(self) -> int:
        """The newest stamp of all chunks, in ms since the epoch; 0: there is none."""
        return self._index.newest_stamp()

    # --- what is known of URLs ---

    def unseen(self, links: Sequence[Link]) -> list[Link]:
        """Those whose URLs are neither queued nor done; of one URL the first."""
        return list(self._index.unseen(links).values())

    def state(self, fp: int) -> str:
        """'queued', 'done' or ''."""
        (state,) = self._index.tell((fp,))
        return "queued" if state == QUEUED else "done" if state == IS_DONE else ""

    def states(self, fps: Sequence[int]) -> list[str]:
        """The same of many: 'queued', 'done' or '' for each."""
        names = {QUEUED: "queued", IS_DONE: "done"}
        return [names.get(state, "") for state in self._index.tell(fps)]

    def find(self, fp: int) -> tuple[QueuedUrl, int] | None:
        """A queued URL, and how many are ahead of it in the order of `queued`."""
        ahead, url = self._index.find(fp)
        return None if url is None else (url, ahead)

    def counts(self) -> LogCounts:
        """How many URLs are queued and done, what the store counted as queued, and responses."""
        return LogCounts(*self._index.counts())

    def ready(self) -> tuple[bool, int]:
        """Whether a URL is queued that does not wait; if none is, until when the first waits, in ms
        of the store's clock. (False, 0): nothing is queued."""
        plain, waiting = self._index.lanes()
        if plain or not waiting:
            return plain > 0, 0
        return False, self.epoch_ms + self._index.first_wait(frozenset())

    def next(self, now_ms: int, limit: int, budget_bytes: int) -> list[QueuedUrl]:
        """The URLs to be fetched next: those that waited until now, by that time, then the others
        by depth and by when they were found. Not more characters than the budget, but at least one
        URL. A URL whose text does not have its fingerprint is left out; the next plan takes it out
        of the queue (`LogPlan.lost`)."""
        return self._index.next(now_ms - self.epoch_ms, limit, budget_bytes)

    def queued(self) -> Iterator[QueuedUrl]:
        """All queued URLs, in bounded memory: by depth and by when they were found, behind them
        those that wait. The log must not change meanwhile."""
        begin, total = 0, sum(self._index.lanes())
        while begin < total:
            yield from self._index.part(begin, AT_ONCE)
            begin += AT_ONCE

    # --- commits of the holder ---

    def plan(self, changes: LogChanges, now_ms: int, limits: Limits | None = None) -> LogPlan:
        """What a commit with these changes does: chunks to write and to delete, and what the store
        has to count. The log stays as it is. It must have read all chunks that the store has, but
        for deliveries under way. With no changes it folds, if there is something to fold."""
        return planning.plan(self._index, changes, self._time(now_ms), limits or DEFAULT)

    def apply(self, plan: LogPlan, seqs: Sequence[int]) -> None:
        """The plan was committed; `seqs` are those of its `puts`, in their order."""
        if len(seqs) != len(plan.puts):
            raise ValueError("every chunk of a plan has a seq")
        if plan.deletes or plan.lost:
            self._index.remove(plan.deletes)
        for seq, blob in zip(seqs, plan.puts, strict=True):
            fault = self._index.add(seq, blob)
            assert not fault, fault

    def _time(self, now_ms: int) -> planning.LogMoment:
        stamp = max(now_ms - self.epoch_ms, self._index.newest_stamp() + 1, 0)
        return planning.LogMoment(min(stamp, MAX_TIME), now_ms, self.epoch_ms, self.domain_id)


def delivery(
    domain_id: int,
    epoch_ms: int,
    now_ms: int,
    links: Sequence[Link] = (),
    first_waits: Sequence[UrlWait] = (),
    kills: Sequence[tuple[int, int]] = (),
    reopened: Sequence[Link] = (),
    newest_stamp: int = -1,
    taken_back: int = 0,
    limits: Limits | None = None,
) -> list[bytes]:
    """Chunks from somebody who does not hold the domain; nearly always one. The store's count of
    queued URLs grows by the number of `links` and `reopened`.

    `kills`: fingerprint, how many. Whoever reopens pages has read the log, and gives its
    `newest_stamp`, and how many of the pages had a response (`taken_back`)."""
    stamp = min(max(now_ms - epoch_ms, newest_stamp + 1, 0), MAX_TIME)
    most = (limits or DEFAULT).chunk_bytes
    again = [(*link[:5], link[5] | REOPENED) for link in reopened]
    records = NewRecords(
        [*links, *again],
        waits=[(fp, _since(epoch_ms, until), stamp, tries) for fp, until, tries in first_waits],
        kills=[(fp, stamp, min(number, MAX_KILLS)) for fp, number in kills],
    )
    return new_chunks(domain_id, stamp, -taken_back, len(links) + len(again), records, most)


def _since(epoch_ms: int, moment_ms: int) -> int:
    return min(max(moment_ms - epoch_ms, 1), MAX_TIME)


def owner_of(blob: bytes) -> int:
    """The id of the domain that a chunk says it is of; 0 if it is too short to say so."""
    return int.from_bytes(blob[8:16], "little", signed=True)
