"""What a batch does to the logs of domains, decided before its transaction. Pure.

Owns how a batch is divided: a domain that the batch's engine holds gets one `LogPlan`, which
changes its log as a whole; of a link to any other domain it is only asked whether that domain
knows it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import NamedTuple

from lycosa.frontier.log import compiled
from lycosa.frontier.log.domain_log import DomainLog, delivery
from lycosa.frontier.log.values import Limits, LogChanges, LogPlan, LogPurge, UrlWait
from lycosa.frontier.values import Batch, Deferral, Link, LinkBlock, Purge
from lycosa.records import FOUND, PageRow, QueuedUrl

LinksOf = dict[int, list[Link]]  # by domain
BlocksOf = dict[int, list[LinkBlock]]


@dataclass(slots=True)
class NewUrls:
    """URLs that are new to domains which their finder need not hold. A delivery comes after all
    that its finder read of a log, or a URL that was dropped and is found again would stay hidden
    if the clock stood still or was set back."""

    links: LinksOf = field(default_factory=dict)
    newest: dict[int, int] = field(default_factory=dict)  # stamp of each of their logs, as read
    waits: dict[int, list[UrlWait]] = field(default_factory=dict)

    def take(self, log: DomainLog, links: list[Link], *, anyway: bool = False) -> None:
        """Those of a domain's links that its log does not know; `anyway`: none of them, too."""
        new = log.unseen(links)
        if new or anyway:
            self.links[log.domain_id] = new
            self.newest[log.domain_id] = log.newest_stamp

    def joined(self, other: NewUrls) -> NewUrls:
        """These and those of another; of equal ones these."""
        links = dict(self.links)
        for ident, more in other.links.items():
            known = {link[1] for link in links.get(ident, ())}
            links[ident] = [*links.get(ident, ()), *(each for each in more if each[1] not in known)]
        newest = dict(self.newest)
        for ident, stamp in other.newest.items():
            newest[ident] = max(stamp, newest.get(ident, stamp))
        return NewUrls(links, newest, {**other.waits, **self.waits})

    def chunks(self, epoch_ms: int, now_ms: int) -> dict[int, list[bytes]]:
        """All of them as chunks of logs, by domain: mostly one each."""
        return {
            ident: self.chunks_of(ident, links, epoch_ms, now_ms)
            for ident, links in self.links.items()
        }

    def chunks_of(self, ident: int, links: list[Link], epoch_ms: int, now_ms: int) -> list[bytes]:
        """Some of them, if not all are allowed."""
        kept = {link[1] for link in links}
        waits = [wait for wait in self.waits.get(ident, ()) if wait[0] in kept]
        newest = self.newest[ident]
        return delivery(ident, epoch_ms, now_ms, links, waits, newest_stamp=newest)


@dataclass(slots=True)
class BatchPlan:
    """What a batch does."""

    own: dict[int, LogPlan] = field(default_factory=dict)  # to domains that its engine holds
    found: NewUrls = field(default_factory=NewUrls)  # in domains of others
    pages: list[PageRow] = field(default_factory=list)  # that are recorded
    purged: list[tuple[Purge, list[QueuedUrl]]] = field(default_factory=list)
    dropped: list[tuple[int, QueuedUrl, str]] = field(default_factory=list)  # of those, the queued

    @property
    def change(self) -> int:
        """By how many URLs the queues of its own domains grow."""
        return sum(plan.change for plan in self.own.values())


def touched(batch: Batch) -> set[int]:
    """The domains whose logs a batch may change, links and errands aside."""
    return {
        *(page.domain_id for page in batch.pages),
        *(each.domain_id for each in batch.deferred),
        *(each.domain_id for each in batch.purges),
        *(each[0] for each in batch.dropped),
        *(each.domain_id for each in batch.released),
    }


class FoundLinks(NamedTuple):
    """The links of a batch, by domain."""

    links: LinksOf
    blocks: BlocksOf  # of domains that the batch's engine holds

    def domains(self) -> set[int]:
        return self.links.keys() | self.blocks.keys()


def found_links(batch: Batch) -> FoundLinks:
    """The links of a batch, in the order of `Batch.all_links`: of each domain those with flags,
    then its blocks, then the others."""
    blocks: BlocksOf = {}
    for block in batch.blocks:
        blocks.setdefault(block.domain_id, []).append(block)
    flagged = [link for link in batch.links if link[5]]
    if not flagged:
        return FoundLinks(by_domain(batch.links), blocks)
    links = by_domain([*flagged, *(link for link in batch.links if not link[5])])
    for ident in {link[0] for link in flagged} & blocks.keys():
        first = sum(1 for link in links[ident] if link[5])
        some = [link for block in blocks.pop(ident) for link in block.links()]
        links[ident][first:first] = some
    return FoundLinks(links, blocks)


def unpacked(found: FoundLinks, held: Set[int]) -> FoundLinks:
    """The same, with blocks of domains that are held alone: a page may say that its links start
    from another domain."""
    if found.blocks.keys() <= held:
        return found
    links = dict(found.links)
    for ident in found.blocks.keys() - held:
        some = [link for block in found.blocks[ident] for link in block.links()]
        links[ident] = some + links.get(ident, [])
    return FoundLinks(links, {ident: found.blocks[ident] for ident in found.blocks.keys() & held})


def by_domain_in_python(links: Iterable[Link]) -> LinksOf:
    """Links by their domain, in order."""
    found: LinksOf = {}
    for link in links:
        found.setdefault(link[0], []).append(link)
    return found


by_domain: Callable[[Iterable[Link]], LinksOf] = compiled.by_domain or by_domain_in_python


def first_waits(deferred: Iterable[Deferral]) -> dict[int, list[UrlWait]]:
    """The waits of URLs that are new, by domain."""
    waits: dict[int, list[UrlWait]] = {}
    for each in deferred:
        wait = (each.url.fp, each.until_ms, each.attempts)
        waits.setdefault(each.domain_id, []).append(wait)
    return waits


def plan_batch(
    batch: Batch,
    given: tuple[FoundLinks, list[Link], list[Deferral]],
    held: Collection[int],
    logs: Iterable[DomainLog],
    now_ms: int,
    limits: Limits,
) -> BatchPlan:
    """What a batch does. `given`: those of its links that go to logs at once, its errands, and
    until when some of these wait; `held`: the domains among those of the batch that its engine
    holds; `logs`: those of all its domains, which may come one by one: none is looked at again."""
    found_now, errands, turns = given
    links = dict(found_now.links)
    for ident, some in by_domain(errands).items():
        links[ident] = links.get(ident, []) + some
    waits = first_waits(turns)
    made = BatchPlan()
    told = _Told(batch, FoundLinks(links, found_now.blocks), waits)
    ours = (touched(batch) | links.keys() | found_now.blocks.keys()) & set(held)
    for log in logs:
        ident = log.domain_id
        if ident in ours:
            made.own[ident] = log.plan(told.changes(log), now_ms, limits)
        elif ident in links:
            made.found.take(log, links[ident])
    found = made.found
    found.links = {ident: found.links[ident] for ident in links if ident in found.links}
    found.waits = {ident: each for ident, each in waits.items() if ident in found.links}
    made.pages = _recorded(batch.pages, made.own)
    made.purged = _purged(batch.purges, made.own)
    made.dropped = _dropped(batch.dropped, made.own)
    return made


class _Told:
    """What a batch says of the domains that its engine holds, by domain."""

    def __init__(
        self, batch: Batch, found: FoundLinks, waits: Mapping[int, Sequence[UrlWait]]
    ) -> None:
        self._found = found
        self._waits = waits
        self._deferred = first_waits(batch.deferred)
        self._pages: dict[int, list[PageRow]] = {}
        for page in batch.pages:
            self._pages.setdefault(page.domain_id, []).append(page)
        self._purges: dict[int, list[LogPurge]] = {}
        for each in batch.purges:
            purge = (each.origin, each.outcome, each.forget, each.errands)
            self._purges.setdefault(each.domain_id, []).append(purge)
        self._dropped: dict[int, list[int]] = {}
        for ident, url, _ in batch.dropped:
            self._dropped.setdefault(ident, []).append(url.fp)

    def changes(self, log: DomainLog) -> LogChanges:
        """What changes in this one."""
        ident = log.domain_id
        return LogChanges(
            _done(self._pages.get(ident, ()), log),
            self._deferred.get(ident, ()),
            self._found.links.get(ident, ()),
            self._waits.get(ident, ()),
            self._purges.get(ident, ()),
            self._dropped.get(ident, ()),
            self._found.blocks.get(ident, ()),
        )


def _done(pages: Sequence[PageRow], log: DomainLog) -> list[tuple[int, bool]]:
    """What is done of a domain: URLs that are queued, and those that redirects led to."""
    if not pages:
        return []
    return [
        (page.fp, page.status > 0)
        for page in pages
        if page.order == FOUND or log.state(page.fp) == "queued"
    ]


def _recorded(pages: list[PageRow], own: Mapping[int, LogPlan]) -> list[PageRow]:
    """Pages of URLs that were not done before, each once."""
    new = {(ident, fp) for ident, plan in own.items() for fp in plan.recorded}
    kept = []
    for page in pages:
        key = (page.domain_id, page.fp)
        if key in new:
            new.remove(key)
            kept.append(page)
    return kept


def _purged(purges: list[Purge], own: Mapping[int, LogPlan]) -> list[tuple[Purge, list[QueuedUrl]]]:
    left = {ident: iter(plan.purged) for ident, plan in own.items()}
    return [(purge, next(left[purge.domain_id])) for purge in purges if purge.domain_id in left]


def _dropped(
    dropped: list[tuple[int, QueuedUrl, str]], own: Mapping[int, LogPlan]
) -> list[tuple[int, QueuedUrl, str]]:
    queued = {(ident, fp) for ident, plan in own.items() for fp in plan.dropped}
    return [each for each in dropped if (each[0], each[1].fp) in queued]
