"""How long a domain is left alone. Pure: values and `now` in, seconds out.

Owns the delay between visits, Crawl-delay, Retry-After and the back-off after 429 and 503.
All waits but Retry-After are multiples of the delay, so that a crawl at `--delay 1` behaves like
one at 70, only faster.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from lycosa.outcomes import Outcome

WAITS = (1, 4, 16)  # multiples of the delay, for the first, second and third failure in a row
DAY = 86_400.0  # seconds
DELAY_TOO_LONG = Outcome.CRAWL_DELAY_TOO_LONG  # of all that is queued of such a domain
MAX_RETRY_AFTER = 100  # characters of the header: no date has more
BUSY = frozenset({429, 503})  # the site says "not now"


@dataclass(frozen=True, slots=True)
class Pause:
    """What a 429 or 503 asks for: wait, or give up with a reason."""

    seconds: float
    give_up: str = ""  # outcome of the URL, '' to try again
    whole_domain: bool = False  # give up on all that is queued of the domain


def asks_too_much(crawl_delay: float | None) -> bool:
    """Whether a robots.txt asks for more than a day between visits: a crawl would never end."""
    return crawl_delay is not None and crawl_delay > DAY


def domain_delay(base: float, crawl_delay: float | None) -> float:
    """The delay of a domain: the crawl's, or a longer one that its robots.txt asks for."""
    return max(base, crawl_delay or 0.0)


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
