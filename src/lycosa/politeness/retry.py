"""Whether and when to try again what failed. Pure.

Failures of a host (DNS, connect, TLS) and of its robots.txt count against the origin: a dead host
with 10,000 URLs must not take 170 days. Failures of one response count against its URL.
"""

from __future__ import annotations

from lycosa.outcomes import Outcome
from lycosa.politeness.delay import WAITS
from lycosa.records import Failure

RETRIED = frozenset({Failure.FIRST_BYTE, Failure.TIMEOUT, Failure.RESET})
NEVER = frozenset({Failure.PRIVATE, Failure.OUTSIDE})  # we don't want to connect: no second try
NXDOMAIN_TRIES = 1  # retries of a name that does not exist
DEAD_FOR = 86_400.0  # seconds in which the URLs of an origin that was given up fail at once

# What makes a bare-domain seed try http: the host is there, but does not speak https.
NO_HTTPS = frozenset(
    {
        Failure.CONNECT,
        Failure.CONNECT_TIMEOUT,
        Failure.TLS,
        Failure.FIRST_BYTE,
        Failure.TIMEOUT,
        Failure.RESET,
        Failure.PROTOCOL,
    }
)


def origin_wait(failures: int, failure: str, delay: float) -> float | None:
    """Seconds to wait after an origin's `failures`-th failure in a row (from 0); None: give up."""
    if failure in NEVER:
        return None
    tries = NXDOMAIN_TRIES if failure == Failure.NXDOMAIN else len(WAITS)
    return delay * WAITS[failures] if failures < tries else None


def url_wait(attempts: int, failure: str, delay: float) -> float | None:
    """Seconds to wait after a URL's `attempts`-th failure (from 0); None: it failed for good."""
    if failure in Failure.OURS:
        return delay  # no attempt of the URL is used up
    if failure not in RETRIED or attempts >= len(WAITS):
        return None
    return delay * WAITS[attempts]


def origin_outcome(failure: str) -> str:
    """What the URLs of an origin that was given up are recorded as."""
    named = failure in Failure.HOST or failure in NEVER
    return failure if named else Outcome.ROBOTS_UNREACHABLE
