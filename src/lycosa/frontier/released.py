"""What a visit changes in a domain's row: mostly nothing. Pure.

A domain's log tells its counts exactly, and whoever leases the domain reads it. The row is for
those who do not. What the counts are ahead of it travels with the domain's token (see `states`);
it is written when the domain goes idle or only waits, and otherwise when somebody who judges by it
would judge wrongly.
"""

from __future__ import annotations

from typing import NamedTuple

from lycosa.frontier.log.values import LogPlan
from lycosa.frontier.rules import StoreRules
from lycosa.frontier.values import Release

MANY = 16  # links to a domain in one commit: a cap must hear of them before its next visit
FEW = 8  # more or less than is stored: not worth a row, if no cap is near


class StoredRow(NamedTuple):
    """What a domain's row says when the domain is given back."""

    polite_at: int
    wait_at: int
    failures: int
    pages: int
    queued: int


class DomainEnd(NamedTuple):
    """What becomes of a domain that is given back."""

    domain_id: int
    ready_at: int | None  # None: it has nothing to fetch
    polite_ms: int
    failures: int
    pages: int
    queued: int

    @property
    def wait_at(self) -> int:
        """The moment until which it only waits for retries; 0: it does not."""
        return self.ready_at if self.ready_at is not None and self.ready_at > self.polite_ms else 0


def end_of(release: Release, plan: LogPlan, grown: bool) -> DomainEnd:
    """What becomes of a domain; `grown`: it got URLs that the plan does not know of."""
    polite = release.polite_ms
    ready: int | None = polite
    if not (plan.runnable or grown):
        ready = max(polite, plan.first_wait_ms) if plan.queued else None
    queued = max(1, plan.queued) if grown else plan.queued
    return DomainEnd(release.domain_id, ready, polite, release.failures, plan.responses, queued)


def must_follow(row: StoredRow, end: DomainEnd, rules: StoreRules) -> bool:
    """Whether a domain's row must be written. That it was visited at all must show: by its row, or
    by pages in its token."""
    return (
        end.ready_at is None
        or end.wait_at != row.wait_at
        or (row.polite_at == 0 and end.pages <= row.pages)
        or row.failures != end.failures
        or _far(row.pages, end.pages, rules.max_pages_per_domain, exact=True)
        or _far(row.queued, end.queued, rules.max_queued_per_domain)
    )


def _far(stored: int, now: int, cap: int, exact: bool = False) -> bool:
    """Whether a count that is judged by a cap (0: by none) is too far from what is stored."""
    if stored == now:
        return False
    if cap:
        return exact or abs(now - stored) > cap // 16 or (stored < cap) != (now < cap)
    return now > 2 * stored + FEW or stored > 2 * now + FEW
