"""Whether and when to try again what failed. Pure.

Failures of a host (DNS, connect, TLS) and of its robots.txt count against the origin: a dead host
with 10,000 URLs must not take 170 days. Failures of one response count against its URL. A 429 or
503 counts against the domain: Retry-After is obeyed, else the domain is left alone for longer each
time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from lycosa.outcomes import Outcome
from lycosa.politeness.delay import DAY, WAITS
from lycosa.records import Failure

RETRIED = frozenset({Failure.FIRST_BYTE, Failure.TIMEOUT, Failure.RESET})
NEVER = frozenset({Failure.PRIVATE, Failure.OUTSIDE})  # we don't want to connect: no second try
NXDOMAIN_TRIES = 1  # retries of a name that does not exist
MAX_RETRY_AFTER = 100  # characters of the header: no date has more
BUSY = frozenset({429, 503})  # the site says "not now"
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


@dataclass(frozen=True, slots=True)
class Pause:
    """What a 429 or 503 asks for: wait, or give up with a reason."""

    seconds: float
    give_up: str = ""  # outcome of the URL, '' to try again
    whole_domain: bool = False  # give up on all that is queued of the domain


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


def retry_after(header: str, now_ms: int) -> float | None:
    """Retry-After (seconds or an HTTP date) in seconds from now; None if there is none."""
    text = header[:MAX_RETRY_AFTER].strip()
    if text.isascii() and text.isdigit():
        return float(text) if len(text) < 16 else math.inf
    try:
        moment = parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return max(0.0, moment - now_ms / 1000)


def busy_pause(header: str, now_ms: int, failures: int, delay: float) -> Pause:
    """What to do after a 429 or 503, the `failures`-th in a row (from 0) of the domain."""
    asked = retry_after(header, now_ms) if header else None
    if asked is not None and asked > DAY:
        return Pause(delay, give_up=Outcome.RETRY_AFTER_TOO_LONG, whole_domain=True)
    if failures >= len(WAITS):
        return Pause(delay, give_up=Outcome.OVERLOADED, whole_domain=True)
    return Pause(max(delay, asked if asked is not None else delay * WAITS[failures]))
