"""The states of a domain and of a URL, on one screen. Pure.

A domain has exactly one token, which is its state. Who makes a token takes the domain from a
statement that consumed its other token, or made the domain, in the same transaction:

    state    its token             leaves it by
    idle     domains.idle = 1      a URL is added               -> ready   (wake)
    ready    a row in `ready`      its time comes, an engine    -> held    (lease)
                                   a URL comes, it only waited
                                   for retries                  -> ready, earlier   (wake)
    held     a row in `held`       the engine gives it back     -> ready | idle   (release)
                                   the engine is dead           -> ready, one delay later   (rescue)

A visit moves a token and writes no row of `domains`. What the counts of a domain are ahead of its
row travels with its token (`more_pages` and `more_queued` in `ready` and `held`, to be added to
`pages` and `queued` in `domains`); its row follows from time to time (`released`).
`ready` is sorted by time and can't be searched by id, so whoever learns that a domain must wait for
longer writes `domains.not_before`, and the lease looks at that once more. When a visit may begin:

    max(ready.ready_at, domains.polite_at, domains.not_before)

    polite_at    no visit before; of an idle domain, and of one that only waits for retries. Of
                 others it is old, and no later than `ready_at`. A domain was visited if it is not
                 0, or `more_pages` of its token is not
    wait_at      the `ready_at` of a domain that only waits for retries: by it a new URL finds its
                 row in `ready`. 0: it does not only wait. Whoever takes that row clears it
    not_before   what others said: `postpone`, the delays that a dead engine had learnt, a failover

A URL that is in scope is in exactly one state. Its domain's log tells which (`log.twin` has the
rule); a page's row tells what became of it. A link to a domain that its finder does not hold may be
*on its way* first: in a row of `inbox`, which an engine brings to the log, if the log does not know
the URL by then:

    state    in the log       pages   leaves it by
    queued   a copy of it     no      a response or a final failure -> done   (commit)
                                      a cap                         -> forgotten, counted
                                      an exclusion                  -> left out, counted
    done     a mark           yes     somebody asks for it again    -> queued (requeue)

A domain's queue is read by depth, then by the time its URLs were found. URLs that may not be tried
before a certain time stand behind the others, by that time, so that a waiting retry never blocks
its domain's other URLs. The two functions below put both into one number, the `order` of a queued
URL.
"""

from dataclasses import dataclass
from typing import NamedTuple

DEPTH_SHIFT = 42  # milliseconds since 1970 fit into 42 bits until the year 2109
WAITING = 1 << 61
MAX_DEPTH = 1 << 16


def found_order(depth: int, now_ms: int) -> int:
    """The place of a URL in its domain's queue: breadth first, then first found."""
    return (min(depth, MAX_DEPTH) << DEPTH_SHIFT) | now_ms


def waiting_order(until_ms: int) -> int:
    """The place of a URL that waits until that moment."""
    return WAITING + until_ms


def waits_until(order: int) -> int:
    """The moment a queued URL waits for; 0 for one that doesn't wait."""
    return order - WAITING if order >= WAITING else 0


class DomainState(NamedTuple):
    """The part of a domain that decides whether it takes URLs, and whether they wake it."""

    engine_id: int  # that holds it; 0: none
    idle: bool
    wait_at: int
    queued: int
    pages: int
    seeded: bool

    def wakes(self) -> bool:
        """Whether a new URL may make it ready: it is idle, or only waits for a retry."""
        return bool(self.idle) or self.wait_at > 0


@dataclass(slots=True)
class Contact:
    """How long this process has been in touch with the store without a gap, by the store's clock.

    A process that was itself cut off can't tell a dead engine from one that was cut off as well. It
    may declare others dead only after one lease time in touch: by then every living engine has
    renewed its lease, or could have.
    """

    lease_ms: int
    since: int = -1  # -1: not in touch
    last: int = 0

    def made(self, now_ms: int) -> None:
        if self.since < 0 or now_ms - self.last > self.lease_ms // 3:
            self.since = now_ms
        self.last = now_ms

    def lost(self) -> None:
        self.since = -1

    def long_enough(self, now_ms: int) -> bool:
        self.made(now_ms)
        return now_ms - self.since >= self.lease_ms
