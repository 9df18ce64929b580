"""Errands and their answers, as far as they are the same for every store: which domain waits for
which answer, and when an errand has its turn. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from lycosa.frontier.log.domain_log import DomainLog
from lycosa.frontier.states import found_order, waits_until
from lycosa.frontier.values import Deferral, Link
from lycosa.records import Flag, Lease, QueuedUrl, SharedRobots
from lycosa.urls.canonical import host_of
from lycosa.urls.domains import domain_id, domain_of
from lycosa.urls.fingerprint import errand_fingerprint

TURNS = 2  # of a domain: every second one may be an errand, the others are its own
Keys = dict[tuple[int, int], list[Lease]]


def key(url: str) -> tuple[int, int]:
    """Where the answer of a URL is kept: its domain, and a fingerprint that no page has."""
    return domain_id(domain_of(host_of(url))), errand_fingerprint(url)


def asked_for(leases: Iterable[Lease]) -> Keys:
    """Where to look for the answers that origins of these domains wait for, and for whom."""
    keys: Keys = {}
    for lease in leases:
        for origin in lease.origins:
            if origin.aim:
                keys.setdefault(key(origin.aim), []).append(lease)
    return keys


def hand_out(answers: Iterable[SharedRobots], keys: Keys) -> None:
    """Give each answer to those who asked."""
    for answer in answers:
        for lease in keys[answer.domain_id, answer.fp]:
            lease.answers.append(answer)


def last_errand(log: DomainLog) -> int | None:
    """The place of the last errand that waits in a domain's log."""
    waiting = (url.order for url in log.queued() if url.flags & Flag.ERRAND)
    return max((order for order in waiting if waits_until(order)), default=None)


def spaced(
    errands: Iterable[Link], last: Iterable[tuple[int, int, int | None]], now: int, delay: int
) -> list[Deferral]:
    """When each new errand has its turn: before the pages of its domain, but TURNS delays apart, so
    that a site that sends us there can't keep us from the domain's own pages. `last`: domain, its
    own delay, and the place of its last errand."""
    free = {ident: (waits_until(order or 0), max(own, delay)) for ident, own, order in last}
    placed = []
    for ident, fp, url, depth, _, flags in errands:
        before, own = free.get(ident, (0, delay))
        until = max(now, before + TURNS * own if before else 0)
        free[ident] = until, own
        place = QueuedUrl(fp, url, depth, found_order(depth, now), flags=flags)
        placed.append(Deferral(ident, place, until, 0))
    return placed
