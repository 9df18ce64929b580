"""What a visit changes in a domain's row: mostly nothing. Pure.

What the counts of a domain are ahead of its row travels with its token (see `states`). The row is
written when the domain goes idle or only waits, and otherwise when somebody who reads it would
judge wrongly, or once in RECOUNT_ONE_IN releases.
"""

from __future__ import annotations

from typing import NamedTuple

from lycosa.frontier.rules import StoreRules
from lycosa.frontier.values import Release

RECOUNT_ONE_IN = 8  # releases: its queue is counted, because links of others were not added up
FEW = 8  # more or less than is stored: not worth a row, if no cap is near
_SPREAD = 0x9E3779B97F4A7C15  # neighbours of a multiple of it lie far apart


class StoredRow(NamedTuple):
    """What a domain's row says when the domain is given back."""

    polite_at: int
    wait_at: int
    failures: int
    pages: int
    queued: int


def recount_due(domain_id: int, polite_ms: int) -> bool:
    """Whether the queue of a domain is counted at this release: by chance, told by its moment."""
    return ((domain_id + polite_ms) * _SPREAD >> 40) % RECOUNT_ONE_IN == 0


def must_follow(row: StoredRow, release: Release, queued: int, rules: StoreRules) -> bool:
    """Whether the row of a domain that is ready, with more than retries to wait for, must be
    written. That it was visited at all must show: by its row, or by pages in its token."""
    return (
        (row.polite_at == 0 and release.pages <= row.pages)
        or row.wait_at != 0
        or row.failures != release.failures
        or _far(row.pages, release.pages, rules.max_pages_per_domain, exact=True)
        or _far(row.queued, queued, rules.max_queued_per_domain)
    )


def _far(stored: int, now: int, cap: int, exact: bool = False) -> bool:
    """Whether a count that is judged by a cap (0: by none) is too far from what is stored."""
    if stored == now:
        return False
    if cap and (exact or abs(now - stored) > cap // 16 or (stored < cap) != (now < cap)):
        return True
    return now > 2 * stored + FEW or stored > 2 * now + FEW
